"""Read the text of inline elements, with line breaks and without elements that are not displayed."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.readable.blocks import word_set
from corral.extract.readable.names import is_unseen_inline

BREAK = "\x01"  # not white space, so that str.split() keeps it
_MAX_DEPTH = 60
SKIPPED = word_set(
    "script style noscript template svg iframe button select input textarea canvas video audio object embed map area"
    " head meta link title datalist option progress meter dialog frame frameset param source track hr -comment"
)
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def link_target(attributes: dict[str, str | None]) -> str | None:
    """Return the reference of a link; None for scripts, data URLs and empty ones."""
    href = (attributes.get("href") or "").strip()
    return None if href.lower().startswith(("javascript:", "data:", "vbscript:")) else href or None


def image_source(attributes: dict[str, str | None]) -> str | None:
    """Return the reference of an image; None for data URLs and empty ones."""
    source = attributes.get("src") or attributes.get("data-src")
    return None if not source or source.startswith("data:") else source


class InlineReader:
    """Reads the inline elements of one page. They share few classes, so the check of a class is cached."""

    def __init__(self) -> None:
        self._unseen_classes: dict[str, bool] = {}

    def read(self, node: LexborNode, depth: int = 0) -> tuple[list[str], float]:
        """Return the pieces of text, and how many of their characters are links."""
        pieces: list[str] = []
        return pieces, self._add(node, node.tag or "", pieces, depth)

    def read_kids(self, node: LexborNode, depth: int = 0) -> tuple[list[str], float]:
        pieces: list[str] = []
        return pieces, self._add_kids(node, pieces, depth)

    def _add(self, node: LexborNode, tag: str, pieces: list[str], depth: int) -> float:
        """Add the text of an element to the pieces; return how many of its characters are links."""
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
        """Like `is_unseen`, with a cache for elements that have a class only, as most have."""
        class_name = attributes.get("class")
        if not class_name or len(attributes) > 1:
            return is_unseen(attributes)
        is_hidden = self._unseen_classes.get(class_name)
        if is_hidden is None:
            is_hidden = self._unseen_classes[class_name] = is_unseen_inline(class_name)
        return is_hidden


def is_omitted(tag: str, attributes: dict[str, str | None], depth: int) -> bool:
    """Return whether an inline element is left out of markup: not displayed, or nested too deeply."""
    return tag in SKIPPED or depth > _MAX_DEPTH or (bool(attributes) and is_unseen(attributes))


def is_unseen(attributes: dict[str, str | None]) -> bool:
    class_name = attributes.get("class")
    if class_name and is_unseen_inline(class_name):
        return True
    style = attributes.get("style")
    return "hidden" in attributes or bool(style and _HIDDEN_STYLE.search(style))
