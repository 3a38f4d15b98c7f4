"""The values of a crawl's plan that are neither numbers nor its scope, each checked by itself."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from corral.domain.errors import BadInput

MAX_FIELDS = 200
MAX_KEYWORDS = 50
MAX_PARAMS = 50
_MAX_KEYWORD_CHARS = 100
AUTO = "auto"  # as many workers as are worth it; the strategy that a page needs
BROWSER = "browser"
STRATEGIES = (AUTO, "http", BROWSER)
# Upper limit of workers per crawl; with `auto`, only as many as have enough pages to read.
MAX_WORKERS = 64
LAST = "last"  # as an earlier crawl: the newest of the same start addresses that has ended
_MAX_ID_CHARS = 100


class Order(StrEnum):
    BREADTH = "breadth"  # the nearest to the start first
    BEST = "best"  # the highest score first


def parse_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{name} is neither true nor false", field=name, hint="write true or false")
    return value


def parse_order(value: object) -> Order:
    try:
        return Order(str(value))
    except ValueError:
        raise BadInput(
            f"{str(value)[:80]!r} is no order", field="order", hint=f"write one of {', '.join(Order)}"
        ) from None


def parse_params(value: object) -> tuple[str, ...]:
    """Names of parameters, in small letters."""
    if not value:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BadInput("the parameters are no list of names", field="keep_params", hint='write ["sid"]')
    if len(value) > MAX_PARAMS or any(len(each) > _MAX_KEYWORD_CHARS for each in value):
        hint = f"give {MAX_PARAMS} at most, of {_MAX_KEYWORD_CHARS} characters at most"
        raise BadInput("these are too many parameters, or too long ones", field="keep_params", hint=hint)
    return tuple(dict.fromkeys(each.strip().lower() for each in value))


def parse_keywords(value: object, order: Order) -> tuple[str, ...]:
    if not value:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BadInput("the keywords are no list of words", field="keywords", hint='write ["…", "…"]')
    if len(value) > MAX_KEYWORDS or any(len(each) > _MAX_KEYWORD_CHARS for each in value):
        hint = f"give {MAX_KEYWORDS} at most, of {_MAX_KEYWORD_CHARS} characters at most"
        raise BadInput("these are too many keywords, or too long ones", field="keywords", hint=hint)
    if order is not Order.BEST:
        raise BadInput("keywords say what is best, and the order is another one", field="keywords", hint="order=best")
    return tuple(dict.fromkeys(each.strip().lower() for each in value))


def parse_since(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not 1 <= len(value) <= _MAX_ID_CHARS):
        raise BadInput("this is no run", field="since", hint=f'write the id of a crawl, or "{LAST}"')
    return value


def parse_strategy(value: object) -> str:
    if value not in STRATEGIES:
        raise BadInput(
            f"{str(value)[:80]!r} is no strategy of a crawl", field="strategy", hint=f"write {', '.join(STRATEGIES)}"
        )
    return str(value)


def parse_user_agent(value: object) -> str | None:
    if value is None:
        return None
    is_text = isinstance(value, str) and value.isascii() and value.isprintable() and 1 <= len(value.strip()) <= 200
    if not is_text:
        hint = "write up to 200 printable ASCII characters"
        raise BadInput("this cannot be sent as a user agent", field="user_agent", hint=hint)
    return str(value).strip()


def parse_workers(value: object) -> int | str:
    if value == AUTO:
        return AUTO
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_WORKERS:
        hint = f'write 1 to {MAX_WORKERS}, or "{AUTO}"'
        raise BadInput("this is no number of workers", field="workers", hint=hint)
    return value


def parse_listing(value: object) -> dict[str, Any] | None:
    if value is not None and (not isinstance(value, Mapping) or not isinstance(value.get("item_links"), Mapping)):
        raise BadInput("a list needs links to its items", field="listing", hint='write {"item_links": {"css": "…"}}')
    return None if value is None else dict(value)


def parse_fields(value: object) -> tuple[dict[str, Any], ...]:
    """Field specifications as documents; what they mean is checked where they are used."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(each, Mapping) for each in value):
        raise BadInput("the fields are no list of objects", field="fields", hint='write [{"name": "title"}]')
    if len(value) > MAX_FIELDS:
        raise BadInput(f"there are more than {MAX_FIELDS} fields", field="fields", hint="collect fewer at once")
    return tuple(dict(each) for each in value)
