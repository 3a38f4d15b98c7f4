"""The links of a list page that may lead to its other pages."""

import re
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from corral.domain.net.canonical import Link, links_to
from corral.domain.net.url import Target
from corral.extract.page import Page, normalize_space

_MAX_LINKS = 5_000
_MAX_TEXT_CHARS = 60
_MAX_ANCESTORS = 4
_PAGING = re.compile(r"(?i)pag(?:e|inat|ing|er|ina)|seite|sivu|(?:^|[-_ ])(?:pg|nav-links|results?-nav)")


class PageLink(NamedTuple):
    """A link of the page: its URL, its texts, and the class names of it and its parent."""

    link: Link
    text: str
    labels: tuple[str, ...]  # aria-label and title
    rel: frozenset[str]
    names: frozenset[str]  # class names of the link and of its parent
    is_in_paging: bool  # an ancestor is named as a pager


def read_page_links(page: Page, base: Target, counting_params: frozenset[str]) -> list[PageLink]:
    """Return all links of the page that can be fetched, in order, after the `link` elements with rel=next."""
    nodes = [*page.tree.css("link[rel~=next i][href]"), *page.tree.css("a[href]")][:_MAX_LINKS]
    nodes = [node for node in nodes if not _is_disabled(node)]
    links = links_to(base, [_address_of(node) for node in nodes], counting_params)
    return [_read(node, link) for node, link in zip(nodes, links, strict=True) if link is not None]


def _address_of(node: LexborNode) -> str:
    href = (node.attributes.get("href") or "").strip()
    return "" if href.startswith("#") else href


def _is_disabled(node: LexborNode) -> bool:
    href = (node.attributes.get("href") or "").strip().lower()
    if not href or href.startswith(("#", "javascript:")):
        return True
    near = [node.attributes, node.parent.attributes if node.parent is not None else {}]
    return any(
        (each.get("aria-disabled") or "").lower() == "true" or "disabled" in (each.get("class") or "").lower().split()
        for each in near
    )


def _read(node: LexborNode, link: Link) -> PageLink:
    attributes = node.attributes
    labels = tuple(text for name in ("aria-label", "title") if (text := normalize_space(attributes.get(name))))
    rel = frozenset((attributes.get("rel") or "").lower().split())
    text = normalize_space(node.text(deep=True)[: 4 * _MAX_TEXT_CHARS]) or _image_text(node)
    parent = node.parent
    classes = f"{attributes.get('class') or ''} {(parent.attributes.get('class') or '') if parent is not None else ''}"
    names = frozenset(classes.lower().split())
    return PageLink(link, text[:_MAX_TEXT_CHARS], labels, rel, names, _is_in_paging(node))


def _image_text(node: LexborNode) -> str:
    image = node.css_first("img[alt]")
    return normalize_space(image.attributes.get("alt")) or "" if image is not None else ""


def _is_in_paging(node: LexborNode) -> bool:
    above = node.parent
    for _ in range(_MAX_ANCESTORS):
        if above is None or above.tag in ("body", "html"):
            return False
        attributes = above.attributes
        if any(_PAGING.search(attributes.get(name) or "") for name in ("class", "id", "aria-label", "role")):
            return True
        above = above.parent
    return False
