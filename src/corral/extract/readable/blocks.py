"""The blocks of a page: a light tree of its paragraphs, headings, lists and tables, with their sizes."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


GONE = "-gone"  # tag of a block that replaces removed content
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# A text of this length is a paragraph; shorter ones without an end of sentence are labels, menus or buttons.
LONG_CHARS = 80
_SHORT_CHARS = 25
_SENTENCE_ENDS = ".!?:;…。！？؟।።»”\"'"
_CLOSERS = "\"'”’»)]"
# Below one space per 15 characters, a text is in a script without spaces between words (Chinese, Japanese, Thai).
_CHARS_PER_SPACE = 15
_DENSE_SCRIPT = 2.5  # one character of such a script carries as much text as this many Latin letters
_MAX_LINKED = 0.5


class Block:
    """A container of blocks, or a leaf with text. `kids` is None for a leaf."""

    # Slots: a page has hundreds of blocks, and each attribute is read several times.
    __slots__ = (
        *("tag", "node", "depth", "kids", "inline", "text", "chars", "link_chars", "good", "name", "region"),
        *("is_linked", "has_blocks", "has_special", "unseen"),
    )

    def __init__(self, tag: str, node: LexborNode, depth: int = 0) -> None:
        self.tag = tag
        self.node = node
        self.depth = depth
        self.kids: list[Block] | None = None
        self.inline: list[LexborNode] | None = None  # the nodes of a leaf, if it is only a part of `node`
        self.text = self.name = ""  # the name is class and id in lower case
        self.chars = self.region = 0
        self.link_chars = 0.0
        self.good = 0.0  # characters in sentences, which distinguish content from menus
        self.is_linked = False  # inside a link
        self.has_blocks = False
        self.has_special = False  # it has line breaks, or inline elements that are not displayed
        self.unseen: tuple[str, ...] = ()  # texts of links that readers do not see, such as "¶"

    @property
    def link_density(self) -> float:
        return self.link_chars / self.chars if self.chars else 0.0

    def add_up(self) -> None:
        """Set the sizes of a container from its kids."""
        chars, link_chars, good = 0, 0.0, 0.0
        for kid in self.kids or ():
            chars += kid.chars
            link_chars += kid.link_chars
            good += kid.good
        self.chars, self.link_chars, self.good = chars, link_chars, good

    def collect_leaves(self, found: list[Block]) -> None:
        """Add all leaves to a list. Faster than `leaves`, which can stop after the first of them."""
        for kid in self.kids or ():
            if kid.kids is None:
                found.append(kid)
            else:
                kid.collect_leaves(found)

    def leaves(self) -> Iterator[Block]:
        stack = [self]
        while stack:
            block = stack.pop()
            if block.kids is None:
                yield block
            else:
                stack.extend(reversed(block.kids))


def set_text(leaf: Block, text: str, link_chars: float) -> None:
    leaf.text = text
    size = len(text)
    if not text.isascii() and text.count(" ") * _CHARS_PER_SPACE < size:
        size, link_chars = int(size * _DENSE_SCRIPT), link_chars * _DENSE_SCRIPT
    leaf.chars, leaf.link_chars = size, link_chars
    if size < _SHORT_CHARS or link_chars >= size * _MAX_LINKED or leaf.tag in HEADINGS:
        leaf.good = float(size) if leaf.tag == "pre" else 0.0
    elif size >= LONG_CHARS or leaf.tag == "pre" or _is_sentence(text):
        leaf.good = size - link_chars


def _is_sentence(text: str) -> bool:
    return text[-1:] in _SENTENCE_ENDS or text.rstrip(_CLOSERS)[-1:] in _SENTENCE_ENDS
