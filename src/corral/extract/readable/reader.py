"""Read the text of the blocks of a page, for whole elements at once where possible: the parser does that fastest."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.readable.blocks import GONE, Block, set_text
from corral.extract.readable.inline import BREAK, SKIPPED, InlineReader
from corral.extract.readable.names import Region
from corral.extract.readable.scan import MAX_WRAPPERS, BlockScanner

_MANY_LINKS = 0.33
_RAW = frozenset(("pre", "listing", "xmp", "plaintext"))
_PARAGRAPHS = re.compile(r"\n{2,}")


class BlockReader:
    """Reads the blocks of a page. `is_strict` leaves out comments and everything named as outside the content."""

    def __init__(self, page: Page, *, is_strict: bool = True) -> None:
        self._page = page
        self._is_strict = is_strict
        self._scanner = BlockScanner(page, is_strict=is_strict)
        self._blocks = self._scanner.blocks
        self._wrappers = self._scanner.wrappers
        self._inline = InlineReader()
        self.hints: list[Block] = []  # blocks that the page marks as its article or main part

    def read(self) -> Block | None:
        body = self._page.tree.body
        if body is None:
            return None
        root = self._scanner.scan(body)
        self._finish(root)
        self.hints = [hint for hint in self._scanner.hints if hint.chars]
        return root

    def _finish(self, block: Block) -> bool:
        """Read the text of a block; return False if it has neither text nor an image."""
        if block.has_blocks and block.tag not in _RAW:
            block.kids = []
            is_slow = block.has_special or block.link_chars > 0 or bool(block.unseen)
            self._read_kids(block, block.node, is_slow=is_slow)
            _collapse(block)
        else:
            self._read_leaf(block)
        if not block.chars:
            return block.kids is None and block.tag != GONE and _has_picture(block)
        if block.region and not self._is_content(block):
            block.tag, block.kids, block.text, block.chars, block.good = GONE, None, "", 0, 0.0
            block.link_chars = 0.0
        return True

    def _is_content(self, block: Block) -> bool:
        """Decide by its text whether a block with a doubtful name is content."""
        if block.region == Region.DOUBTFUL:
            if not self._is_strict or (block.good and block.link_density <= _MANY_LINKS):
                return True
            return any(leaf.tag == "h1" for leaf in block.leaves())
        return self._is_strict or block.link_density <= _MANY_LINKS

    def _read_leaf(self, block: Block) -> None:
        if block.tag in _RAW:
            block.tag = "pre"
            set_text(block, block.node.text(deep=True).strip("\n").rstrip(), 0)
            return
        if not block.has_special:
            raw = block.node.text(deep=True)
            for unseen in block.unseen:
                start = raw.rfind(unseen)
                raw = raw[:start] + raw[start + len(unseen) :]
            text = " ".join(raw.split())
            set_text(block, text, len(text) if block.is_linked else block.link_chars)
            return
        pieces, link_chars = self._inline.read_kids(block.node)
        block.kids = []
        block.link_chars = 0.0
        _add_run(block, pieces, link_chars, [])
        _collapse(block)

    def _read_kids(self, block: Block, node: LexborNode, *, is_slow: bool, depth: int = 0) -> None:
        """Add the blocks inside an element, and the text between them, to a container."""
        pieces: list[str] = []
        nodes: list[LexborNode] = []
        link_chars = 0.0
        kids: list[Block] = block.kids  # type: ignore[assignment]
        block_of, no_block, wrappers = self._blocks.get, self._scanner.no_block, self._wrappers
        for child in node.iter(include_text=True):
            if child.is_text_node:
                text = child.text_content or ""
                if pieces or not text.isspace():
                    pieces.append(text)
                    nodes.append(child)
                continue
            kid = block_of(child.mem_id, no_block)
            if kid is no_block and child.mem_id not in wrappers:
                link_chars += self._read_inline(child, pieces, nodes, is_slow=is_slow)
                continue
            if nodes:
                _add_run(block, pieces, link_chars, nodes)
                pieces, nodes, link_chars = [], [], 0.0
            if kid is None:
                kids.append(Block(GONE, child))
            elif kid is no_block:
                self._read_wrapper(block, child, depth + 1)
            elif kid is not block and self._finish(kid):
                kids.append(kid)
        if nodes:
            _add_run(block, pieces, link_chars, nodes)

    def _read_inline(self, node: LexborNode, pieces: list[str], nodes: list[LexborNode], *, is_slow: bool) -> float:
        """Add the text of an inline element to a run of text; return how many of its characters are links."""
        tag = node.tag
        if tag in SKIPPED:
            return 0.0
        nodes.append(node)
        if tag == "br":
            pieces.append(BREAK)
        elif is_slow:
            more, link_chars = self._inline.read(node)
            pieces.extend(more)
            return link_chars
        else:
            pieces.append(node.text(deep=True))
        return 0.0

    def _read_wrapper(self, block: Block, node: LexborNode, depth: int) -> None:
        """Add the blocks inside an inline element to the container around it."""
        if depth <= MAX_WRAPPERS:
            self._read_kids(block, node, is_slow=True, depth=depth)
        else:
            _add_run(block, [node.text(deep=True, separator=" ")], 0.0, [node])


def _add_run(block: Block, pieces: list[str], link_chars: float, nodes: list[LexborNode]) -> None:
    """Add the paragraphs of a run of text, which are separated by two line breaks, to a container."""
    raw = "".join(pieces)
    if BREAK not in raw:
        paragraphs = [" ".join(raw.split())]
    else:
        lines = [" ".join(line.split()) for line in raw.split(BREAK)]
        paragraphs = [each for each in _PARAGRAPHS.split("\n".join(lines).strip("\n")) if each]
    total = sum(map(len, paragraphs))
    for index, paragraph in enumerate(paragraphs):
        if not paragraph and not any(node.tag in ("img", "picture") for node in nodes):
            continue
        leaf = Block("", block.node)
        leaf.inline = nodes if index == 0 else []
        share = 1.0 if block.is_linked else min(1.0, link_chars / total if total else 0.0)
        set_text(leaf, paragraph, share * len(paragraph))
        block.kids.append(leaf)  # type: ignore[union-attr]


def _collapse(block: Block) -> None:
    """Turn a container with nothing but one text into a leaf."""
    kids = block.kids
    if kids is not None and len(kids) == 1 and not kids[0].tag:
        leaf = kids[0]
        block.kids, block.inline = None, leaf.inline or None
        set_text(block, leaf.text, leaf.link_chars if leaf.text.isascii() else leaf.link_density * len(leaf.text))
    else:
        block.add_up()


def _has_picture(block: Block) -> bool:
    node = block.node
    return node.first_child is not None and node.css_first("img") is not None
