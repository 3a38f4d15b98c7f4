"""The types `string`, `text`, `html` and `markdown`."""

import json
import re
from collections.abc import Mapping
from typing import Any

from corral.extract.types.characters import collapse_spaces, to_text
from corral.extract.types.model import Converted, TypeContext, fail

_LINE_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")


def convert_string(raw: Any, _context: TypeContext) -> Converted:
    """Convert to one line: each run of white space becomes one space."""
    return _store(raw, collapse_spaces)


def convert_text(raw: Any, _context: TypeContext) -> Converted:
    """Convert to lines without white space around them, and at most one blank line between paragraphs."""
    return _store(raw, _clean_lines)


def convert_markup(raw: Any, _context: TypeContext) -> Converted:
    """Strip white space around HTML or Markdown. White space inside is significant and stays."""
    return _store(raw, lambda text: text.replace("\r\n", "\n").strip("\n").rstrip())


def _store(raw: Any, clean: Any) -> Converted:
    text = to_text(raw)
    if text is None and isinstance(raw, Mapping):
        text = _text_of(raw)
    if text is None:
        return fail("not_a_string")
    cleaned = clean(text)
    return Converted(cleaned) if cleaned else Converted(None, 0.0, ("empty",))


def _text_of(raw: Mapping[Any, Any]) -> str | None:
    """Return the text in structured data: its value or name, else all of it as JSON."""
    for key in ("@value", "name", "text", "value"):
        if isinstance(raw.get(key), str):
            return str(raw[key])
    try:
        return json.dumps(raw, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return None


def _clean_lines(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    lines = "\n".join(_LINE_SPACES.sub(" ", line).strip() for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", lines).strip()
