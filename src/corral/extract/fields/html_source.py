"""An HTML page, and an element of one, as sources of fields."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from selectolax.lexbor import LexborNode, SelectolaxError

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.source import Source
from corral.extract.lazy import lazy_property
from corral.extract.names.found import EVERY, MAX_TRIED, MAX_VALUES, FoundValue
from corral.extract.names.keys import canonical
from corral.extract.names.words.text import plain
from corral.extract.page import Page

if TYPE_CHECKING:
    from corral.extract.names.named_values import NamedValues
    from corral.extract.xml.elements import Elements

# The HTML parser drops these elements unless they are inside the table elements they belong to.
_TABLE_CONTEXT = {
    "tr": ("<table><tbody>", "</tbody></table>"),
    "td": ("<table><tbody><tr>", "</tr></tbody></table>"),
    "th": ("<table><tbody><tr>", "</tr></tbody></table>"),
    **dict.fromkeys(("tbody", "thead", "tfoot", "caption", "colgroup"), ("<table>", "</table>")),
}


# Selectors for names that a page has in its head: an element of a page has no head.
_LINK = "a[href]"
_IN_PARTS = {
    **dict.fromkeys(("title", "name", "headline"), ("h1, h2, h3, h4, h5, h6", "[class*=title i], [class*=name i]")),
    "url": (_LINK,),
}
# Attributes that hold the value of an element in place of its text.
_MACHINE_ATTRIBUTES = ("content", "datetime", "href", "src", "value")
_PART_CONFIDENCE = 0.8


class HtmlSource:
    def __init__(self, page: Page) -> None:
        self._page = page

    def find(self, name: str) -> Sequence[FoundValue]:
        return self._names.find(name)

    def find_one(self, name: str) -> FoundValue | None:
        return self._names.find_one(name)

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        if spec.jsonpath is not None:
            return
        if spec.xpath is not None:
            if self._elements is not None:
                matches = self._elements.by_xpath(spec.xpath)
                attr = spec.attr.lower() if spec.attr else None
                yield from self._elements.values(_limit(matches, spec), attr, self.absolute)
        elif spec.css is None:
            yield from self._own_values(spec)
        else:
            yield from self._page.values_of(_limit(self._by_css(spec.css), spec), spec.attr)

    def find_parts(self, spec: FieldSpec) -> Sequence[Source]:
        if spec.xpath is not None:
            from corral.extract.fields.element_part import parts_of  # noqa: PLC0415 - most pages do without lxml

            return [] if self._elements is None else parts_of(self._elements, spec, self, self._document_of)
        if spec.css is None:
            return [] if spec.jsonpath else [self]
        return [HtmlPart(node, self._page) for node in self._by_css(spec.css)[: MAX_VALUES + 1]]

    def count(self, spec: FieldSpec) -> int:
        if spec.xpath is not None:
            return 0 if self._elements is None else len(self._elements.by_xpath(spec.xpath))
        if spec.jsonpath is not None:
            return 0
        css = spec.css or EVERY.get(plain(spec.name))
        return len(self._by_css(css)) if css else 0

    def absolute(self, reference: str) -> str:
        return self._page.absolute(reference)

    def can_be_searched(self) -> bool:
        return self._elements is not None

    @lazy_property
    def _names(self) -> "NamedValues":
        from corral.extract.names.named_values import NamedValues  # noqa: PLC0415 - many jobs have selectors only

        return NamedValues(self._named_page)

    @property
    def _named_page(self) -> Page:
        return self._page

    @lazy_property
    def language(self) -> str | None:
        node = self._page.tree.css_first("html[lang]")
        return (node.attributes.get("lang") or "").strip() or None if node is not None else None

    def _document_of(self, elements: "Elements") -> Source:
        tag = elements.root.tag
        return HtmlSource(Page(_wrap_table_part(tag, elements.markup()), self._page.base_url))

    def _own_values(self, spec: FieldSpec) -> Iterator[Any]:  # noqa: ARG002 - a page has no attributes
        yield self._page.body_text

    def _by_css(self, selector: str) -> list[LexborNode]:
        return self._page.by_css(selector)

    @lazy_property
    def _elements(self) -> "Elements | None":
        root = self._page.tree.root
        return _elements_of((root.html if root is not None else "") or "")


class HtmlPart(HtmlSource):
    """An element of a page: selectors match inside it, and bare names are searched in its content."""

    def __init__(self, node: LexborNode, page: Page) -> None:
        self._page = page
        self._node = node

    def find(self, name: str) -> Sequence[FoundValue]:
        return self._find_own(name) or super().find(name)

    def find_one(self, name: str) -> FoundValue | None:
        return next(iter(self._find_own(name)), None) or super().find_one(name)

    def _find_own(self, name: str) -> list[FoundValue]:
        """Find what a card of a list shows: a microdata property, or its heading and its link."""
        selectors = [f'[itemprop~="{name}"]'] if name.isidentifier() else []
        selectors += _IN_PARTS.get(canonical(name), ())
        for selector in selectors:
            found = []
            for node in self._by_css(selector)[:MAX_TRIED]:
                attr = next((each for each in _MACHINE_ATTRIBUTES if node.attributes.get(each)), None)
                attr = attr if "itemprop" in selector else "href" if selector == _LINK else None
                value = self._page.value_of(node, attr)
                found += [FoundValue(value, f"part:{selector}", _PART_CONFIDENCE)] if value else []
            if found:
                return found
        return []

    @property
    def _named_page(self) -> Page:
        return Page(_wrap_table_part(self._node.tag, self._node.html), self._page.base_url)

    @lazy_property
    def language(self) -> str | None:
        node: LexborNode | None = self._node
        while node is not None:
            if node.tag not in (None, "-document") and (lang := (node.attributes.get("lang") or "").strip()):
                return lang
            node = node.parent
        return None

    def _own_values(self, spec: FieldSpec) -> Iterator[Any]:
        value = self._page.value_of(self._node, spec.attr)
        if value:
            yield value

    def _by_css(self, selector: str) -> list[LexborNode]:
        try:
            return self._node.css(selector)
        except (SelectolaxError, ValueError):
            return []

    @lazy_property
    def _elements(self) -> "Elements | None":
        """A tree with the element itself as the root, so that `./td` and `.//a` start there."""
        elements = _elements_of(_wrap_table_part(self._node.tag, self._node.html))
        return None if elements is None else elements.below(self._node.tag or "")


def _elements_of(markup: str) -> "Elements | None":
    from corral.extract.xml.elements import TooMuch, html_elements  # noqa: PLC0415 - most pages do without lxml

    try:
        return html_elements(markup)
    except TooMuch:
        return None


def _wrap_table_part(tag: str | None, markup: str | None) -> str:
    before, after = _TABLE_CONTEXT.get(tag or "", ("", ""))
    return f"{before}{markup or ''}{after}"


def _limit(matches: list[Any], spec: FieldSpec) -> list[Any]:
    return matches[: MAX_VALUES + 1] if spec.takes_all else matches[:MAX_TRIED]
