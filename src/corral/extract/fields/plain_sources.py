"""Documents without elements, JSON and plain text, as sources of fields."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.json_path import parse_query, select
from corral.extract.fields.source import Source
from corral.extract.lazy import lazy_property
from corral.extract.names.found import FoundValue
from corral.extract.names.words.text import plain
from corral.extract.value_limit import capture_limit
from corral.extract.values import storable

_CONFIDENCE = 0.9


class _PlainSource:
    """A document has no base address and no language of its own."""

    def absolute(self, reference: str) -> str:
        return reference

    def can_be_searched(self) -> bool:
        return True

    @property
    def language(self) -> str | None:
        return None


class JsonSource(_PlainSource):
    """A JSON document or a value in it: paths select anywhere, bare names are looked up among the top-level keys."""

    def __init__(self, value: Any, text: str | None = None) -> None:
        self._value = value
        self._text = text

    @classmethod
    def parse(cls, text: str) -> "JsonSource":
        try:
            value = json.loads(text, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            value = None
        return cls(value, text)

    def find(self, name: str) -> Sequence[FoundValue]:
        value = storable(self._keys.get(plain(name)))
        return [] if value is None else [FoundValue(value, f"json:{name}", _CONFIDENCE)]

    def find_one(self, name: str) -> FoundValue | None:
        return next(iter(self.find(name)), None)

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        if spec.jsonpath is not None:
            yield from (storable(value) for value in _select(self._value, spec.jsonpath) if value is not None)
        elif not spec.css and not spec.xpath and not spec.attr:
            text = self._text if self._text is not None else self._value
            yield text[: capture_limit()] if isinstance(text, str) else storable(text)

    def find_parts(self, spec: FieldSpec) -> Sequence[Source]:
        if spec.jsonpath is not None:
            return [JsonSource(value) for value in _select(self._value, spec.jsonpath) if value is not None]
        return [] if spec.selector else [self]

    def count(self, spec: FieldSpec) -> int:
        return sum(1 for _ in _select(self._value, spec.jsonpath)) if spec.jsonpath else 0

    @lazy_property
    def _keys(self) -> dict[str, Any]:
        return {plain(key): value for key, value in self._value.items()} if isinstance(self._value, Mapping) else {}


class TextSource(_PlainSource):
    """A plain text, whose only field is the text itself."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find_one(self, name: str) -> FoundValue | None:
        return next(iter(self.find(name)), None)

    def find(self, name: str) -> Sequence[FoundValue]:
        whole = self._text[: capture_limit()].strip() if plain(name) in ("text", "content", "body") else ""
        return [FoundValue(whole, "text", 1.0)] if whole else []

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        if not spec.selector and not spec.attr:
            yield self._text[: capture_limit()]

    def find_parts(self, spec: FieldSpec) -> Sequence[Source]:
        return [] if spec.selector else [self]

    def count(self, spec: FieldSpec) -> int:  # noqa: ARG002 - nothing is selected in a text
        return 0


def _select(document: Any, path: str) -> Iterator[Any]:
    try:
        query = parse_query(path, field="fields")
    except BadInput:  # refused when the job is written
        return
    yield from select(document, query)
