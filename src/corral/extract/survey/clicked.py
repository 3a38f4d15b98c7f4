"""Suggest selectors for an element that a person chose: for it alone, and for all elements like it."""

import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborNode

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.extract import extract_from
from corral.extract.page import Page, normalize_space
from corral.extract.selectors.generate import is_element, list_candidates, names_of, path_to
from corral.extract.survey.labelled import find_labelled
from corral.extract.survey.repeated_items import find_repeated_items

_MAX_ALONE = 5
_MAX_ALIKE = 3
_MAX_TRIED = 200
_MAX_ELEMENTS = 50_000
_MAX_SAMPLE_CHARS = 200
_STEP = re.compile(r"([A-Za-z][\w-]*)(?:\[(\d+)\])?")
_TAG = re.compile(r"[a-z][a-z0-9-]*")
_TELLING_TAGS = frozenset({"h1", "time", "address", "title"})
_HIDDEN = frozenset({"script", "style", "template", "noscript"})
_VALUES = {"img": "src", "source": "src", "meta": "content", "input": "value", "link": "href"}
ELEMENT, ALIKE = "element", "alike"


def find_clicked(page: Page, spec: FieldSpec) -> LexborNode | None:
    """Return the first match of the CSS selector or XPath expression; for a text, the innermost element with it."""
    if spec.css is not None:
        return next(iter(page.by_css(spec.css)), None)
    if spec.xpath is not None:
        return _find_by_xpath(page, spec.xpath)
    return _find_by_text(page, normalize_space(str(spec.const)) or "")


def _find_by_xpath(page: Page, expression: str) -> LexborNode | None:
    """Find the element with lxml, and return it from the tree of the page by its path: both trees are the same."""
    from corral.extract.xml.elements import TooMuch, html_elements  # noqa: PLC0415 - most pages do without lxml

    root = page.tree.root
    try:
        elements = html_elements((root.html if root is not None else "") or "")
    except TooMuch:
        return None
    for match in elements.by_xpath(expression):
        element = match if hasattr(match, "tag") else getattr(match, "getparent", lambda: None)()
        if element is None or not isinstance(element.tag, str):
            continue
        steps = [_STEP.fullmatch(step) for step in element.getroottree().getpath(element).strip("/").split("/")]
        path = [f"{step[1]}:nth-of-type({step[2] or 1})" for step in steps if step is not None]
        found = page.by_css(" > ".join(path))
        if found and len(path) == len(steps):
            return found[0]
    return None


def _find_by_text(page: Page, text: str) -> LexborNode | None:
    if page.tree.body is None or not text:
        return None
    exact: LexborNode | None = None
    holding: LexborNode | None = None
    for index, node in enumerate(page.tree.body.traverse(include_text=False)):
        if index >= _MAX_ELEMENTS:
            break
        if not is_element(node) or node.tag in _HIDDEN:
            continue
        own_text = page.text_of(node) or ""
        # The last element in a chain of equal texts is the innermost.
        if own_text == text and (exact is None or _is_inside(node, exact)):
            exact = node
        elif text in own_text and (holding is None or _is_inside(node, holding)):
            holding = node
    return exact or holding


def _is_inside(node: LexborNode, other: LexborNode) -> bool:
    here = node.parent
    while here is not None:
        if here.mem_id == other.mem_id:
            return True
        here = here.parent
    return False


def describe_clicked(page: Page, node: LexborNode) -> dict[str, Any]:
    text = page.text_of(node) or ""
    return {"tag": str(node.tag), "text": text[:_MAX_SAMPLE_CHARS], "css": path_to(node)}


def suggest_for(page: Page, node: LexborNode) -> list[dict[str, Any]]:
    """Return selectors of this element alone (`element`), then of all like it (`alike`), the most stable first."""
    attributes = _attributes_of(node)
    alone: list[tuple[str, int]] = []
    alike: dict[str, int] = {}
    for css, matches, is_first in _matching(page, node):
        # A field takes the first match, so a selector with more matches is enough for the element alone.
        if is_first and len(alone) < _MAX_ALONE:
            alone.append((css, matches))
        if matches > 1 and len(alike) < _MAX_ALIKE:
            alike[css] = matches
    alone.sort(key=lambda each: each[1] > 1)
    suggested = [
        _suggest(page, FieldSpec(ELEMENT, css, attr), matches, rank)
        for rank, (css, matches) in enumerate(alone)
        for attr in attributes
    ]
    suggested += [_suggest(page, FieldSpec(ELEMENT, xpath=xpath), 1, 1) for xpath in _by_label(page, node)]
    for rank, (css, matches) in enumerate({**dict(_in_items(page, node)), **alike}.items()):
        if rank < _MAX_ALIKE:
            suggested += [_suggest(page, FieldSpec(ALIKE, css, attr, all=True), matches, rank) for attr in attributes]
    return [each for each in suggested if each["value"] not in (None, [], "")]


def _matching(page: Page, node: LexborNode) -> Iterator[tuple[str, int, bool]]:
    """Yield candidates that match the element, with their number of matches and whether it is the first of them."""
    for index, css in enumerate(dict.fromkeys(list_candidates(node))):
        if index >= _MAX_TRIED:
            return
        matches = page.by_css(css)
        if any(match.mem_id == node.mem_id for match in matches):
            yield css, len(matches), matches[0].mem_id == node.mem_id


def _in_items(page: Page, node: LexborNode) -> Iterator[tuple[str, int]]:
    """Yield selectors for an element inside repeated items that match the same element of each item."""
    for group, css, _ in find_repeated_items(page):
        item = next((each for each in group.nodes if each.mem_id == node.mem_id or _is_inside(node, each)), None)
        if item is None:
            continue
        if item.mem_id == node.mem_id:
            yield css, len(group.nodes)
            continue
        for name in names_of(node):
            first = item.css_first(name)
            if first is not None and first.mem_id == node.mem_id:
                yield f"{css} {name}", len(page.by_css(f"{css} {name}"))
                break


def _by_label(page: Page, node: LexborNode) -> Iterator[str]:
    """Yield the XPath of a labelled value, by the text of its label."""
    for each in find_labelled(page):
        if each.node.mem_id == node.mem_id and page.text_of(node) == _first(page, FieldSpec("value", xpath=each.xpath)):
            yield each.xpath
            return


def _first(page: Page, spec: FieldSpec) -> str | None:
    found = extract_from(page, [spec]).record[spec.name]
    return found if isinstance(found, str) else None


def _attributes_of(node: LexborNode) -> list[str | None]:
    if node.tag == "a" and node.attributes.get("href"):
        return [None, "href"]
    if node.tag == "time" and node.attributes.get("datetime"):
        return [None, "datetime"]
    return [_VALUES.get(str(node.tag))]


def _suggest(page: Page, spec: FieldSpec, matches: int, rank: int) -> dict[str, Any]:
    css = spec.css or ""
    value = extract_from(page, [spec]).record[spec.name]
    first = value[0] if isinstance(value, list) and value else value
    confidence = max(0.1, 0.95 - 0.1 * rank)
    if ":nth-of-type" in css:
        confidence = 0.3  # a position breaks with the next change of the page
    elif _TAG.fullmatch(css) and css not in _TELLING_TAGS:
        confidence = min(confidence, 0.5)  # a generic tag breaks nearly as easily
    return {
        "label": spec.name,
        "css": spec.css,
        "xpath": spec.xpath,
        "confidence": round(confidence, 2),
        "attr": spec.attr,
        "all": spec.all,
        "regex": None,
        "sample": str(first or "")[:_MAX_SAMPLE_CHARS],
        "value": value,
        "matches": matches,
    }
