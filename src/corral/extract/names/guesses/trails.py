"""Guess breadcrumbs and tags."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.elements import NOTHING, Guess, PageElements, describe, is_inside

_TRAILS = (
    'nav[aria-label*="breadcrumb" i], ol[aria-label*="breadcrumb" i], [data-testid*="breadcrumb" i]',
    ".breadcrumb, .breadcrumbs, #breadcrumb, #breadcrumbs, .bread-crumb, .crumbs, .woocommerce-breadcrumb, .pathway,"
    " .trail, #brotkrumen, .brotkrumen, .breadCrumb",
    "[class*='breadcrumb'], [class*='Breadcrumb'], [id*='breadcrumb']",
    'nav[aria-label*="pfad" i], nav[aria-label*="ariane" i], nav[aria-label*="migas" i], nav[aria-label*="kruimel"'
    ' i], nav[aria-label*="パンくず"]',
)
_CRUMB_SEPARATOR = re.compile(r"\s*(?:[›»>→⟩/|·•▸▶❯]|&gt;|::)\s*")


def guess_breadcrumbs(elements: PageElements) -> Guess:
    for selector in _TRAILS:
        for node in elements.page.tree.css(selector)[:5]:
            crumbs = _crumbs(elements, node)
            if len(crumbs) > 1:
                return crumbs, describe(selector, node)
    return NOTHING


def _crumbs(elements: PageElements, node: LexborNode) -> list[str]:
    entries = [each for each in node.css("li") if len(each.css("li")) == 1]
    if entries:
        texts = [elements.page.text_of(entry) or "" for entry in entries]
    else:
        whole = elements.page.text_of(node) or ""
        links = [elements.page.text_of(link) or "" for link in node.css("a")]
        texts = _CRUMB_SEPARATOR.split(whole) if _CRUMB_SEPARATOR.search(whole) else links
        if links and len([text for text in texts if text]) < len(links):
            texts = links
    cleaned = [
        _CRUMB_SEPARATOR.sub(" ", text).strip() if len(text) < 3 else text.strip(" ›»>→/|·•▸▶❯") for text in texts
    ]
    return [text for text in cleaned if text and len(text) <= 150]


def guess_tags(elements: PageElements) -> Guess:
    for selector in (
        'a[rel~="tag"]',
        ".tags a, .post-tags a, .tag-list a, .entry-tags a, .article-tags a, .tag-links a, .post-tag,"
        " .tagcloud-post a, ul.tags li, .keywords a",
    ):
        texts = [
            elements.page.text_of(node)
            for node in elements.page.tree.css(selector)[:100]
            if not is_inside(node, ("nav", "footer", "aside"))
        ]
        found = list(dict.fromkeys(text.lstrip("#").strip() for text in texts if text and len(text) <= 60))
        if found:
            return found, "rel:tag" if "rel" in selector else "class:tags"
    return NOTHING
