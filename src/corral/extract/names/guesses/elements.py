"""The elements of a page that heuristics examine."""

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from corral.extract.lazy import lazy_property
from corral.extract.names.guesses.zones import MAX_LEVELS, is_beside, is_hidden, marks_of
from corral.extract.names.words.money import find_money
from corral.extract.names.words.titles import segment_equal
from corral.extract.page import Page, normalize_space

Guess = tuple[list[str], str]  # values, and a short description of where they were found
NOTHING: Guess = ([], "")
_MAX_NODES = 200
_MAX_TRAVERSED = 20_000
_MAX_TEXTS = 100
_MAX_ITEM_CHARS = 1_000
_MAX_LESSER_HEADINGS = 50
_SKIPPED = frozenset(("script", "style", "h1", "noscript", "template"))
_STRUCK = frozenset(("del", "s", "strike"))
_INLINE = frozenset(
    ("a", "b", "strong", "em", "i", "span", "time", "br", "small", "bdi", "font", "u", "sup", "del", "s", "ins")
)
_BUY = re.compile(
    r"add.?to.?(?:cart|basket|bag)|buy.?now|warenkorb|in den korb|ajouter.{0,6}panier|acheter|añadir.{0,8}(?:carrito"
    r"|cesta)|comprar|aggiungi.{0,6}carrello|acquista|adicionar.{0,8}carrinho|winkelwagen|köp\b|lägg i|kurv|do"
    r" koszyka|do košíku|kosárba|în coș|корзин|кошик|sepete|السلة|カート|加入购物车|加入購物車|立即购买|장바구니",
    re.I,
)

_ROOT = re.compile(r"/?|\./|https?://[^/]+/?|/?index\.\w+")
_HEAD = re.compile(
    r"(?:^|[\s_-])(?:logo|site-?title|site-?name|sitename|masthead|navbar|blog-?title)(?:$|[\s_-])"
    r"|^\s*(?:header|banner|top)\s*$",
    re.IGNORECASE,
)


class PageElements:
    """Elements outside menus, footers and related items, and the texts that follow the heading."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._repeated: dict[tuple[int, str | None, str], bool] = {}  # by parent, tag and class: are they list items

    @lazy_property
    def heading(self) -> LexborNode | None:
        """The h1 about the subject: outside menus and logos."""
        found = [node for node in self.page.tree.css("h1")[:20] if self.page.text_of(node) and not is_hidden(node)]
        inner = [node for node in found if not is_site_heading(node)]
        return next((node for node in (*(each for each in inner if not is_beside(each)), *inner, *found)), None) or (
            self._lesser_heading() if not found else None
        )

    def _lesser_heading(self) -> LexborNode | None:
        """Return, for a page without an h1, the heading that is a segment of the <title>."""
        title = self.page.title or ""
        for selector in ("h2, h3", "b, strong, big, [class*='title' i]"):
            found = [
                (len(text), node)
                for node in self.page.tree.css(selector)[:_MAX_LESSER_HEADINGS]
                if (text := self.page.text_of(node))
                and segment_equal(title, text)
                and not (is_beside(node) or is_site_heading(node))
            ]
            if found:
                return max(found, key=lambda each: each[0])[1]
        return None

    @lazy_property
    def sells(self) -> bool:
        """Whether something on the page can be bought."""
        for node in self.page.tree.css(
            "button, input[type=submit], input[type=button], form[action*=cart], a.btn, a.button, a[class*=cart],"
            " [class*=add-to-cart]"
        )[:200]:
            attributes = node.attributes
            named = " ".join(attributes.get(name) or "" for name in ("value", "class", "action", "name"))
            text = f"{self.page.text_of(node) or ''} {named}"
            if _BUY.search(text[:300]):
                return True
        return False

    def visible(self, selector: str) -> Iterator[LexborNode]:
        for node in self.page.tree.css(selector)[:_MAX_NODES]:
            if not is_beside(node):
                yield node

    def is_in_list(self, node: LexborNode) -> bool:
        """Return whether a node is in one of several items that each have a link and a price, or a linked heading."""
        above: LexborNode | None = node
        for _ in range(9):
            if above is None or above.parent is None or above.tag in ("body", "main", "form"):
                return False
            if self._is_repeated(above, above.parent):
                return True
            above = above.parent
        return False

    def _is_repeated(self, node: LexborNode, parent: LexborNode) -> bool:
        marks = node.attributes.get("class") or ""
        key = (parent.mem_id, node.tag, marks)
        is_item = self._repeated.get(key)
        if is_item is None:
            alike = (each for each in parent.iter() if each.tag == node.tag)
            first = list(islice((each for each in alike if (each.attributes.get("class") or "") == marks), 6))
            is_item = len(first) >= 3 and sum(1 for each in first if self._is_item(each)) >= 3
            self._repeated[key] = is_item
        return is_item

    def _is_item(self, node: LexborNode) -> bool:
        if node.css_first("h2 a[href], h3 a[href], h4 a[href], a[href] h2, a[href] h3, a[href] h4") is not None:
            return True
        if node.css_first("a[href]") is None:
            return False
        text = self.page.text_of(node) or ""
        return len(text) <= _MAX_ITEM_CHARS and bool(find_money(text))

    def texts_after_heading(self, limit: int) -> Iterator[str]:
        """Yield short texts that follow the heading in the document, outside menus."""
        if self.heading is None:
            return
        yield from self._texts[:limit]

    @lazy_property
    def _texts(self) -> list[str]:
        body = self.page.tree.body
        heading = self.heading
        if body is None or heading is None:
            return []
        texts: list[str] = []
        is_after = False
        for count, node in enumerate(body.traverse()):
            if count > _MAX_TRAVERSED or len(texts) >= _MAX_TEXTS:
                break
            if node.mem_id == heading.mem_id:
                is_after = True
            elif is_after and node.tag not in _SKIPPED and all((child.tag or "") in _INLINE for child in node.iter()):
                text = self.text_without_struck(node)
                if text and text not in texts[-1:] and self._is_about_subject(node):
                    texts.append(text)
        return texts

    def text_without_struck(self, node: LexborNode) -> str:
        text = self.page.text_of(node) or ""
        if node.tag in _STRUCK:
            return ""
        for struck in node.css("del, s, strike"):
            text = text.replace(self.page.text_of(struck) or "\0", " ", 1)
        return normalize_space(text) or ""

    def _is_about_subject(self, node: LexborNode) -> bool:
        return not (is_beside(node) or self._is_in_data_table(node) or self.is_in_list(node))

    def _is_in_data_table(self, node: LexborNode) -> bool:
        """Return whether a node is in a data table: a table around the heading is the layout of the page."""
        above = node.parent
        for _ in range(MAX_LEVELS):
            if above is None or above.mem_id in self._above_heading:
                return False
            if above.tag == "table":
                return True
            above = above.parent
        return False

    @lazy_property
    def _above_heading(self) -> frozenset[int]:
        found: list[int] = []
        above = self.heading
        while above is not None and len(found) < MAX_LEVELS:
            found.append(above.mem_id)
            above = above.parent
        return frozenset(found)


def describe(selector: str, node: LexborNode | None) -> str:
    if node is None:
        return selector[:30]
    classes = (node.attributes.get("class") or "").split()
    return f"{node.tag}.{classes[0]}" if classes else str(node.tag)


def is_site_heading(node: LexborNode) -> bool:
    """Return whether a heading names the site: in the logo, in the page header, or as a link to the home page."""
    link = node.css_first("a[href]")
    if link is not None and _ROOT.fullmatch(link.attributes.get("href") or ""):
        return True
    above: LexborNode | None = node
    for _ in range(6):
        if above is None or above.tag in ("body", "main", "article", "section"):
            return False
        if _HEAD.search(marks_of(above)):
            return True
        above = above.parent
    return False


def is_inside(node: LexborNode, tags: tuple[str, ...]) -> bool:
    above = node.parent
    for _ in range(MAX_LEVELS):
        if above is None:
            return False
        if above.tag in tags and not (above.tag in ("header", "footer") and _is_part(above.parent)):
            return True
        above = above.parent
    return False


def _is_part(node: LexborNode | None) -> bool:
    """Return whether the header and footer of an element belong to the subject of the page."""
    return node is not None and node.tag in ("article", "main", "section")
