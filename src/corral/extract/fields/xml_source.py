"""An XML document that is no page, such as a feed or a sitemap, as a source of fields."""

from collections.abc import Iterator, Sequence
from typing import Any

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.element_part import find_matches, parts_of
from corral.extract.fields.source import Source
from corral.extract.lazy import lazy_property
from corral.extract.names.found import MAX_TRIED, MAX_VALUES, FoundValue
from corral.extract.names.keys import canonical
from corral.extract.names.words.text import plain
from corral.extract.page import normalize_space
from corral.extract.url_joiner import join_url
from corral.extract.xml.elements import Elements, breadth_first, text_of

# Names of elements in feeds and sitemaps, by bare name; the first that is present is used.
_NAMES = {
    "description": ("description", "summary", "subtitle"),
    "author": ("author", "creator", "managingeditor"),
    "date": ("pubdate", "published", "date", "issued", "lastbuilddate", "updated", "lastmod"),
    "modified": ("updated", "modified", "lastbuilddate", "lastmod"),
    "url": ("link", "url", "loc"),
    "links": ("link", "loc"),
    "text": ("content", "encoded", "body", "text"),
    "language": ("language", "lang"),
}
_OF_ADDRESSES = frozenset(("url", "links"))
_CONFIDENCE = 0.9


class XmlSource:
    def __init__(self, elements: Elements, url: str) -> None:
        self._elements = elements
        self._url = url

    @property
    def root(self) -> Any:
        return self._elements.root

    @property
    def title(self) -> str | None:
        return next(iter(self.values("title")), None)

    def values(self, name: str) -> list[str]:
        """Return the values of the elements with this name and any prefix, those nearest to the root first."""
        key = plain(name)
        canonical_name = canonical(name)
        for tag in dict.fromkeys((key, *_NAMES.get(canonical_name, ()), canonical_name)):
            values = [value for element in self._by_name.get(tag, ()) if (value := _element_value(element))]
            if values:
                return [self.absolute(value) for value in values] if canonical_name in _OF_ADDRESSES else values
        return [self.text] if canonical_name == "text" and self.text else []

    def find(self, name: str) -> Sequence[FoundValue]:
        return [FoundValue(value, f"xml:{name}", _CONFIDENCE) for value in self.values(name)]

    def find_one(self, name: str) -> FoundValue | None:
        return next(iter(self.find(name)), None)

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        if spec.jsonpath is not None:
            return
        if spec.selector is None:
            yield self.text
            return
        matches = find_matches(self._elements, spec)
        limited = matches[: MAX_VALUES + 1] if spec.takes_all else matches[:MAX_TRIED]
        yield from self._elements.values(limited, spec.attr, self.absolute)

    def find_parts(self, spec: FieldSpec) -> Sequence[Source]:
        return parts_of(self._elements, spec, self, lambda elements: XmlSource(elements, self._url))

    def count(self, spec: FieldSpec) -> int:
        if spec.jsonpath is not None:
            return 0
        return len(find_matches(self._elements, spec)) if spec.selector else len(self.values(spec.name))

    def absolute(self, reference: str) -> str:
        return join_url(self._url, reference)

    def can_be_searched(self) -> bool:
        return True

    @lazy_property
    def text(self) -> str:
        return text_of(self._elements.root) or ""

    @property
    def language(self) -> str | None:
        return next(iter(self.values("language")), None)

    @lazy_property
    def _by_name(self) -> dict[str, list[Any]]:
        """Elements by their local name, the nearest to the root first; then those without a prefix come first."""
        found: dict[str, list[tuple[int, bool, Any]]] = {}
        for depth, element in breadth_first(self._elements.root):
            local = element.tag.rpartition("}")[2].rpartition(":")[2]
            same = found.setdefault(plain(local), [])
            if len(same) < MAX_VALUES:
                same.append((depth, element.prefix is not None, element))
        return {name: [each[2] for each in sorted(same, key=lambda s: s[:2])] for name, same in found.items()}


def _element_value(element: Any) -> str | None:
    """Return the text of an element, or its `href`: a link of Atom has no text."""
    return text_of(element) or normalize_space(element.get("href"))
