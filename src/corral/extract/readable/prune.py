"""Remove from the main part what is not content: lists of links, teasers, and headings without content."""

from corral.extract.readable.blocks import GONE, HEADINGS, Block

_LINKED = 0.5  # above this link density, links are the content of the page
_MOSTLY_LINKS = 0.6
_ALL_LINK = 0.9
_FEW_SENTENCES = 0.2
_SMALL_PART = 0.3
_CARD_CHARS = 600
_MIN_HEADING_CHARS = 8
_LABEL_CHARS = 60
_MAX_LAST = 2  # headings at the end of the page; more of them are a list
_NO_HEADING = 9


def prune(main: Block) -> None:
    """Remove lists of links from the blocks, unless links are the content of the page."""
    if main.link_density > _LINKED:
        return
    _prune_block(main, main.chars)
    leaves: list[Block] = []
    main.collect_leaves(leaves)
    removed = _headings_of_nothing(leaves) if main.good else set()
    if removed or any(leaf.tag == GONE for leaf in leaves):
        _drop(main, removed)


def _prune_block(block: Block, total: int) -> None:
    kids = block.kids or []
    for index, kid in enumerate(kids):
        if not kid.link_chars:  # without links there is nothing to remove
            continue
        if _is_pointer(kid) if kid.kids is None else _is_removable(kid, total):
            kids[index] = Block(GONE, kid.node)
        elif kid.kids is not None:
            _prune_block(kid, total)


def _is_pointer(leaf: Block) -> bool:
    """Return whether a leaf is a paragraph with nothing but a link."""
    return leaf.link_chars > _ALL_LINK * leaf.chars and leaf.tag in ("p", "", "div", "blockquote")


def _is_removable(block: Block, total: int) -> bool:
    return block.chars < _SMALL_PART * total and (_is_link_list(block) or _is_card(block))


def _is_link_list(block: Block) -> bool:
    return block.link_density > _MOSTLY_LINKS and block.good < _FEW_SENTENCES * block.chars


def _is_card(block: Block) -> bool:
    """Return whether a block is a teaser: all its headings are links."""
    if block.chars > _CARD_CHARS or not block.link_chars:
        return False
    if block.link_chars < _MIN_HEADING_CHARS:
        return False
    headings = [leaf for leaf in block.leaves() if leaf.tag in HEADINGS]
    return bool(headings) and all(leaf.link_chars > _ALL_LINK * leaf.chars for leaf in headings)


def _headings_of_nothing(leaves: list[Block]) -> set[int]:
    """Return the ids of headings and labels ("Read also:") whose content was removed."""
    found: set[int] = set()
    has_content, has_removed, is_end, below = False, False, True, _NO_HEADING
    is_next_removed = False
    for leaf in reversed(leaves):
        if leaf.tag == GONE:
            has_removed = is_next_removed = True
            continue
        if leaf.tag in HEADINGS:
            level = int(leaf.tag[1])
            is_last = is_end and len(found) < _MAX_LAST
            if not has_content and below <= level and (has_removed or is_last):
                found.add(id(leaf))
                continue
            below, has_content, has_removed = level, False, False
        elif is_next_removed and leaf.chars < _LABEL_CHARS and leaf.text.endswith((":", "：")):
            found.add(id(leaf))
            continue
        elif leaf.chars:
            has_content, is_end, below = True, False, _NO_HEADING
        is_next_removed = False
    return found


def _drop(block: Block, removed: set[int]) -> None:
    kids = block.kids
    if kids is None:
        return
    for kid in kids:
        if kid.kids is not None:
            _drop(kid, removed)
    block.kids = [kid for kid in kids if kid.tag != GONE and id(kid) not in removed]
