"""A CSS selector for an element that was found: short where the page allows it, and always right for this page."""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from corral.extract.page import Page

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_MAX_CLASSES = 6
_MAX_STEPS = 12


def selector_for(page: Page, node: LexborNode) -> str | None:
    """The first candidate whose first match is this element; None where there is none."""
    for candidate in _candidates(node):
        first = page.tree.css_first(candidate)
        if first is not None and first.mem_id == node.mem_id:
            return candidate
    return None


def names_of(node: LexborNode) -> list[str]:
    """Short names, the most telling first: by id, by class, by tag."""
    given = node.attributes.get("id") or ""
    names = [f"#{given}"] if _WORD.fullmatch(given) else []
    tag = _tag_of(node)
    return [*names, *(f"{tag}.{name}" for name in classes_of(node)), tag]


def classes_of(node: LexborNode) -> list[str]:
    """Class names that can be written as they are. Those with digits come last: they are often made by a tool."""
    words = [word for word in (node.attributes.get("class") or "").split() if _WORD.fullmatch(word)]
    return sorted(words[:_MAX_CLASSES], key=lambda word: any(char.isdigit() for char in word))


def _candidates(node: LexborNode) -> Iterator[str]:
    names = names_of(node)
    yield from names
    parent = node.parent
    if parent is not None and _is_element(parent):
        yield from (f"{above} > {name}" for above in names_of(parent) for name in names)
    yield path_to(node)


def path_to(node: LexborNode) -> str:
    """Step by step from the nearest ancestor with a usable id, or from as far up as we look."""
    steps: list[str] = []
    here: LexborNode | None = node
    while here is not None and _is_element(here) and len(steps) < _MAX_STEPS:
        given = here.attributes.get("id") or ""
        if _WORD.fullmatch(given):
            steps.append(f"#{given}")
            break
        tag = _tag_of(here)
        steps.append(tag if tag in ("html", "body") else f"{tag}:nth-of-type({_place(here)})")
        here = here.parent
    return " > ".join(reversed(steps))


def _tag_of(node: LexborNode) -> str:
    """Broken pages have tags, such as `<b$>`, that cannot be written in a selector."""
    return node.tag if node.tag and _WORD.fullmatch(node.tag) else "*"


def _place(node: LexborNode) -> int:
    place, before = 1, node.prev
    while before is not None:
        place += before.tag == node.tag
        before = before.prev
    return place


def _is_element(node: LexborNode) -> bool:
    return bool(node.tag) and not str(node.tag).startswith(("-", "!", "#"))
