"""Templates such as `{season}/{game_id}.json`: they format values as a key, and parse values from a path."""

import re
from collections.abc import Sequence
from functools import cached_property

from corral.domain.coverage.values import Value

_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]{0,63})\}", re.ASCII)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
# A dimension may not be named like a column of the inventory or a name of a queue task.
RESERVED = frozenset({"id", "priority", "source", "scraper", "size", "modified", "checksum", "reason", "gap_type"})


class Template:
    """Text with `{dimension}` in it. In a pattern, `*` is any text without a slash and `**` any text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: tuple[str, ...] = tuple(dict.fromkeys(_FIELD.findall(text)))

    def find_problem(self) -> str | None:
        rest = _FIELD.sub("", self.text)
        if "{" in rest or "}" in rest:
            return f"{self.text!r} has a brace that belongs to no {{dimension}}"
        return None if self.names else f"{self.text!r} names no {{dimension}}"

    def writer(self, names: Sequence[str]) -> "KeyWriter":
        return KeyWriter(self.text, names)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """Return a pattern that matches a whole path, with one group per dimension."""
        parts, seen, at = [], set[str](), 0
        for match in _FIELD.finditer(self.text):
            parts.append(_literal(self.text[at : match.start()]))
            name = match[1]
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>[^/]+)")
            seen.add(name)
            at = match.end()
        return re.compile("".join([*parts, _literal(self.text[at:])]))


class KeyWriter:
    """Formats keys from values in a fixed order; `%` formatting is the fastest way to format a million of them."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        order = [list(names).index(name) for name in _FIELD.findall(text)]
        self._form = "%s".join(part.replace("%", "%%") for part in _split(text))
        self._order = None if order == list(range(len(names))) else order

    def write(self, values: tuple[Value, ...]) -> str:
        return self._form % (values if self._order is None else tuple([values[each] for each in self._order]))


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def _split(text: str) -> list[str]:
    parts, at = [], 0
    for match in _FIELD.finditer(text):
        parts.append(text[at : match.start()])
        at = match.end()
    return [*parts, text[at:]]


def _literal(text: str) -> str:
    """Return the regular expression of the text between two dimensions."""
    pieces = re.split(r"(\*\*|\*)", text)
    return "".join({"**": ".*", "*": "[^/]*"}.get(piece, re.escape(piece)) for piece in pieces)
