"""Read the tree of a page into blocks. What is surely around the content is not read.

One pass over the elements finds the blocks; text is taken from whole elements, which the parser gives at once.
"""

import re
from functools import cached_property

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.readable.blocks import GONE, HEADINGS, Block, set_text, word_set
from corral.extract.readable.inline import BREAK, SKIPPED, InlineReader, is_unseen
from corral.extract.readable.names import UNSEEN_INLINE_WORDS, Place, is_unseen_inline, name_of, place_of

_MAX_DEPTH = 120  # of blocks in blocks; what is deeper is one text
_MAX_WRAPPERS = 30
_MAX_UNSEEN = 8
_FEW_CHARS = 400
_MANY_LINKS = 0.33
_BLOCK, _LINK, _SPECIAL = 1, 2, 3
_KINDS: dict[str, int] = {
    **dict.fromkeys(
        word_set(
            "address article aside blockquote center dd details dir div dl dt fieldset figcaption figure footer form h1"
            " h2 h3 h4 h5 h6 header hgroup li main menu nav ol p pre section summary table caption tbody thead tfoot tr"
            " td th ul listing xmp plaintext search"
        ),
        _BLOCK,
    ),
    "a": _LINK,
    **dict.fromkeys(
        word_set("br hr script style noscript svg button select textarea video audio object math iframe dialog q"),
        _SPECIAL,
    ),
}
_RAW = frozenset(("pre", "listing", "xmp", "plaintext"))
# Their names say nothing of their place, and there are many of them.
_UNNAMED = word_set("tr tbody thead tfoot td th li dt dd caption summary blockquote pre") | HEADINGS
_AROUND_TAGS = frozenset(("aside", "form"))
_NEVER_CONTENT = frozenset(("nav", "footer"))
_AROUND_ROLES = word_set(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar alert tablist tooltip"
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_PARAGRAPHS = re.compile(r"\n{2,}")
_Attributes = dict[str, str | None]


class BlockReader:
    """`is_strict` leaves out what is named as around the content, and the comments of readers."""

    def __init__(self, page: Page, *, is_strict: bool = True) -> None:
        self._page = page
        self._is_strict = is_strict
        self._places: dict[str, Place] = {}
        self._blocks: dict[int, Block | None] = {}  # by the id of the element; None for what is not read
        self._inside: dict[int, Block | None] = {}  # by the id of an inline element: the block around it
        self._wrappers: set[int] = set()  # inline elements around blocks
        self._counted: dict[int, float] = {}  # characters of each link that were counted
        self._unseen_classes: dict[str, bool] = {}
        self._inline = InlineReader()
        self.hints: list[Block] = []  # what the page marks as its article or main part

    def read(self) -> Block | None:
        body = self._page.tree.body
        if body is None:
            return None
        root = Block("body", body)
        self._scan(body, root)
        self._mark_unseen_inline(body)
        self._finish(root)
        self.hints = [hint for hint in self.hints if hint.chars]
        return root

    def _scan(self, body: LexborNode, root: Block) -> None:
        """Open a block for every element that is one. Runs for each element of the page: nothing here is idle."""
        blocks = self._blocks
        blocks[body.mem_id] = root
        kind_of = _KINDS.get
        for node in body.traverse():
            tag = node.tag or ""
            kind = kind_of(tag)
            if kind is None:
                continue
            above = node.parent
            try:
                parent = blocks[above.mem_id]  # type: ignore[union-attr]
            except KeyError:
                parent = self._climb(above, is_block=kind == _BLOCK)
            if kind == _BLOCK:
                blocks[node.mem_id] = None if parent is None else self._open(node, tag, parent)
            elif parent is None:
                continue
            elif kind == _SPECIAL:
                parent.has_special = True
            else:
                self._count_link(node, parent)

    def _climb(self, node: LexborNode | None, *, is_block: bool) -> Block | None:
        """The block around an inline element; None if that is not read."""
        blocks, inside = self._blocks, self._inside
        climbed: list[LexborNode] = []
        block: Block | None = None
        while node is not None:
            key = node.mem_id
            if key in blocks:
                block = blocks[key]
                break
            if key in inside and (not is_block or key in self._wrappers):
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
        """Note inline elements that hold blocks. The text of a link around blocks is counted with these."""
        for each in inline:
            self._wrappers.add(each.mem_id)
            block.link_chars -= self._counted.pop(each.mem_id, 0.0)

    def _open(self, node: LexborNode, tag: str, parent: Block) -> Block | None:
        """Begin a block; None if it is left out."""
        depth = parent.depth + 1
        if depth > _MAX_DEPTH:
            parent.has_special = False
            return parent
        if tag in _NEVER_CONTENT:
            parent.has_blocks = True
            return None
        parent.has_blocks = True
        block = Block(tag, node, depth)
        if parent.is_linked or (self._wrappers and self._is_in_link(node)):
            block.is_linked = True
        if tag in _UNNAMED:
            return block
        attributes = node.attributes
        if attributes:
            return block if self._may_be_read(block, attributes) else None
        if tag in _AROUND_TAGS:
            if self._is_strict and not self._may_be_content(node):
                return None
            block.place = Place.AROUND
        elif tag == "header":
            block.place = Place.DOUBTFUL
        elif tag in ("article", "main"):
            self.hints.append(block)
        return block

    def _may_be_read(self, block: Block, attributes: _Attributes) -> bool:
        """Judge a block by its attributes."""
        node, tag = block.node, block.tag
        if self._is_unseen(node, attributes):
            return False
        block.name = name_of(attributes.get("class"), attributes.get("id"))
        block.place = place = self._place(tag, block.name, attributes)
        if place in (Place.AROUND, Place.COMMENTS) and self._is_strict and not self._may_be_content(node):
            return False
        if tag in ("article", "main") or _is_marked_main(attributes):
            self.hints.append(block)
        return True

    def _is_in_link(self, node: LexborNode) -> bool:
        """True if an inline link stands between an element and the block around it."""
        above = node.parent
        for _ in range(_MAX_WRAPPERS):
            if above is None or above.mem_id not in self._wrappers:
                return False
            if above.tag == "a" and above.attributes.get("href"):
                return True
            above = above.parent
        return False

    def _place(self, tag: str, name: str, attributes: _Attributes) -> Place:
        if tag in _AROUND_TAGS or attributes.get("role") in _AROUND_ROLES:
            return Place.AROUND
        if not name:
            return Place.DOUBTFUL if tag == "header" else Place.UNKNOWN
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = place_of(name)
        return place

    def _is_unseen(self, node: LexborNode, attributes: _Attributes) -> bool:
        style = attributes.get("style")
        if "hidden" in attributes or attributes.get("aria-hidden") == "true" or (style and _HIDDEN_STYLE.search(style)):
            return not self._holds_most(node)
        return False

    def _may_be_content(self, node: LexborNode) -> bool:
        """True if the name of an element must be wrong: it holds the headline, and most of the paragraphs."""
        if self._has_headline and node.css_first("h1") is None:
            return False
        return self._holds_most(node)

    @cached_property
    def _has_headline(self) -> bool:
        return self._page.tree.css_first("body h1") is not None

    def _holds_most(self, node: LexborNode) -> bool:
        if len(node.text(deep=True)) < _FEW_CHARS:
            return False
        most, selector = self._paragraphs
        inside = sum(len(each.text(deep=True)) for each in node.css(selector)) if selector else _visible_chars(node)
        return inside > most / 2

    @cached_property
    def _paragraphs(self) -> tuple[int, str]:
        """How many characters stand in paragraphs, and their selector; where these are few, all text of the page."""
        body = self._page.tree.body
        if body is None:
            return 0, ""
        chars = sum(len(each.text(deep=True)) for each in body.css("p"))
        visible = _visible_chars(body)
        return (chars, "p") if chars > max(_FEW_CHARS, 0.3 * visible) else (visible, "")

    def _count_link(self, node: LexborNode, parent: Block) -> None:
        attributes = node.attributes
        class_name = attributes.get("class")
        text = node.text(deep=True)
        if class_name and self._is_unseen_class(class_name):
            if len(parent.unseen) < _MAX_UNSEEN:
                parent.unseen += (text,)
            else:
                parent.has_special = True
            return
        href = attributes.get("href")
        if href and href[0] != "#":
            # Generators of documentation link names to their definitions by relative references, in every sentence:
            # these speak less for navigation.
            weight = 1.0 if href[0] == "/" or ":" in href[:12] else 0.5
            self._counted[node.mem_id] = chars = weight * len(text.strip())
            parent.link_chars += chars

    def _is_unseen_class(self, class_name: str) -> bool:
        known = self._unseen_classes.get(class_name)
        if known is None:
            known = self._unseen_classes[class_name] = is_unseen_inline(class_name)
        return known

    def _mark_unseen_inline(self, body: LexborNode) -> None:
        source = self._page.source
        if not any(word in source for word in UNSEEN_INLINE_WORDS):
            return
        for node in body.css("span, i, em, sup, small"):
            attributes = node.attributes
            if attributes and is_unseen(attributes):
                block = self._climb(node, is_block=False)
                if block is not None:
                    block.has_special = True

    def _finish(self, block: Block) -> bool:
        """Read the text of a block. False if nothing of it is content."""
        if block.tag in _RAW:
            block.tag = "pre"
            set_text(block, block.node.text(deep=True).strip("\n").rstrip(), 0)
        elif block.has_blocks:
            block.kids = []
            own_links = block.link_chars > 0
            self._read_kids(block, block.node, is_slow=block.has_special or own_links or bool(block.unseen))
            self._collapse(block)
        else:
            self._read_leaf(block)
        if not block.chars:
            return block.kids is None and block.tag != GONE and _has_picture(block)
        if block.place and not self._is_content(block):
            block.tag, block.kids, block.text, block.chars, block.good = GONE, None, "", 0, 0.0
            block.link_chars = 0.0
        return True

    def _is_content(self, block: Block) -> bool:
        """Judge a block with a doubtful name by its text."""
        if block.place == Place.DOUBTFUL:
            if not self._is_strict or (block.good and block.link_density <= _MANY_LINKS):
                return True
            return any(leaf.tag == "h1" for leaf in block.leaves())
        return self._is_strict or block.link_density <= _MANY_LINKS

    def _read_leaf(self, block: Block) -> None:
        node = block.node
        if not block.has_special:
            raw = node.text(deep=True)
            for unseen in block.unseen:
                at = raw.rfind(unseen)
                raw = raw[:at] + raw[at + len(unseen) :]
            text = " ".join(raw.split())
            set_text(block, text, len(text) if block.is_linked else block.link_chars)
            return
        pieces, link_chars = self._inline.read_kids(node)
        block.kids = []
        block.link_chars = 0.0
        self._add_run(block, pieces, link_chars, [])
        self._collapse(block)

    def _read_kids(self, block: Block, node: LexborNode, *, is_slow: bool, depth: int = 0) -> None:
        """Add the blocks in an element to a container, and the text between them."""
        pieces: list[str] = []
        nodes: list[LexborNode] = []
        link_chars = 0.0
        blocks = self._blocks
        for child in node.iter(include_text=True):
            name = child.tag or ""
            if name == "-text":
                text = child.text_content or ""
                if pieces or not text.isspace():
                    pieces.append(text)
                    nodes.append(child)
                continue
            if name == "br":
                pieces.append(BREAK)
            elif name in SKIPPED:
                continue
            elif child.mem_id in blocks or child.mem_id in self._wrappers:
                if nodes:
                    self._add_run(block, pieces, link_chars, nodes)
                    pieces, nodes, link_chars = [], [], 0.0
                self._add_kid(block, child, depth)
                continue
            elif is_slow:
                more, chars = self._inline.read(child)
                pieces.extend(more)
                link_chars += chars
            else:
                pieces.append(child.text(deep=True))
            nodes.append(child)
        if nodes:
            self._add_run(block, pieces, link_chars, nodes)

    def _add_kid(self, block: Block, node: LexborNode, depth: int) -> None:
        if node.mem_id in self._wrappers:
            if depth < _MAX_WRAPPERS:
                self._read_kids(block, node, is_slow=True, depth=depth + 1)
            else:
                self._add_run(block, [node.text(deep=True, separator=" ")], 0.0, [node])
            return
        kid = self._blocks[node.mem_id]
        if kid is None:
            block.kids.append(Block(GONE, node))  # type: ignore[union-attr]
        elif kid is not block and self._finish(kid):
            block.kids.append(kid)  # type: ignore[union-attr]

    def _add_run(self, block: Block, pieces: list[str], link_chars: float, nodes: list[LexborNode]) -> None:
        """Add the paragraphs of a run of text to a container: two line breaks in a row part them."""
        raw = "".join(pieces)
        if BREAK not in raw:
            paragraphs = [" ".join(raw.split())]
        else:
            lines = [" ".join(line.split()) for line in raw.split(BREAK)]
            paragraphs = [each for each in _PARAGRAPHS.split("\n".join(lines).strip("\n")) if each]
        total = sum(map(len, paragraphs))
        for at, paragraph in enumerate(paragraphs):
            if not paragraph and not any(node.tag in ("img", "picture") for node in nodes):
                continue
            leaf = Block("", block.node)
            leaf.inline = nodes if at == 0 else []
            share = 1.0 if block.is_linked else min(1.0, link_chars / total if total else 0.0)
            set_text(leaf, paragraph, share * len(paragraph))
            block.kids.append(leaf)  # type: ignore[union-attr]

    def _collapse(self, block: Block) -> None:
        """Make a container with nothing but one text a leaf."""
        kids = block.kids
        if kids is not None and len(kids) == 1 and not kids[0].tag:
            leaf = kids[0]
            block.kids, block.inline = None, leaf.inline or None
            set_text(block, leaf.text, leaf.link_chars if leaf.text.isascii() else leaf.link_density * len(leaf.text))
        else:
            block.add_up()


def _visible_chars(node: LexborNode) -> int:
    hidden = sum(len(each.text(deep=True)) for each in node.css("script, style, noscript"))
    return len(node.text(deep=True)) - hidden


def _has_picture(block: Block) -> bool:
    return block.node.css_first("img") is not None


def _is_marked_main(attributes: _Attributes) -> bool:
    return attributes.get("role") == "main" or attributes.get("itemprop") in ("articleBody", "articlebody")
