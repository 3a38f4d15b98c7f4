"""References in the configuration of a step, such as `${steps.discover.output.urls}`.

A text that is one reference becomes the value itself; a reference inside a text becomes part of the text.
`[*]` collects the same part of every element of a list: `${steps.pages.output.items[*].record.title}`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_PART = re.compile(r"\.?([A-Za-z0-9_-]+)|\[(\d{1,6}|\*)\]")
STEPS = "steps"
ITEM = "item"
INDEX = "index"
PARAMS = "params"
_OF_STEP = ("output", "status", "run_id")


class UnresolvedReference(ValueError):
    """A reference that leads to nothing."""


class Reference(NamedTuple):
    text: str
    root: str
    path: tuple[str, ...]  # indexes and `*` are texts, too

    @property
    def step(self) -> str | None:
        return self.path[0] if self.root == STEPS and self.path else None


def parse_reference(text: str) -> Reference:
    """Parse the inside of `${…}`; ValueError names the problem."""
    inside, parts, at = text.strip(), [], 0
    while at < len(inside):
        match = _PART.match(inside, at)
        if match is None or (at == 0 and match[2] is not None):
            raise ValueError(f"${{{text}}} is no reference; write for example ${{steps.NAME.output.urls}}")
        parts.append(match[1] or match[2])
        at = match.end()
    if not parts or parts[0] not in {STEPS, ITEM, INDEX, PARAMS}:
        raise ValueError(f"${{{text}}} begins with none of steps, item, index, params")
    reference = Reference(inside, parts[0], tuple(parts[1:]))
    if reference.root == STEPS and (len(reference.path) < 2 or reference.path[1] not in _OF_STEP):
        raise ValueError(f"${{{text}}} names no part of a step; write ${{steps.NAME.output…}}, .status or .run_id")
    return reference


def references_in(value: Any) -> Iterator[str]:
    """Yield the inside of every reference in a configuration, except in keys of objects."""
    if isinstance(value, str):
        yield from _REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from references_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from references_in(each)


Lookup = Callable[[Reference], Any]


def resolve_value(value: Any, lookup: Lookup) -> Any:
    """Return the value with every reference replaced; raise UnresolvedReference or ValueError for a bad one."""
    if isinstance(value, str):
        whole = _REFERENCE.fullmatch(value)
        if whole is not None:
            return lookup(parse_reference(whole[1]))
        return _REFERENCE.sub(lambda match: _as_text(lookup(parse_reference(match[1]))), value)
    if isinstance(value, Mapping):
        return {str(name): resolve_value(each, lookup) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [resolve_value(each, lookup) for each in value]
    return value


def follow_path(value: Any, path: tuple[str, ...], reference: Reference) -> Any:
    """Return the part of a value that the path leads to; raise UnresolvedReference if there is none."""
    for number, part in enumerate(path):
        if part == "*":
            if not isinstance(value, list):
                raise UnresolvedReference(f"${{{reference.text}}}: [*] needs a list, found {_describe(value)}")
            return [follow_path(each, path[number + 1 :], reference) for each in value]
        value = _step_into(value, part, reference)
    return value


def _step_into(value: Any, part: str, reference: Reference) -> Any:
    if isinstance(value, Mapping):
        if part in value:
            return value[part]
        if value.get("is_truncated"):
            raise UnresolvedReference(
                f"${{{reference.text}}}: the output is too large to be passed on; read it from the run (run_id)"
            )
        names = ", ".join(sorted(map(str, value))[:10]) or "nothing"
        raise UnresolvedReference(f"${{{reference.text}}} leads to nothing: no {part!r} among {names}")
    if isinstance(value, list) and part.isdigit():
        if int(part) < len(value):
            return value[int(part)]
        raise UnresolvedReference(f"${{{reference.text}}} leads to nothing: the list has {len(value)} values")
    raise UnresolvedReference(f"${{{reference.text}}} leads to nothing: no {part!r} in {_describe(value)}")


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
