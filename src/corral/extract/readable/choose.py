"""Choose the main part among the blocks of a page."""

from corral.extract.readable.blocks import HEADINGS, Block

_MIN_HINT = 0.4  # minimum share of the page's sentences
_DOMINANT = 0.6  # minimum share of the parent's sentences
_SMALL_PART = 0.15
_MAX_SHARE = 0.85
_MIN_MANY = 2
_LONG = 80
_LINKED = 0.35


def choose_main(root: Block, hints: list[Block]) -> Block:
    """Return the smallest block that holds the content.

    Descend from the page, or from what it marks as its main part, as long as one child has nearly all sentences and
    no sibling of it reads like content: sections side by side belong together.
    """
    block = start_of(root, hints)
    is_marked = block is not root
    while True:
        best = _dominant_kid(block, is_marked=is_marked)
        if best is None:
            return block
        block = best


def start_of(root: Block, hints: list[Block]) -> Block:
    """Return the best of the blocks that the page marks as its main part; the root if none has enough sentences."""
    best = root
    for hint in _single(hints):
        if hint.good >= _MIN_HINT * root.good and hint.chars and (best is root or _is_better(hint, best)):
            best = hint
    return best


def _single(hints: list[Block]) -> list[Block]:
    """Return the hints without articles that share a name with others: these are items of a list."""
    articles = [hint for hint in hints if hint.tag == "article"]
    if len(articles) < _MIN_MANY:
        return hints
    by_name: dict[str, list[float]] = {}
    for article in articles:
        by_name.setdefault(article.name, []).append(article.good)
    many = {name for name, sizes in by_name.items() if len(sizes) > 1 and max(sizes) < _MAX_SHARE * sum(sizes)}
    return [hint for hint in hints if hint.tag != "article" or hint.name not in many]


def _is_better(hint: Block, other: Block) -> bool:
    """Return whether `hint` is better: it has more sentences, or it is smaller with about as many."""
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
    """Return whether a sibling of the best block is content, too."""
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
    """Return the leaves with sentences between the headline and the main part: the lead of an article."""
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
