"""Choose the main part among the blocks of a page."""

from corral.extract.readable.blocks import HEADINGS, Block

_MIN_HINT = 0.4  # of the sentences of the page
_DOMINANT = 0.6  # of the sentences of an element: the others are beside it
_SMALL_PART = 0.15
_MOST = 0.85
_MIN_MANY = 2
_LONG = 80
_LINKED = 0.35


def choose_main(root: Block, hints: list[Block]) -> Block:
    """The smallest element that holds the content: sections side by side belong together.

    Go down from the page, or from what it marks as its main part, as long as one element has nearly all sentences and
    nothing beside it reads like content.
    """
    block = start_of(root, hints)
    is_marked = block is not root
    while True:
        best = _dominant_kid(block, is_marked=is_marked)
        if best is None:
            return block
        block = best


def start_of(root: Block, hints: list[Block]) -> Block:
    best = root
    for hint in _single(hints):
        if hint.good >= _MIN_HINT * root.good and hint.chars and (best is root or _is_better(hint, best)):
            best = hint
    return best


def _single(hints: list[Block]) -> list[Block]:
    """Without articles that are one of many of their kind: these are items of a list."""
    articles = [hint for hint in hints if hint.tag == "article"]
    if len(articles) < _MIN_MANY:
        return hints
    by_name: dict[str, list[float]] = {}
    for each in articles:
        by_name.setdefault(each.name, []).append(each.good)
    many = {name for name, sizes in by_name.items() if len(sizes) > 1 and max(sizes) < _MOST * sum(sizes)}
    return [hint for hint in hints if hint.tag != "article" or hint.name not in many]


def _is_better(hint: Block, other: Block) -> bool:
    """The inner one of two that hold about the same; else the one with more sentences."""
    return (
        hint.good > other.good if abs(hint.good - other.good) > _SMALL_PART * other.good else hint.chars < other.chars
    )


def _dominant_kid(block: Block, *, is_marked: bool) -> Block | None:
    kids = block.kids
    if not kids or block.tag in ("ul", "ol", "dl", "table", "blockquote"):
        return None
    best = max(kids, key=lambda kid: kid.good)
    if best.kids is None or not best.good or best.good < _DOMINANT * block.good:
        return None
    if best.tag in ("ul", "ol", "dl", "blockquote"):
        return None
    return None if any(kid is not best and _belongs(kid, best, block, is_marked=is_marked) for kid in kids) else best


def _belongs(kid: Block, best: Block, block: Block, *, is_marked: bool) -> bool:
    """True if a block beside the best one is content, too."""
    density = kid.link_density
    if density > _LINKED:
        return False
    if kid.kids is None:
        return kid.tag == "pre" or (kid.tag not in HEADINGS and kid.good >= _LONG)
    if kid.good >= _SMALL_PART * block.good:
        return True
    if is_marked and kid.tag == best.tag == "section":
        return kid.good >= _LONG
    return kid.tag == best.tag and kid.name == best.name and kid.good >= _LONG


def find_lead(root: Block, main: Block) -> list[Block]:
    """Sentences between the headline and the main part: the introduction of an article."""
    first = next(main.leaves(), None)
    if first is None or first.tag == "h1":
        return []
    lead: list[Block] = []
    has_title = False
    for leaf in root.leaves():
        if leaf is first:
            return lead if has_title else []
        if leaf.tag == "h1":
            has_title, lead = True, []
        elif leaf.good >= _LONG and leaf.link_density < _LINKED / 2:
            lead.append(leaf)
    return []
