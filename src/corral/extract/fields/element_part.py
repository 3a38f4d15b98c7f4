"""An element of an lxml tree as a source of fields."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.source import Source
from corral.extract.lazy import lazy_property
from corral.extract.names.found import MAX_TRIED, MAX_VALUES, FoundValue
from corral.extract.xml.elements import Elements


class ElementPart:
    def __init__(self, elements: Elements, document: Source, as_document: Callable[[Elements], Source]) -> None:
        """`as_document` makes a document of an element, in which bare names can be found."""
        self._elements = elements
        self._document = document
        self._as_document = as_document

    def find(self, name: str) -> Sequence[FoundValue]:
        return self._as_own_document.find(name)

    def find_one(self, name: str) -> FoundValue | None:
        return self._as_own_document.find_one(name)

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        if spec.jsonpath is not None:
            return
        matches = find_matches(self._elements, spec)
        limited = matches[: MAX_VALUES + 1] if spec.takes_all else matches[:MAX_TRIED]
        yield from self._elements.values(limited, spec.attr, self.absolute)

    def find_parts(self, spec: FieldSpec) -> Sequence[Source]:
        return parts_of(self._elements, spec, self._document, self._as_document)

    def count(self, spec: FieldSpec) -> int:
        return len(find_matches(self._elements, spec))

    def absolute(self, reference: str) -> str:
        return self._document.absolute(reference)

    def can_be_searched(self) -> bool:
        return True

    @property
    def language(self) -> str | None:
        return self._document.language

    @lazy_property
    def _as_own_document(self) -> Source:
        return self._as_document(self._elements)


def parts_of(
    elements: Elements, spec: FieldSpec, document: Source, as_document: Callable[[Elements], Source]
) -> list[Source]:
    if spec.jsonpath is not None:
        return []
    matches = find_matches(elements, spec)[: MAX_VALUES + 1]
    return [ElementPart(elements.at(match), document, as_document) for match in matches if hasattr(match, "tag")]


def find_matches(elements: Elements, spec: FieldSpec) -> list[Any]:
    if spec.xpath is not None:
        return elements.by_xpath(spec.xpath)
    return elements.by_css(spec.css) if spec.css else [elements.root]
