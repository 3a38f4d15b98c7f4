"""Parse and check each option of a crawl plan, except its scope."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from corral.domain.cost.spent import PRICES
from corral.domain.crawl.scope import MAX_DEPTH
from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target

MAX_STARTS = 10_000
MAX_FIELDS = 200
MAX_KEYWORDS = 50
MAX_PARAMS = 50
_MAX_KEYWORD_CHARS = 100
AUTO = "auto"  # choose the number of workers, or the strategy per page, automatically
BROWSER = "browser"
STRATEGIES = (AUTO, "http", BROWSER)
# Upper limit of workers per crawl; with `auto`, only as many as have enough pages to read.
MAX_WORKERS = 64
LAST = "last"  # value of `since`: the newest ended crawl with the same start URLs
_MAX_ID_CHARS = 100

# Numeric options of a plan: minimum, maximum, and whether None is allowed.
_RANGES: dict[str, tuple[float, float, bool]] = {
    "max_depth": (1, MAX_DEPTH, False),
    "max_pages": (1, 100_000_000, False),
    "max_bytes": (1, 10**15, True),
    "max_seconds": (1, 30 * 86_400, True),
    "max_per_host": (1, 100_000_000, True),
    "concurrency": (1, 256, False),
    "retry_attempts": (1, 5, False),
    "delay_s": (0, 3600, True),
    "browser_pages": (0, 1_000_000, False),
    "max_scrolls": (0, 10_000, False),
    "memory_mib": (16, 16_384, True),
}


class Order(StrEnum):
    BREADTH = "breadth"  # smallest depth first
    BEST = "best"  # highest score first


def parse_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{name} must be true or false", field=name, hint="write true or false")
    return value


def parse_order(value: object) -> Order:
    try:
        return Order(str(value))
    except ValueError:
        raise BadInput(
            f"unknown order {str(value)[:80]!r}", field="order", hint=f"write one of {', '.join(Order)}"
        ) from None


def parse_params(value: object) -> tuple[str, ...]:
    """Parse the names of query parameters, in lower case."""
    if not value:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BadInput("keep_params must be a list of names", field="keep_params", hint='write ["sid"]')
    if len(value) > MAX_PARAMS or any(len(each) > _MAX_KEYWORD_CHARS for each in value):
        hint = f"give {MAX_PARAMS} at most, of {_MAX_KEYWORD_CHARS} characters at most"
        raise BadInput("too many parameters, or a name is too long", field="keep_params", hint=hint)
    return tuple(dict.fromkeys(each.strip().lower() for each in value))


def parse_keywords(value: object, order: Order) -> tuple[str, ...]:
    if not value:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BadInput("keywords must be a list of words", field="keywords", hint='write ["…", "…"]')
    if len(value) > MAX_KEYWORDS or any(len(each) > _MAX_KEYWORD_CHARS for each in value):
        hint = f"give {MAX_KEYWORDS} at most, of {_MAX_KEYWORD_CHARS} characters at most"
        raise BadInput("too many keywords, or a keyword is too long", field="keywords", hint=hint)
    if order is not Order.BEST:
        raise BadInput("keywords need order=best", field="keywords", hint="order=best")
    return tuple(dict.fromkeys(each.strip().lower() for each in value))


def parse_prices(value: object) -> dict[str, float] | None:
    """Parse the prices by which a budget counts; they come from the settings."""
    if not value:
        return None
    is_right = isinstance(value, Mapping) and all(
        name in PRICES and isinstance(price, int | float) and price >= 0 for name, price in value.items()
    )
    if not isinstance(value, Mapping) or not is_right:
        raise BadInput("prices must map units to money", field="prices", hint=f"units: {', '.join(PRICES)}")
    return {str(name): float(price) for name, price in value.items()} or None


def parse_since(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not 1 <= len(value) <= _MAX_ID_CHARS):
        raise BadInput("since must be the id of a crawl", field="since", hint=f'write the id of a crawl, or "{LAST}"')
    return value


def parse_strategy(value: object) -> str:
    if value not in STRATEGIES:
        raise BadInput(
            f"unknown crawl strategy {str(value)[:80]!r}", field="strategy", hint=f"write {', '.join(STRATEGIES)}"
        )
    return str(value)


def parse_user_agent(value: object) -> str | None:
    if value is None:
        return None
    is_text = isinstance(value, str) and value.isascii() and value.isprintable() and 1 <= len(value.strip()) <= 200
    if not is_text:
        hint = "write up to 200 printable ASCII characters"
        raise BadInput("the user agent cannot be sent as a header", field="user_agent", hint=hint)
    return str(value).strip()


def parse_workers(value: object) -> int | str:
    if value == AUTO:
        return AUTO
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_WORKERS:
        hint = f'write 1 to {MAX_WORKERS}, or "{AUTO}"'
        raise BadInput("workers must be a number", field="workers", hint=hint)
    return value


def parse_listing(value: object) -> dict[str, Any] | None:
    if value is not None and (not isinstance(value, Mapping) or not isinstance(value.get("item_links"), Mapping)):
        raise BadInput("listing needs item_links", field="listing", hint='write {"item_links": {"css": "…"}}')
    return None if value is None else dict(value)


def parse_fields(value: object) -> tuple[dict[str, Any], ...]:
    """Check only the form of field specifications; the code that uses them checks their content."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, Mapping) for each in value):
        raise BadInput("fields must be a list of objects", field="fields", hint='write [{"name": "title"}]')
    if len(value) > MAX_FIELDS:
        raise BadInput(f"more than {MAX_FIELDS} fields", field="fields", hint="collect fewer fields per crawl")
    return tuple(dict(each) for each in value)


def parse_starts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
        raise BadInput("a crawl needs at least one start URL", field="start_urls", hint='write ["https://…"]')
    if len(value) > MAX_STARTS:
        raise BadInput(
            f"{len(value)} start URLs, more than {MAX_STARTS}",
            field="start_urls",
            hint="start several crawls",
        )
    for index, each in enumerate(value):
        parse_target(each, field=f"start_urls[{index}]")
    return tuple(dict.fromkeys(value))


def parse_numbers(document: Mapping[str, Any], max_depth: int) -> dict[str, Any]:
    """Parse the numeric options of a document. The API and the CLI may allow less depth than a crawl does."""
    return {name: _parse_number(name, document[name], max_depth) for name in _RANGES if name in document}


def _parse_number(name: str, value: object, max_depth: int) -> Any:
    minimum, maximum, is_optional = _RANGES[name]
    if name == "max_depth":
        maximum = min(maximum, max_depth)
    if value is None and is_optional:
        return None
    takes_fractions = name in ("max_seconds", "delay_s")
    is_number = isinstance(value, int | float if takes_fractions else int) and not isinstance(value, bool)
    if not is_number or not minimum <= value <= maximum:  # type: ignore[operator]
        what = "a number" if takes_fractions else "a whole number"
        raise BadInput(
            f"{name} must be {what} within its range", field=name, hint=f"write {minimum:.0f} to {maximum:.0f}"
        )
    return value
