"""Paths into JSON: `$.items[0].name` selects one value, `$.items[*].name` and `$..name` select any number of them.

Recipes use paths to one value, which may also be in the element that a page's URL names (`$.items[id=path.1].name`);
fields of a job use both kinds. The notation is a subset of RFC 9535: names, indexes, slices, `*` and `..`, without
filters and unions.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from corral.domain.errors import BadInput

Slots = Mapping[str, str]

MAX_PATH_CHARS = 1_000
# Maximum values visited for one path: several `..` in a row would multiply them.
MAX_VISITED = 1_000_000

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
SLOT = r"(?:origin|(?:path|hash)\.[0-9]{1,3}(?:\.(?:digits|stem))?|query\.[A-Za-z0-9_-]{1,64})"
_INT = r"-?[0-9]{1,9}"
_STEP = re.compile(
    rf"""
    \.(?P<name>[^\W\d][\w-]*)
  | \[(?P<index>{_INT})\]
  | (?P<every>\.\*|\[\*\])
  | \[(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]
  | \[(?P<start>{_INT})?:(?P<stop>{_INT})?(?::(?P<by>{_INT})?)?\]
  | \[(?P<key>{_NAME})=(?P<slot>{SLOT})\]
    """,
    re.VERBOSE,
)
_IS_NAME = re.compile(_NAME)
_SPACE = re.compile(r"\s+")


class Absent:
    pass


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Where:
    """The element of an array whose key has the value of a slot."""

    key: str
    slot: str


@dataclass(frozen=True, slots=True)
class Every:
    """All values of an object or all elements of an array; with `deep`, the value itself and everything inside it."""

    deep: bool = False


@dataclass(frozen=True, slots=True)
class PathSlice:
    """The elements of an array from one index up to, but not including, another."""

    start: int | None
    stop: int | None
    by: int | None


Step = str | int | Where
Path = tuple[Step, ...]
Query = tuple[Step | Every | PathSlice, ...]


class TooWide(Exception):
    """A path leads to more values than may be visited."""


def is_name(key: str) -> bool:
    return _IS_NAME.fullmatch(key) is not None


def path_text(path: Path) -> str:
    return "$" + "".join(map(_step_text, path))


def _step_text(step: Step) -> str:
    if isinstance(step, Where):
        return f"[{step.key}={step.slot}]"
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if is_name(step) else f"[{json.dumps(step)}]"


# -- from text ----------------------------------------------------------------------------------------------


def scan_path(text: str, start: int) -> tuple[Path, int] | None:
    """Read the path to one value that begins here; return it and its end, or None if there is none."""
    if not text.startswith("$", start):
        return None
    query, end = _scan(text, start + 1)
    path = tuple(step for step in query if not isinstance(step, Every | PathSlice))
    return (path, end) if len(path) == len(query) else None


def parse_path(text: str, field: str) -> Path:
    scanned = scan_path(text, 0)
    if scanned is None or scanned[1] != len(text):
        raise BadInput(
            f"{text[:100]!r} is not a path into JSON",
            field=field,
            hint='write it as $.items[0].name, $.items[id=path.1].name or $["odd key"]',
        )
    return scanned[0]


def parse_query(text: str, *, field: str) -> Query:
    """Parse the path of a field; BadInput names the position of an error."""
    if len(text) > MAX_PATH_CHARS:
        raise _bad(f"the JSON path has {len(text)} characters, more than {MAX_PATH_CHARS}", field, "shorten it")
    if not text.startswith("$"):
        raise _bad("the JSON path cannot be read at position 0: it begins with $", field, "write it as $.items[0].name")
    query, end = _scan(text, 1)
    if end == len(text) and not any(isinstance(step, Where) for step in query):
        return query
    rest = text[end : end + 30]
    what = f"{rest!r} is no step" if rest else "it names a part of the page's address, which only recipes do"
    hint = "steps are .name, ['odd name'], [0], [-1], [1:3], [*], .* and ..name; filters and lists are not known"
    raise _bad(f"the JSON path cannot be read at position {end}: {what}", field, hint)


def _bad(message: str, field: str, hint: str) -> BadInput:
    return BadInput(message, field=field, hint=hint, code="bad_selector")


def _scan(text: str, index: int) -> tuple[Query, int]:
    """Read as many steps as possible; return them and the index after the last one."""
    steps: list[Step | Every | PathSlice] = []
    while True:
        is_deep = text.startswith("..", index)
        # After `..`, a name needs no dot of its own; a bracket never has one.
        at = index + (2 if text.startswith("..[", index) else 1) if is_deep else index
        match = _STEP.match(text, at)
        step = _step_of(match) if match else None
        if match is None or step is None:
            return tuple(steps), index
        steps += [Every(deep=True), step] if is_deep else [step]
        index = match.end()


def _step_of(match: re.Match[str]) -> Step | Every | PathSlice | None:
    if match["name"] is not None:
        return match["name"]
    if match["index"] is not None:
        return int(match["index"])
    if match["every"] is not None:
        return Every()
    if match["quoted"] is not None:
        return _unquote(match["quoted"])
    if match["key"] is not None:
        return Where(match["key"], match["slot"])
    start, stop, by = (None if match[name] is None else int(match[name]) for name in ("start", "stop", "by"))
    return None if by == 0 else PathSlice(start, stop, by)


def _unquote(text: str) -> str | None:
    inner = text[1:-1]
    if text[0] == "'":
        inner = inner.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError:
        return None


# -- lookup -------------------------------------------------------------------------------------------------


def at(document: Any, path: Path, slots: Slots) -> Any:
    """Return the value at the path, or ABSENT."""
    for step in path:
        document = _take_step(document, step, slots)
        if document is ABSENT:
            break
    return document


def _take_step(value: Any, step: Step, slots: Slots) -> Any:
    if isinstance(step, str):
        return value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
    if not isinstance(value, list):
        return ABSENT
    if isinstance(step, int):
        return value[step] if -len(value) <= step < len(value) else ABSENT
    wanted = slots.get(step.slot)
    return next(
        (each for each in value if isinstance(each, dict) and display_text(each.get(step.key)) == wanted), ABSENT
    )


def select(document: Any, query: Query) -> list[Any]:
    """Return the values that the path selects, in document order; raise TooWide if too many have to be visited."""
    values = [document]
    visited = 0
    for step in query:
        following: list[Any] = []
        for value in _take_steps(values, step):
            visited += 1
            if visited > MAX_VISITED:
                raise TooWide
            following.append(value)
        values = following
    return values


def _take_steps(values: Iterable[Any], step: Step | Every | PathSlice) -> Iterator[Any]:
    for value in values:
        if isinstance(step, Every):
            yield from _within(value) if step.deep else _children(value)
        elif isinstance(step, PathSlice):
            yield from value[step.start : step.stop : step.by] if isinstance(value, list) else ()
        elif (child := _take_step(value, step, {})) is not ABSENT:
            yield child


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _within(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(list(_children(current)))


# -- display of values --------------------------------------------------------------------------------------


def display_text(value: Any) -> str | None:
    """Return a JSON value as a page displays it without formatting; None if it displays nothing."""
    if isinstance(value, str):
        return _SPACE.sub(" ", value).strip() or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _format_float(value)
    return None


def _format_float(value: float) -> str | None:
    size = abs(value)
    if value == 0 or 1e-6 <= size < 1e21:
        text = format(Decimal(repr(value)), "f")
        return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
    return repr(value)
