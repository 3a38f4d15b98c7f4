"""A CSS selector for an element that was found: short where the page allows it, always right for this page, and made
of what stays the same on the next page of the template and after the next build of the site.
"""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.selectors.stable_names import is_generated, rank_name, stable_stem

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_VALUE = re.compile(r"[A-Za-z][A-Za-z0-9_.: -]{0,60}")
# Attributes that are there for programs, or that say what an element holds.
_ATTRIBUTES = (
    *("itemprop", "property", "data-testid", "data-test", "data-test-id", "data-qa", "data-cy", "data-hook"),
    *("data-field", "data-name", "data-role", "data-type", "data-component", "data-automation-id", "name", "rel"),
    *("role", "aria-label"),
)
_MAX_CLASSES = 6
_MAX_STEPS = 12
_MAX_ABOVE = 6


def selector_for(page: Page, node: LexborNode) -> str | None:
    """The first candidate whose first match is this element; None where there is none."""
    for candidate in list_candidates(node):
        first = page.tree.css_first(candidate)
        if first is not None and first.mem_id == node.mem_id:
            return candidate
    return None


def names_of(node: LexborNode) -> list[str]:
    """Short names, the most telling first: by id, by attribute, by class, by tag."""
    tag = _tag_of(node)
    given = _id_of(node)
    stems = [f'{tag}[class*="{stem}"]' for word in _words_of(node) if (stem := stable_stem(word)) is not None]
    classes = classes_of(node)
    telling = [f"{tag}.{name}" for name in classes if not _is_utility(name)]
    others = [f"{tag}.{name}" for name in classes if _is_utility(name)]
    return [*([f"#{given}"] if given else []), *_attributes_of(node), *telling, *stems, *others, tag]


def classes_of(node: LexborNode) -> list[str]:
    """Class names that can be written as they are, the most telling first. Generated names are left out."""
    words = [word for word in _words_of(node) if _WORD.fullmatch(word) and not is_generated(word)]
    return sorted(words[:_MAX_CLASSES], key=rank_name)


def list_candidates(node: LexborNode) -> Iterator[str]:
    """Selectors for the element, the most stable first; positions come last."""
    names = names_of(node)
    yield from names
    parent = node.parent
    if parent is not None and is_element(parent):
        yield from (f"{above} > {name}" for above in names_of(parent) for name in names)
    for above in _anchors_above(node):
        yield from (f"{above} {name}" for name in names)
    yield path_to(node)


def path_to(node: LexborNode) -> str:
    """Step by step from the nearest ancestor with a stable id, or from as far up as we look."""
    steps: list[str] = []
    here: LexborNode | None = node
    while here is not None and is_element(here) and len(steps) < _MAX_STEPS:
        given = _id_of(here)
        if given:
            steps.append(f"#{given}")
            break
        tag = _tag_of(here)
        steps.append(tag if tag in ("html", "body") else f"{tag}:nth-of-type({_place(here)})")
        here = here.parent
    return " > ".join(reversed(steps))


def is_element(node: LexborNode) -> bool:
    return bool(node.tag) and not str(node.tag).startswith(("-", "!", "#"))


def _anchors_above(node: LexborNode) -> Iterator[str]:
    """The best name of each ancestor above the parent, where it is more than a tag."""
    here = node.parent.parent if node.parent is not None else None
    for _ in range(_MAX_ABOVE):
        if here is None or not is_element(here) or here.tag in ("html", "body"):
            return
        best = names_of(here)[0]
        if best != _tag_of(here) or here.tag in ("main", "article", "header", "footer", "nav", "aside"):
            yield best
        here = here.parent


def _id_of(node: LexborNode) -> str:
    given = node.attributes.get("id") or ""
    return given if _WORD.fullmatch(given) and not is_generated(given) else ""


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
    """Broken pages have tags, such as `<b$>`, that cannot be written in a selector."""
    return node.tag if node.tag and _WORD.fullmatch(node.tag) else "*"


def _place(node: LexborNode) -> int:
    place, before = 1, node.prev
    while before is not None:
        place += before.tag == node.tag
        before = before.prev
    return place
