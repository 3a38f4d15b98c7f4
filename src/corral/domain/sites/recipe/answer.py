"""Find the path in a JSON answer from which a page takes a value."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from corral.domain.json_path import Path, Where, at, display_text, is_name
from corral.domain.sites.recipe.text import NumberFormat, Ref, Template, number_of, paths_of, render_template

_MAX_LEAVES = 20_000
_MAX_PATHS = 50  # per value and answer
_MAX_DEPTH = 24
_MAX_COMPOSED_CHARS = 300
_MAX_SPAN = 8
WEAK_CHARS = 3
WORDS = re.compile(r"[^\W_]+")
_ATOM = re.compile(r"[0-9](?:[0-9.,' ]*[0-9])?|[^\W\d_]+")
_CURRENCY = re.compile(
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KRW|MXN|MYR|NOK|NZD|PHP|PLN|"
    "RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_STYLES = (("", "."), (",", "."), (".", ","), (" ", ","), ("'", "."), ("", ","))


@dataclass(frozen=True, slots=True)
class ValueSource:
    """How to build a field from an answer; with `each`, once per element of that array."""

    source: Template
    each: Path | None
    cost: tuple[int, ...]  # lower is better: added text, other names, array indexes, length


def slot_for(text: str, slots: Mapping[str, str]) -> str | None:
    return next((name for name, value in slots.items() if value == text), None)


def plain_name(name: str) -> str:
    return "".join(WORDS.findall(name)).lower()


class RecordedAnswer:
    """A JSON answer, with its values indexed by the text that a page would display."""

    def __init__(self, document: Any, slots: Mapping[str, str]) -> None:
        self._document = document
        self._slots = slots
        self._by_text: dict[str, list[Path]] = {}
        self._by_number: dict[Decimal, list[Path]] = {}
        self._arrays: list[Path] = []
        self._walk()

    def _walk(self) -> None:
        """Index the values breadth first: of equal values the shortest paths remain."""
        waiting: deque[tuple[Path, Any]] = deque([((), self._document)])
        left = _MAX_LEAVES
        while waiting and left > 0:
            path, value = waiting.popleft()
            left -= 1
            if isinstance(value, dict | list):
                if isinstance(value, list):
                    self._arrays.append(path)
                if len(path) < _MAX_DEPTH:
                    inside = value.items() if isinstance(value, dict) else enumerate(value)
                    waiting.extend(((*path, step), each) for step, each in inside if each is not None)
                continue
            text, number = display_text(value), number_of(value)
            if text is not None:
                _add_path(self._by_text, text, path)
            if number is not None:
                _add_path(self._by_number, number, path)

    def source_of(self, name: str, value: Any) -> ValueSource | None:
        if isinstance(value, str):
            sources = [each for each in self._texts(name, value) if each is not None]
            return min(sources, key=lambda each: (each.cost, str(each.source)), default=None)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return self._match_list(name, value)
        return None

    def _texts(self, name: str, text: str) -> Iterator[ValueSource | None]:
        for template in self._templates(text):
            stable = tuple(part if isinstance(part, str) else self._stable_ref(part) for part in template)
            parts = tuple(part for part in stable if part is not None)
            if len(parts) == len(template):
                yield _rank_source(name, text, parts, None)

    def _templates(self, text: str, within: Path = ()) -> Iterator[Template]:
        for path in _below(self._by_text.get(text, ()), within):
            yield (Ref(path),)
        if len(text) <= _MAX_COMPOSED_CHARS and text not in self._by_text:
            yield from self._compose(text, within)

    def _compose(self, text: str, within: Path) -> Iterator[Template]:
        """Compose a text from several values, joined only by punctuation and currency signs."""
        pieces = self._pieces(text, within)
        if not pieces:
            return
        homes = [{home for ref in refs for home in _homes(ref.path)} for _, _, refs in pieces]
        for home in set.intersection(*homes):
            parts: list[str | Ref] = []
            index = 0
            for start, end, refs in pieces:
                if text[index:start]:
                    parts.append(text[index:start])
                near = [ref for ref in refs if ref.path[: len(home)] == home]
                parts.append(min(near, key=lambda ref: (len(ref.path), str(ref.path))))
                index = end
            if text[index:]:
                parts.append(text[index:])
            if all(_is_foreign(part) for part in parts if isinstance(part, str)):
                yield tuple(parts)

    def _pieces(self, text: str, within: Path) -> list[tuple[int, int, list[Ref]]]:
        """Split the text, from left to right, into the longest parts that are values of the answer."""
        atoms = list(_ATOM.finditer(text))
        pieces = []
        index = 0
        while index < len(atoms):
            for end in range(min(index + _MAX_SPAN, len(atoms)), index, -1):
                start_char, end_char = atoms[index].start(), atoms[end - 1].end()
                refs = self._refs(text[start_char:end_char], within)
                if refs:
                    pieces.append((start_char, end_char, refs))
                    index = end - 1
                    break
            index += 1
        return pieces

    def _refs(self, text: str, within: Path) -> list[Ref]:
        exact = [Ref(path) for path in _below(self._by_text.get(text, ()), within)]
        if exact or not text[0].isdigit():
            return exact
        refs = []
        for style in _readings(text):
            value, number = style
            refs += [Ref(path, number) for path in _below(self._by_number.get(value, ()), within)]
        return refs

    def _match_list(self, name: str, values: list[str]) -> ValueSource | None:
        """Find an array whose elements read like the values, in order."""
        sources = []
        for array in self._arrays:
            stable = self._stable(array)
            elements = at(self._document, array, {})
            if stable is None or not len(values) <= len(elements) <= _MAX_LEAVES:
                continue
            home = (*array, 0)
            for template in self._templates(values[0], home):
                relative = tuple(_relative(part, len(home)) for part in template)
                texts = [render_template(relative, each, {}) for each in elements]
                if [text for text in texts if isinstance(text, str)] == values:
                    sources.append(_rank_source(name, " ".join(values), relative, stable))
        return min((each for each in sources if each), key=lambda each: (each.cost, str(each.source)), default=None)

    def _stable_ref(self, ref: Ref) -> Ref | None:
        path = self._stable(ref.path)
        return None if path is None else Ref(path, ref.number)

    def _stable(self, path: Path) -> Path | None:
        """Replace array indexes by steps that work on other pages: the element that the URL names, or the first."""
        steps: list[Any] = []
        for depth, step in enumerate(path):
            if isinstance(step, int):
                array = at(self._document, path[:depth], {})
                named = self._find_by_url(array, step)
                if named is None and step != 0:
                    return None
                steps.append(named or 0)
            else:
                steps.append(step)
        return tuple(steps)

    def _find_by_url(self, array: list[Any], index: int) -> Where | None:
        element = array[index]
        for key, value in element.items() if isinstance(element, dict) else ():
            text = display_text(value)
            slot = slot_for(text, self._slots) if text and is_name(key) else None
            if slot and sum(isinstance(each, dict) and display_text(each.get(key)) == text for each in array) == 1:
                return Where(key, slot)
        return None


def _add_path(paths: dict[Any, list[Path]], key: Any, path: Path) -> None:
    stored = paths.setdefault(key, [])
    if len(stored) < _MAX_PATHS:
        stored.append(path)


def _below(paths: Iterable[Path], within: Path) -> Iterator[Path]:
    return (path for path in paths if path[: len(within)] == within)


def _homes(path: Path) -> set[Path]:
    """Return the parents of a value: values displayed together are close to each other."""
    return {path[:-1], path[:-2]} if path else {()}


def _relative(part: str | Ref, depth: int) -> str | Ref:
    return part if isinstance(part, str) else Ref(part.path[depth:], part.number)


def _is_foreign(text: str) -> bool:
    """True for text that a page may add to a value without changing its meaning."""
    return all(_CURRENCY.fullmatch(word) for word in WORDS.findall(text))


def _readings(text: str) -> Iterator[tuple[Decimal, NumberFormat]]:
    """Return every number, with its format, that is written exactly like this text."""
    for group, point in _STYLES:
        whole, has_point, rest = text.partition(point)
        plain = whole.replace(group, "") if group else whole
        if not plain.isdigit() or not plain.isascii() or len(text) > 20 or (has_point and not rest.isdigit()):
            continue
        written = NumberFormat(len(rest), point, group)
        value = Decimal(plain + (f".{rest}" if rest else ""))
        if len(rest) <= 6 and written.write(str(value)) == text and (not group or group in whole):
            yield value, written


def _rank_source(name: str, text: str, template: Template, each: Path | None) -> ValueSource | None:
    paths = [*paths_of(template), each or ()]
    keys = {plain_name(step) for path in paths for step in path if isinstance(step, str)}
    is_named = plain_name(name) in keys
    foreign = sum(len(part) for part in template if isinstance(part, str))
    # A value as short as "5" occurs everywhere; it counts only if its key is the name of the field.
    if not is_named and sum(map(len, WORDS.findall(text))) < WEAK_CHARS:
        return None
    indexes = sum(isinstance(step, int) for path in paths for step in path)
    return ValueSource(template, each, (int(foreign > 0), int(not is_named), indexes, sum(map(len, paths)), foreign))
