"""Trees of lxml: XML documents, and HTML for fields that are found by XPath.

The import takes 25 ms and 5 MB, so other modules import it inside functions; the process that reads pages imports it
at its start.
"""

import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html.entities import html5
from typing import Any

from cssselect import GenericTranslator, SelectorError
from lxml import etree

from corral.extract.page import URL_ATTRIBUTES, normalize_space

# Keep the limits of the parsers: 256 levels, 10 MB in one text. They never open anything outside the document.
_LIMITS: dict[str, Any] = {"recover": True, "no_network": True, "huge_tree": False, "encoding": "utf-8"}
_EXSLT = "http://exslt.org/"
_MAX_PREFIXES = 100
_PREFIX = re.compile(r"""\bxmlns:([^\W\d][\w.-]{0,100})\s*=\s*(?:"([^"<]{1,500})"|'([^'<]{1,500})')""")
_UNWRITABLE = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# References in a CDATA section are plain text. A section that is never closed extends to the end.
_REFERENCE = re.compile(
    r"<!\[CDATA\[(?:.*?\]\]>|.*\Z)"
    r"|&(?!(?:amp|lt|gt|quot|apos);)(?:#(?P<number>[0-9]{1,9}|x[0-9a-fA-F]{1,8});|(?P<name>[A-Za-z][A-Za-z0-9]{0,40});)?",
    re.DOTALL,
)
_SURROGATES = range(0xD800, 0xE000)


class TooMuch(Exception):
    """The document exceeds the limits of the parser, so its tree is incomplete."""


class Elements:
    """A searchable tree. Expressions use the names and prefixes of the document."""

    def __init__(self, root: Any, prefixes: Mapping[str, str]) -> None:
        self.root = root
        self._prefixes = tuple(prefixes.items())

    def by_xpath(self, expression: str) -> list[Any]:
        """Return the matching nodes, or one string, number or Boolean; an empty list if the evaluation fails."""
        try:
            found = _compile_xpath(expression, self._prefixes)(self.root)
        except etree.XPathError:
            return []
        return found if isinstance(found, list) else [found]

    def below(self, tag: str) -> "Elements":
        """Return a tree whose root is the first element of this name; the same tree if there is none."""
        found = next(self.root.iter(tag), None) if tag else None
        return self if found is None else self.at(found)

    def at(self, element: Any) -> "Elements":
        """Return a tree with another element as the root of relative expressions."""
        return Elements(element, dict(self._prefixes))

    def markup(self) -> str:
        """Return the root as HTML."""
        text: str = etree.tostring(self.root, encoding="unicode", method="html", with_tail=False)
        return text

    def by_css(self, selector: str) -> list[Any]:
        try:
            return self.by_xpath(_css_to_xpath(selector))
        except (SelectorError, RecursionError):
            return []

    def values(self, matches: Iterable[Any], attr: str | None, absolute: Callable[[str], str]) -> Iterator[Any]:
        """Yield the values of the matches: of an element, its text or attribute. Empty values are left out."""
        for match in matches:
            value = self._value(match, attr)
            name = attr if hasattr(match, "tag") else getattr(match, "attrname", None)
            if value is not None:
                yield absolute(value) if name in URL_ATTRIBUTES else value

    def _value(self, match: Any, attr: str | None) -> Any:
        if isinstance(match, bool):
            return match
        if isinstance(match, float):
            return _number(match)
        if isinstance(match, str):
            return normalize_space(match)
        if isinstance(match, tuple):  # a namespace
            return None
        return normalize_space(self.attribute(match, attr)) if attr else text_of(match)

    def attribute(self, element: Any, name: str) -> str | None:
        prefix, colon, local = name.partition(":")
        uri = dict(self._prefixes).get(prefix) if colon else None
        value: str | None = element.get(f"{{{uri}}}{local}" if uri else name)
        return value


def html_elements(markup: str) -> Elements:
    """Parse markup that the HTML parser serialized, so that CSS and XPath see the same tree."""
    parser = etree.HTMLParser(**_LIMITS, default_doctype=False)
    root = _parse(markup, parser)
    return Elements(etree.Element("html") if root is None else root, {})


def xml_elements(text: str) -> Elements | None:
    """Parse a document from its first element on; return None if nothing of it can be recovered.

    Elements without a prefix lose their namespace, so that users need not declare one.
    """
    parser = etree.XMLParser(**_LIMITS, resolve_entities=False, load_dtd=False, attribute_defaults=False)
    root = _parse(_REFERENCE.sub(_resolve_reference, _UNWRITABLE.sub("", text)), parser)
    if root is None:
        return None
    if "xmlns=" in text or "xmlns =" in text:
        for element in root.iter(etree.Element):
            if element.prefix is None and element.tag[0] == "{":
                element.tag = element.tag.rpartition("}")[2]
    return Elements(root, _prefixes_in(text))


def text_of(element: Any) -> str | None:
    if not isinstance(element.tag, str):  # a comment or a processing instruction
        return normalize_space(element.text)
    return normalize_space(" ".join(element.itertext(etree.Element)))


def breadth_first(root: Any) -> list[tuple[int, Any]]:
    """Return every element with its depth, those nearest to the root first."""
    levels: list[tuple[int, Any]] = []
    level: Sequence[Any] = [root]
    depth = 0
    while level:
        levels += [(depth, element) for element in level]
        level = [child for element in level for child in element if isinstance(child.tag, str)]
        depth += 1
    return levels


def _parse(text: str, parser: Any) -> Any:
    data = text.encode("utf-8", "replace")
    try:
        root = etree.fromstring(data, parser) if data else None
    except etree.XMLSyntaxError:
        root = None
    kinds = {entry.type for entry in parser.error_log.filter_from_fatals()}
    if etree.ErrorTypes.ERR_NO_MEMORY in kinds:
        raise MemoryError
    if etree.ErrorTypes.ERR_RESOURCE_LIMIT in kinds:
        raise TooMuch
    return root


def _compile_xpath(expression: str, prefixes: tuple[tuple[str, str], ...]) -> Any:
    """Compile an expression with the core functions only: a prefix bound to EXSLT would add others."""
    namespaces = {prefix: uri for prefix, uri in prefixes if not uri.startswith(_EXSLT)}
    return etree.XPath(expression, namespaces=namespaces, regexp=False)


def _css_to_xpath(selector: str) -> str:
    return GenericTranslator().css_to_xpath(selector)


def _prefixes_in(text: str) -> dict[str, str]:
    prefixes: dict[str, str] = {}
    for found in _PREFIX.finditer(text):
        if len(prefixes) >= _MAX_PREFIXES:
            break
        if not found[1].lower().startswith("xml"):
            prefixes.setdefault(found[1], html.unescape(found[2] or found[3]))
    return prefixes


def _resolve_reference(found: re.Match[str]) -> str:
    """Resolve an undeclared reference by the entities of HTML; escape a bare ampersand."""
    if found[0].startswith("<"):
        return found[0]
    if found["number"] is not None:
        digits = found["number"]
        number = int(digits[1:], 16) if digits[0] == "x" else int(digits)
        is_allowed = 0x20 <= number <= 0x10FFFF and number not in _SURROGATES
        return found[0] if is_allowed or number in (0x9, 0xA, 0xD) else ""
    return html.escape(html5.get(f"{found['name']};", found[0]))


def _number(value: float) -> int | float | None:
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
