"""All text of a page that a reader could see, menus and footers as well."""

from selectolax.lexbor import LexborNode

from corral.extract.page import Page

# Elements that browsers do not display. A <template> has no text of its own.
_UNSEEN = {f"<{name}".encode(): name for name in ("script", "style", "noscript")}


def whole_text(page: Page) -> str:
    """The text as it stands in the document. Crawls compare it to see whether a page has changed."""
    body = page.tree.body
    unseen = [selector for mark, selector in _UNSEEN.items() if mark in page.mentioned]
    return "" if body is None else _text_without(body, ", ".join(unseen))


def _text_without(root: LexborNode, around: str) -> str:
    """All text below, without some elements. The page is not changed: fields are read from it, too.

    Only the ancestors of what is left out are gone through one by one; all other elements give their text whole.
    """
    left_out: set[int] = set()
    split: set[int] = {root.mem_id}
    for node in root.css(around) if around else ():
        left_out.add(node.mem_id)
        above = node.parent
        while above is not None and above.mem_id not in split:
            split.add(above.mem_id)
            above = above.parent
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
