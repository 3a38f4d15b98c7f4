"""All visible text of a page, including menus and footers."""

from selectolax.lexbor import LexborNode

from corral.extract.page import Page

# Elements that browsers do not display. A <template> has no text of its own.
_UNSEEN = {f"<{name}".encode(): name for name in ("script", "style", "noscript")}


def whole_text(page: Page) -> str:
    """Return the text in document order. Crawls compare it to detect whether a page has changed."""
    body = page.tree.body
    unseen = [node for mark, tag in _UNSEEN.items() if mark in page.mentioned for node in page.elements(tag)]
    return "" if body is None else _text_without(body, unseen)


def _text_without(root: LexborNode, excluded: list[LexborNode]) -> str:
    """Return all text below `root` except that of some elements, without changing the page: fields need it, too.

    Only the ancestors of excluded elements are walked child by child; all other elements return their text at once.
    """
    excluded_ids: set[int] = set()
    split: set[int] = {root.mem_id}
    for node in excluded:
        above = node.parent
        path: list[int] = []
        while above is not None and above.mem_id not in split:
            path.append(above.mem_id)
            above = above.parent
        if above is not None:  # otherwise the element is not below `root`
            excluded_ids.add(node.mem_id)
            split.update(path)
    if not excluded_ids:
        return root.text(deep=True, separator=" ")
    pieces: list[str] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if node.mem_id in excluded_ids:
            continue
        if node.mem_id in split:
            stack.extend(reversed(list(node.iter(include_text=True))))
            continue
        text = node.text_content if node.tag == "-text" else node.text(deep=True, separator=" ")
        if text:
            pieces.append(text)
    return " ".join(pieces)
