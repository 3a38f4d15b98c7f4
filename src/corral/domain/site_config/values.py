"""The values that a configuration may set for a site, checked one by one so that every problem is reported."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from corral.domain.cost import budget
from corral.domain.errors import BadInput
from corral.domain.jobs.job import Strategy
from corral.domain.net.pool_policy import is_pool_text, parse_pool_policy
from corral.domain.net.proxy import parse_proxy
from corral.domain.net.url import parse_target
from corral.domain.site_config.site_key import parse_site_key

MAX_URLS = 10_000
_MAX_SITES = 1_000
_STRATEGIES = tuple(each.value for each in (Strategy.AUTO, Strategy.HTTP, Strategy.BROWSER))


class ValueProblem(NamedTuple):
    """The problem of one value. `path` leads to it: `budget.cost`, `urls.3`; empty for the whole document."""

    path: str
    message: str


def _whole(low: int, high: int) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return None if is_number and low <= value <= high else f"must be a whole number from {low} to {high}"

    return check


def _number(low: float, high: float) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return None if is_number and low <= value <= high else f"must be a number from {low:g} to {high:g}"

    return check


def _check_strategy(value: Any) -> str | None:
    return None if value in _STRATEGIES else f"must be one of {', '.join(_STRATEGIES)}"


def _check_proxy(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be text: direct, pool, tiered, or the URL of a proxy"
    try:
        if is_pool_text(value):
            parse_pool_policy(value)
        else:
            parse_proxy(value)
    except BadInput as error:
        return error.message
    return None


_SIMPLE: dict[str, Callable[[Any], str | None]] = {
    "concurrency": _whole(1, 1000),
    "delay_s": _number(0, 3600),
    "memory_mib": _whole(16, 16_384),
    "strategy": _check_strategy,
    "browser_pages": _whole(0, 1_000_000),
    "proxy_policy": _check_proxy,
}
LIMITS = (*_SIMPLE, *(f"budget.{name}" for name in budget.NAMES))
NAMES = (*_SIMPLE, "budget", "depends_on", "urls")


def find_problems(document: Any) -> Iterator[ValueProblem]:
    """Yield every problem of the values of one document."""
    if not isinstance(document, Mapping):
        yield ValueProblem("", "must be a mapping of options")
        return
    for name, value in document.items():
        if name in _SIMPLE:
            message = _SIMPLE[name](value)
            if message is not None:
                yield ValueProblem(name, message)
        elif name == "budget":
            yield from (ValueProblem(f"budget.{path}".rstrip("."), why) for path, why in budget.find_problems(value))
        elif name == "depends_on":
            yield from _find_list_problems(name, value, _MAX_SITES, parse_site_key)
        elif name == "urls":
            yield from _find_list_problems(name, value, MAX_URLS, parse_target)
        else:
            yield ValueProblem(str(name)[:80], f"is not an option of a site ({', '.join(NAMES)})")


def _find_list_problems(
    name: str, value: Any, max_entries: int, parse: Callable[[str], object]
) -> Iterator[ValueProblem]:
    if not isinstance(value, list | tuple) or len(value) > max_entries:
        yield ValueProblem(name, f"must be a list of at most {max_entries} entries")
        return
    for index, entry in enumerate(value):
        try:
            if not isinstance(entry, str):
                raise BadInput("must be text")
            parse(entry)
        except BadInput as error:
            yield ValueProblem(f"{name}.{index}", error.message)


def flatten(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a checked document by their names; those of a budget one by one. None sets nothing."""
    flat = {name: value for name, value in document.items() if name != "budget" and value is not None}
    if "depends_on" in flat:
        flat["depends_on"] = tuple(dict.fromkeys(parse_site_key(each) for each in flat["depends_on"]))
    if "urls" in flat:
        flat["urls"] = tuple(flat["urls"])
    return flat | {f"budget.{name}": limit for name, limit in (document.get("budget") or {}).items()}
