"""Generate CSS selectors for an element.

A selector is as short as the page allows and correct on this page. It uses names that stay the same on other pages of
the template and after the next build of the site.
"""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.selectors.stable_names import is_generated, rank_name, stable_stem

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_VALUE = re.compile(r"[A-Za-z][A-Za-z0-9_.: -]{0,60}")
# Attributes for programs, and attributes that describe the content of an element.
_ATTRIBUTES = (
    *("itemprop", "property", "data-testid", "data-test", "data-test-id", "data-qa", "data-cy", "data-hook"),
    *("data-field", "data-name", "data-role", "data-type", "data-component", "data-automation-id", "name", "rel"),
    *("role", "aria-label"),
)
_MAX_CLASSES = 6
_MAX_STEPS = 12
_MAX_ABOVE = 6


def selector_for(page: Page, node: LexborNode) -> str | None:
    """Return the first candidate whose first match is this element; None if there is none."""
    for candidate in list_candidates(node):
        first = page.tree.css_first(candidate)
        if first is not None and first.mem_id == node.mem_id:
            return candidate
    return None


def names_of(node: LexborNode) -> list[str]:
    """Return short selectors for an element, the most specific first: by id, attribute, class, tag."""
    tag = _tag_of(node)
    element_id = _id_of(node)
    stems = [f'{tag}[class*="{stem}"]' for word in _words_of(node) if (stem := stable_stem(word)) is not None]
    classes = classes_of(node)
    specific = [f"{tag}.{name}" for name in classes if not _is_utility(name)]
    others = [f"{tag}.{name}" for name in classes if _is_utility(name)]
    return [*([f"#{element_id}"] if element_id else []), *_attributes_of(node), *specific, *stems, *others, tag]


def classes_of(node: LexborNode) -> list[str]:
    """Return the class names that need no escaping and are not generated, the most specific first."""
    words = [word for word in _words_of(node) if _WORD.fullmatch(word) and not is_generated(word)]
    return sorted(words[:_MAX_CLASSES], key=rank_name)


def list_candidates(node: LexborNode) -> Iterator[str]:
    """Yield selectors for the element, the most stable first and positions last."""
    names = names_of(node)
    yield from names
    parent = node.parent
    if parent is not None and is_element(parent):
        yield from (f"{above} > {name}" for above in names_of(parent) for name in names)
    for above in _anchors_above(node):
        yield from (f"{above} {name}" for name in names)
    yield path_to(node)


def path_to(node: LexborNode) -> str:
    """Return the path from the nearest ancestor with a stable id, or of the last `_MAX_STEPS` steps."""
    steps: list[str] = []
    here: LexborNode | None = node
    while here is not None and is_element(here) and len(steps) < _MAX_STEPS:
        element_id = _id_of(here)
        if element_id:
            steps.append(f"#{element_id}")
            break
        tag = _tag_of(here)
        steps.append(tag if tag in ("html", "body") else f"{tag}:nth-of-type({_position(here)})")
        here = here.parent
    return " > ".join(reversed(steps))


def is_element(node: LexborNode) -> bool:
    return bool(node.tag) and not str(node.tag).startswith(("-", "!", "#"))


def _anchors_above(node: LexborNode) -> Iterator[str]:
    """Yield the best name of each ancestor above the parent, if it is more than a generic tag."""
    here = node.parent.parent if node.parent is not None else None
    for _ in range(_MAX_ABOVE):
        if here is None or not is_element(here) or here.tag in ("html", "body"):
            return
        best = names_of(here)[0]
        if best != _tag_of(here) or here.tag in ("main", "article", "header", "footer", "nav", "aside"):
            yield best
        here = here.parent


def _id_of(node: LexborNode) -> str:
    element_id = node.attributes.get("id") or ""
    return element_id if _WORD.fullmatch(element_id) and not is_generated(element_id) else ""


def _attributes_of(node: LexborNode) -> list[str]:
    found = []
    for name in _ATTRIBUTES:
        value = node.attributes.get(name) or ""
        if _VALUE.fullmatch(value) and not any(is_generated(word) for word in value.split()):
            found.append(f'{_tag_of(node)}[{name}="{value}"]')
    return found


def _words_of(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()


def _is_utility(name: str) -> bool:
    return rank_name(name) > 1


def _tag_of(node: LexborNode) -> str:
    """Return the tag, or `*` if a selector cannot express it, as with `<b$>` of a broken page."""
    return node.tag if node.tag and _WORD.fullmatch(node.tag) else "*"


def _position(node: LexborNode) -> int:
    position, before = 1, node.prev
    while before is not None:
        position += before.tag == node.tag
        before = before.prev
    return position
