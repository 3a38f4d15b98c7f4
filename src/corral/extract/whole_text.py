"""All visible text of a page, including menus and footers."""

from selectolax.lexbor import LexborNode

from corral.extract.page import Page

# Elements that browsers do not display. A <template> has no text of its own.
_UNSEEN = {f"<{name}".encode(): name for name in ("script", "style", "noscript")}


def whole_text(page: Page) -> str:
    """The text as it stands in the document. Crawls compare it to see whether a page has changed."""
    body = page.tree.body
    unseen = [node for mark, tag in _UNSEEN.items() if mark in page.mentioned for node in page.elements(tag)]
    return "" if body is None else _text_without(body, unseen)


def _text_without(root: LexborNode, around: list[LexborNode]) -> str:
    """All text below, without some elements. The page is not changed: fields are read from it, too.

    Only the ancestors of what is left out are gone through one by one; all other elements give their text whole.
    """
    left_out: set[int] = set()
    split: set[int] = {root.mem_id}
    for node in around:
        above = node.parent
        way: list[int] = []
        while above is not None and above.mem_id not in split:
            way.append(above.mem_id)
            above = above.parent
        if above is not None:  # else it stands elsewhere
            left_out.add(node.mem_id)
            split.update(way)
    if not left_out:
        return root.text(deep=True, separator=" ")
    pieces: list[str] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.mem_id in left_out:
            continue
        if node.mem_id in split:
            stack.extend(reversed(list(node.iter(include_text=True))))
            continue
        text = node.text_content if node.tag == "-text" else node.text(deep=True, separator=" ")
        if text:
            pieces.append(text)
    return " ".join(pieces)
