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
    def read(self, node: LexborNode, depth: int = 0) -> tuple[list[str], float]:
        """Pieces of text, and how many characters of them are links."""
        attributes = node.attributes
        if attributes and is_unseen(attributes):
            return [], 0.0
        pieces, link_chars = self.read_kids(node, depth)
        tag = node.tag
        if tag == "a" and attributes.get("href"):
            link_chars = float(len("".join(pieces).strip()))
        elif tag == "q":
            pieces = ["“", *pieces, "”"]
        return pieces, link_chars

    def read_kids(self, node: LexborNode, depth: int = 0) -> tuple[list[str], float]:
        if depth > _MAX_DEPTH:
            return [node.text(deep=True, separator=" ")], 0.0
        pieces: list[str] = []
        link_chars = 0.0
        for child in node.iter(include_text=True):
            name = child.tag or ""
            if name == "-text":
                pieces.append(child.text_content or "")
            elif name == "br":
                pieces.append(BREAK)
            elif name not in SKIPPED:
                more, chars = self.read(child, depth + 1)
                pieces.extend(more)
                link_chars += chars
        return pieces, link_chars


def is_unseen(attributes: dict[str, str | None]) -> bool:
    class_name = attributes.get("class")
    if class_name and is_unseen_inline(class_name):
        return True
    style = attributes.get("style")
    return "hidden" in attributes or bool(style and _HIDDEN_STYLE.search(style))
