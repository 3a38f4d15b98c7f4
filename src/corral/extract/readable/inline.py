"""Text of inline elements, with line breaks and without what is not displayed."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.readable.blocks import word_set
from corral.extract.readable.names import is_unseen_inline

BREAK = "\x01"  # no space, so that splitting at spaces keeps it
_MAX_DEPTH = 60
SKIPPED = word_set(
    "script style noscript template svg iframe button select input textarea canvas video audio object embed map area"
    " head meta link title datalist option progress meter dialog frame frameset param source track hr -comment"
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def link_target(attributes: dict[str, str | None]) -> str | None:
    """The reference of a link that leads somewhere: scripts and data are no targets."""
    href = (attributes.get("href") or "").strip()
    return None if href.lower().startswith(("javascript:", "data:", "vbscript:")) else href or None


class InlineReader:
    """Reads the inline elements of one page. Many of them share a few classes, each of which is judged once."""

    def __init__(self) -> None:
        self._unseen_classes: dict[str, bool] = {}

    def read(self, node: LexborNode, depth: int = 0) -> tuple[list[str], float]:
        """Pieces of text, and how many characters of them are links."""
        pieces: list[str] = []
        return pieces, self._add(node, node.tag or "", pieces, depth)

    def read_kids(self, node: LexborNode, depth: int = 0) -> tuple[list[str], float]:
        pieces: list[str] = []
        return pieces, self._add_kids(node, pieces, depth)

    def _add(self, node: LexborNode, tag: str, pieces: list[str], depth: int) -> float:
        """Add the text of an element to the pieces. Returns how many characters of it are links."""
        attributes = node.attributes
        if attributes and self._is_unseen(attributes):
            return 0.0
        start = len(pieces)
        if tag == "q":
            pieces.append("“")
        link_chars = self._add_kids(node, pieces, depth)
        if tag == "a" and attributes.get("href"):
            return float(len("".join(pieces[start:]).strip()))
        if tag == "q":
            pieces.append("”")
        return link_chars

    def _add_kids(self, node: LexborNode, pieces: list[str], depth: int) -> float:
        if depth > _MAX_DEPTH:
            pieces.append(node.text(deep=True, separator=" "))
            return 0.0
        link_chars = 0.0
        for child in node.iter(include_text=True):
            tag = child.tag or ""
            if tag == "-text":
                pieces.append(child.text_content or "")
            elif tag == "br":
                pieces.append(BREAK)
            elif tag not in SKIPPED:
                link_chars += self._add(child, tag, pieces, depth + 1)
        return link_chars

    def _is_unseen(self, attributes: dict[str, str | None]) -> bool:
        """`is_unseen`, which looks at nothing but the class of most elements."""
        class_name = attributes.get("class")
        if not class_name or len(attributes) > 1:
            return is_unseen(attributes)
        known = self._unseen_classes.get(class_name)
        if known is None:
            known = self._unseen_classes[class_name] = is_unseen_inline(class_name)
        return known


def is_unseen(attributes: dict[str, str | None]) -> bool:
    class_name = attributes.get("class")
    if class_name and is_unseen_inline(class_name):
        return True
    style = attributes.get("style")
    return "hidden" in attributes or bool(style and _HIDDEN_STYLE.search(style))
