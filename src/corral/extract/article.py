"""The readable text of a page: what it is about, without what surrounds it on every page of its site."""

from collections import defaultdict
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from corral.extract.page import Page, normalize_space
from corral.extract.value_limit import capture_limit

# Elements around the article, wherever they stand.
_AROUND = {
    **{f"<{name}".encode(): name for name in ("script", "style", "noscript", "nav", "footer", "aside", "form", "svg")},
    b"hidden": "[hidden]",
}
# Elements that browsers do not display. A <template> has no text of its own.
_UNSEEN = {f"<{name}".encode(): name for name in ("script", "style", "noscript")}
# Less than this is a teaser.
_MIN_CHARS = 250
_MAX_PARAGRAPHS = 2_000
_WHOLE_CHARS = 1 << 40  # all of it


class Article(NamedTuple):
    title: str | None
    text: str
    word_count: int
    char_count: int


def article_of(page: Page) -> Article:
    text = _main_text(page)
    title = page.title or page.text_of(page.tree.css_first("h1"))
    # Words are one space apart by now.
    return Article(title, text, word_count=text.count(" ") + 1 if text else 0, char_count=len(text))


def _main_text(page: Page) -> str:
    """Of what the page calls its article or its main part; else of the element with the most text in paragraphs."""
    tree = page.tree
    articles = tree.css("article") if b"<article" in page.mentioned else []
    # Several are a list of teasers, and what holds them is the main part.
    if len(articles) == 1 and len(text := _text(page, articles[0])) >= _MIN_CHARS:
        return text
    for mark, selector in ((b"<main", "main"), (b"role", "[role=main]")):
        node = tree.css_first(selector) if mark in page.mentioned else None
        if node is not None and (text := _text(page, node)):
            return text
    node = _densest(page) or tree.body
    return _text(page, node) if node is not None else ""


def _densest(page: Page) -> LexborNode | None:
    scores: defaultdict[int, float] = defaultdict(float)
    nodes: dict[int, LexborNode] = {}
    total = 0
    for paragraph in page.tree.css("p, pre")[:_MAX_PARAGRAPHS]:
        size = len(paragraph.text(deep=True))
        total += size
        above, share = paragraph.parent, 1.0
        # The one above counts half: paragraphs may be grouped in sections.
        for _ in range(2):
            if above is None or above.tag in ("html", "-document"):
                break
            scores[above.mem_id] += size * share
            nodes[above.mem_id] = above
            above, share = above.parent, share / 2
    if total < _MIN_CHARS:
        return None
    return nodes[max(scores, key=lambda each: scores[each])]


def _text(page: Page, root: LexborNode) -> str:
    around = ", ".join([selector for mark, selector in _AROUND.items() if mark in page.mentioned])
    return normalize_space(_raw_text(root, around)) or ""


def whole_text(page: Page) -> str:
    """Everything that a reader could see, menus and footers as well, as it stands in the document."""
    body = page.tree.body
    unseen = [selector for mark, selector in _UNSEEN.items() if mark in page.mentioned]
    return "" if body is None else _raw_text(body, ", ".join(unseen), _WHOLE_CHARS)


def _raw_text(root: LexborNode, around: str, size_limit: int | None = None) -> str:
    """All text below, without what is around it. The page is not changed: fields are read from it, too.

    Only the ancestors of what is left out are gone through one by one; all other elements give their text whole.
    """
    left_out: set[int] = set()
    split: set[int] = {root.mem_id}
    for node in root.css(around) if around else ():
        if node.mem_id == root.mem_id:
            continue
        left_out.add(node.mem_id)
        above = node.parent
        while above is not None and above.mem_id not in split:
            split.add(above.mem_id)
            above = above.parent
    if not left_out:
        return root.text(deep=True, separator=" ")
    pieces: list[str] = []
    size = 0
    stack = [root]
    most = size_limit or 4 * capture_limit()
    while stack and size < most:
        node = stack.pop()
        if node.mem_id in left_out:
            continue
        if node.mem_id in split:
            stack.extend(reversed(list(node.iter(include_text=True))))
            continue
        text = node.text_content if node.tag == "-text" else node.text(deep=True, separator=" ")
        if text:
            pieces.append(text)
            size += len(text)
    return " ".join(pieces)
