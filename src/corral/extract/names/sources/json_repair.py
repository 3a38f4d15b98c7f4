"""Parse JSON as pages write it: with comments, trailing commas, entities, CDATA and raw line breaks."""

import html
import json
import re
from typing import Any

_MAX_CHARS = 1_000_000
_WRAPPING = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)|(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/"
    r"|\]\]>)\s*;?\s*$"
)
# Strings are matched first, so that comment signs inside them are left alone.
_STRING_OR_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|/\*.*?\*/|//[^\n\r]*', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?![\\/"bfnrtu])')
_MAX_BLOCKS = 100
_MAX_COMMENTS = 500
_MAX_QUOTES = 100_000


def load_json(text: str) -> list[Any]:
    """Return the documents of one block; an empty list if it cannot be parsed."""
    if len(text) > _MAX_CHARS:
        return []
    text = text.strip().strip("\ufeff").rstrip(";").strip()
    found = _parse(text)
    if found is not None:
        return [found]
    for repair in (_unwrap, _unescape, _drop_comments, _fix_escapes):
        text = repair(text)
        found = _parse(text)
        if found is not None:
            return [found]
    return _parse_several(text)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda _: None, strict=False)
    except (ValueError, RecursionError):
        return None


def _unwrap(text: str) -> str:
    for _ in range(2):
        text = _WRAPPING.sub("", text).strip()
    return text.rstrip(";").strip()


def _unescape(text: str) -> str:
    """Resolve entities only if the quotes of the JSON itself are escaped; otherwise they belong to values."""
    return html.unescape(text) if re.match(r"\s*[\[{]\s*&(?:quot|#34|#x22);", text) else text


def _drop_comments(text: str) -> str:
    if text.count("/*") > _MAX_COMMENTS or text.count('"') > _MAX_QUOTES:
        return text  # the pattern would scan to the end for each unclosed comment or string
    text = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    return _TRAILING_COMMA.sub(lambda match: match[1] or "", text)


def _fix_escapes(text: str) -> str:
    return _BAD_ESCAPE.sub(r"\\\\", text)


def _parse_several(text: str) -> list[Any]:
    """Return the documents that follow one another, up to the first error."""
    decoder = json.JSONDecoder(strict=False)
    found: list[Any] = []
    position = 0
    while position < len(text) and len(found) < _MAX_BLOCKS:
        start = min(
            (offset for offset in (text.find("{", position), text.find("[", position)) if offset >= 0), default=-1
        )
        if start < 0:
            break
        try:
            document, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        found.append(document)
    return found
