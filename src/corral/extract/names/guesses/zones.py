"""Recognise parts of a page that are not about its subject: menus, footers, related items, comments."""

import re

from selectolax.lexbor import LexborNode

_TAGS = frozenset(("nav", "footer", "aside"))
_HIDDEN = frozenset(("script", "style", "template", "noscript", "option", "svg", "head"))
_BESIDE = re.compile(
    r"(?:^|[\s_-])(?:related|recommend\w*|similar|upsells?|cross-?sells?|crosssell\w*|also-?(?:bought|viewed|like)\w*"
    r"|bought-together|side-?bar|widget-area|(?:site|page|global|main)?-?footer|comments?|comment-?list|respond"
    r"|carousel|promos?|newsletter|cookie\w*|recently-?\w*|suggest\w*|more-?(?:from|stories|news|articles|posts"
    r"|like)\w*|read-?(?:more|next|also)"
    r"|trending|popular|most-?read|most-?viewed|latest|teasers?|sponsored|advert\w*|ads?|social|share|sharing"
    r"|author-?(?:bio|box|card|info)|modal|mini-?cart|menu|navbar|navigation|topbar|signature|quote(?:d"
    r"|-?text)?)(?:$|[\s_-])",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(
    r"(?:^|[\s_-])(?:card|tile|item|teaser|result|hit|product-(?:item|card|tile|box|miniature|grid))(?:$|[\s_-])", re.I
)
_STRUCK = frozenset(("del", "s", "strike"))
_OLD_PRICE = re.compile(
    r"(?:^|[\s_-])(?:old|was|before|regular-price-crossed|list-?price|compare\w*|strike\w*|struck|crossed\w*"
    r"|previous|original|rrp|uvp|msrp|was-?price"
    r"|saving\w*|discount-?(?:amount|badge|percent\w*)|shipping\w*|versand\w*|delivery-?cost\w*|unit-?price"
    r"|base-?price|grundpreis|per-?unit|installments?|financ\w*|rate|deposit|tax|cart)(?:$|[\s_-])",
    re.IGNORECASE,
)

_MAX_MARK_CHARS = 200
# Limits the walk over the ancestors of an element: real pages are less deep.
MAX_LEVELS = 200


def marks_of(node: LexborNode) -> str:
    attributes = node.attributes
    return f"{(attributes.get('class') or '')[:_MAX_MARK_CHARS]} {(attributes.get('id') or '')[:_MAX_MARK_CHARS]}"


def is_beside(node: LexborNode | None) -> bool:
    """Return whether a node is in a part that is not about the subject of the page."""
    for _ in range(MAX_LEVELS):
        if node is None or node.tag in ("body", "html", "main"):
            return False
        tag = node.tag or ""
        if tag in _TAGS or tag in _HIDDEN or _BESIDE.search(marks_of(node)):
            return True
        node = node.parent
    return False


def is_hidden(node: LexborNode | None) -> bool:
    for _ in range(MAX_LEVELS):
        if node is None or node.tag == "body":
            return False
        if node.tag in _HIDDEN:
            return True
        node = node.parent
    return False


def is_old_price(node: LexborNode | None, levels: int = 4) -> bool:
    """Return whether a price is struck through, or named as an old price, a saving, or a delivery cost."""
    while node is not None and levels and node.tag not in ("body", "main"):
        if node.tag in _STRUCK or _OLD_PRICE.search(marks_of(node)):
            return True
        node, levels = node.parent, levels - 1
    return False
