"""Find the blocks of a page. Elements that are certainly not content get no block.

One pass over the elements notes in each block what reading its text needs: links, line breaks, and blocks inside.
"""

import re

from selectolax.lexbor import LexborNode

from corral.extract.lazy import lazy_property
from corral.extract.page import BLOCK_TAGS, SPECIAL_TAGS, UNSEEN_INLINE_WORDS, Page
from corral.extract.readable.blocks import HEADINGS, Block, word_set
from corral.extract.readable.inline import SKIPPED, is_unseen
from corral.extract.readable.names import Region, is_unseen_inline, name_of, region_of

_MAX_DEPTH = 120  # of nested blocks; anything deeper is read as one text
MAX_WRAPPERS = 30
_MAX_UNSEEN = 8
_FEW_CHARS = 400
_BLOCK, _LINK, _SPECIAL = 1, 2, 3
_KINDS = dict.fromkeys(BLOCK_TAGS, _BLOCK) | dict.fromkeys(SPECIAL_TAGS, _SPECIAL) | {"a": _LINK}
# Elements whose class and id are not checked: they do not tell the region, and there are many of them.
_UNNAMED = word_set("tr tbody thead tfoot td th li dt dd caption summary blockquote pre") | HEADINGS
_AROUND_TAGS = frozenset(("aside", "form"))
_MAIN_TAGS = frozenset(("article", "main"))
_NEVER_CONTENT = frozenset(("nav", "footer"))
_AROUND_ROLES = word_set(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar alert tablist tooltip"
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_Attributes = dict[str, str | None]
# Module constants: looking up members of an enumeration is slow, and there are many blocks.
_UNKNOWN, _AROUND, _COMMENTS, _DOUBTFUL = Region.UNKNOWN, Region.AROUND, Region.COMMENTS, Region.DOUBTFUL


class BlockScanner:
    """Scans a page for blocks. `is_strict` leaves out comments and everything named as outside the content."""

    def __init__(self, page: Page, *, is_strict: bool) -> None:
        self._page = page
        self._is_strict = is_strict
        self._regions: dict[str, Region] = {}
        self._names: dict[str, str] = {}  # by class attribute
        self.blocks: dict[int, Block | None] = {}  # by the id of the element; None for elements that are not read
        self.no_block = Block("", page.tree.root)  # type: ignore[arg-type]  # stands for elements without a block
        self.wrappers: set[int] = set()  # inline elements around blocks
        self.hints: list[Block] = []  # blocks that the page marks as its article or main part
        self._inside: dict[int, Block | None] = {}  # by the id of an inline element, the block around it
        self._counted: dict[int, float] = {}  # by the id of a link, the characters counted for it
        self._unseen_classes: dict[str, bool] = {}

    def scan(self, body: LexborNode) -> Block:
        """Open the blocks of the page and return the root. The loop runs for every element, so it must be fast."""
        root = Block("body", body)
        blocks = self.blocks
        blocks[body.mem_id] = root
        kind_of, block_of, no_block = _KINDS.get, blocks.get, self.no_block
        links = iter(self._page.link_attributes)
        for tag, node in self._page.outline:
            kind = kind_of(tag)
            if kind is None:
                continue
            attributes = next(links) if kind == _LINK else None
            above = node.parent
            parent = block_of(above.mem_id, no_block)  # type: ignore[union-attr]
            if parent is no_block:
                parent = self._climb(above, is_block=kind == _BLOCK)
            if kind == _BLOCK:
                blocks[node.mem_id] = None if parent is None else self._open(node, tag, parent)
            elif parent is None:
                continue
            elif attributes is not None:
                self._count_link(node, attributes, parent)
            else:
                parent.has_special = True
        self._mark_unseen_inline(body)
        return root

    def _climb(self, node: LexborNode | None, *, is_block: bool) -> Block | None:
        """Return the block around an inline element; None if that block is not read."""
        blocks, inside = self.blocks, self._inside
        climbed: list[LexborNode] = []
        block: Block | None = None
        while node is not None:
            key = node.mem_id
            if key in blocks:
                block = blocks[key]
                break
            if key in inside and (not is_block or key in self.wrappers):
                block = inside[key]
                break
            climbed.append(node)
            node = node.parent
        for each in climbed:
            inside[each.mem_id] = block
        if is_block and block is not None:
            self._wrap(climbed, block)
        return block

    def _wrap(self, inline: list[LexborNode], block: Block) -> None:
        """Register inline elements that hold blocks. Their blocks count the text of a link around them."""
        for each in inline:
            if each.tag not in SKIPPED:
                self.wrappers.add(each.mem_id)
            block.link_chars -= self._counted.pop(each.mem_id, 0.0)

    def _open(self, node: LexborNode, tag: str, parent: Block) -> Block | None:
        """Open a block; return None if the element is left out."""
        depth = parent.depth + 1
        if depth > _MAX_DEPTH:
            parent.has_special = False
            return parent
        parent.has_blocks = True
        if tag in _NEVER_CONTENT:
            return None
        block = Block(tag, node, depth)
        if parent.is_linked or (self.wrappers and self._is_in_link(node)):
            block.is_linked = True
        if tag in _UNNAMED:
            return block
        attributes = node.attributes
        if attributes:
            return block if self._may_be_read(block, attributes) else None
        if tag in _AROUND_TAGS:
            if self._is_strict and not self._may_be_content(node):
                return None
            block.region = _AROUND
        elif tag == "header":
            block.region = _DOUBTFUL
        elif tag in _MAIN_TAGS:
            self.hints.append(block)
        return block

    def _may_be_read(self, block: Block, attributes: _Attributes) -> bool:
        """Set the name and the region of a block from its attributes; return False if it is left out."""
        node, tag = block.node, block.tag
        class_name, element_id = attributes.get("class"), attributes.get("id")
        # Most elements have no other attributes.
        has_more = len(attributes) > (class_name is not None) + (element_id is not None)
        if has_more and self._is_unseen(node, attributes):
            return False
        if element_id:
            name = name_of(class_name, element_id)
        else:
            name = self._name(class_name) if class_name else ""
        block.name = name
        if tag in _AROUND_TAGS or (has_more and attributes.get("role") in _AROUND_ROLES):
            region = _AROUND
        elif name:
            region = self._region(name)
        else:
            region = _DOUBTFUL if tag == "header" else _UNKNOWN
        if region:
            block.region = region
            if region is not _DOUBTFUL and self._is_strict and not self._may_be_content(node):
                return False
        if tag in _MAIN_TAGS or (has_more and _is_marked_main(attributes)):
            self.hints.append(block)
        return True

    def _name(self, class_name: str) -> str:
        name = self._names.get(class_name)
        if name is None:
            name = self._names[class_name] = name_of(class_name, None)
        return name

    def _region(self, name: str) -> Region:
        region = self._regions.get(name)
        if region is None:
            region = self._regions[name] = region_of(name)
        return region

    def _is_in_link(self, node: LexborNode) -> bool:
        """Return whether an inline link is between an element and the block around it."""
        above = node.parent
        for _ in range(MAX_WRAPPERS):
            if above is None or above.mem_id not in self.wrappers:
                return False
            if above.tag == "a" and above.attributes.get("href"):
                return True
            above = above.parent
        return False

    def _is_unseen(self, node: LexborNode, attributes: _Attributes) -> bool:
        style = attributes.get("style")
        if "hidden" in attributes or attributes.get("aria-hidden") == "true" or (style and _HIDDEN_STYLE.search(style)):
            return not self._holds_most(node)
        return False

    def _may_be_content(self, node: LexborNode) -> bool:
        """Return whether an element is content despite its name: it holds the headline and most of the paragraphs."""
        around = self._around_headlines
        return (not around or node.mem_id in around) and self._holds_most(node)

    @lazy_property
    def _around_headlines(self) -> set[int]:
        """The ids of the elements around a headline. They are few; searching below every element would take longer."""
        found: set[int] = set()
        for node in self._page.elements("h1"):
            above: LexborNode | None = node
            while above is not None and above.mem_id not in found:
                found.add(above.mem_id)
                above = above.parent
        return found

    def _holds_most(self, node: LexborNode) -> bool:
        if len(node.text(deep=True)) < _FEW_CHARS:
            return False
        total, selector = self._paragraphs
        inside = sum(len(each.text(deep=True)) for each in node.css(selector)) if selector else _visible_chars(node)
        return inside > total / 2

    @lazy_property
    def _paragraphs(self) -> tuple[int, str]:
        """The number of characters in paragraphs, and their selector; if they are few, of all text, and no selector."""
        body = self._page.tree.body
        if body is None:
            return 0, ""
        chars = sum(len(each.text(deep=True)) for each in self._page.elements("p"))
        visible = _visible_chars(body)
        return (chars, "p") if chars > max(_FEW_CHARS, 0.3 * visible) else (visible, "")

    def _count_link(self, node: LexborNode, attributes: _Attributes, parent: Block) -> None:
        class_name = attributes.get("class")
        if class_name and self._is_unseen_class(class_name):
            if len(parent.unseen) < _MAX_UNSEEN:
                parent.unseen += (node.text(deep=True),)
            else:
                parent.has_special = True
            return
        href = attributes.get("href")
        if href and href[0] != "#":
            # Documentation generators link names to their definitions by relative references in every sentence, so
            # relative links are weaker evidence of navigation.
            weight = 1.0 if href[0] == "/" or ":" in href[:12] else 0.5
            self._counted[node.mem_id] = chars = weight * len(node.text(deep=True).strip())
            parent.link_chars += chars

    def _is_unseen_class(self, class_name: str) -> bool:
        is_hidden = self._unseen_classes.get(class_name)
        if is_hidden is None:
            is_hidden = self._unseen_classes[class_name] = is_unseen_inline(class_name)
        return is_hidden

    def _mark_unseen_inline(self, body: LexborNode) -> None:
        page = self._page
        if page.mentioned.isdisjoint(UNSEEN_INLINE_WORDS) and not (
            b"hidden" in page.mentioned and b"<span hidden" in page.source
        ):
            return
        for node in body.css("span, i, em, sup, small"):
            attributes = node.attributes
            if attributes and is_unseen(attributes):
                block = self._climb(node, is_block=False)
                if block is not None:
                    block.has_special = True


def _visible_chars(node: LexborNode) -> int:
    hidden = sum(len(each.text(deep=True)) for each in node.css("script, style, noscript"))
    return len(node.text(deep=True)) - hidden


def _is_marked_main(attributes: _Attributes) -> bool:
    return attributes.get("role") == "main" or attributes.get("itemprop") in ("articleBody", "articlebody")
