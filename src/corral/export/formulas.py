"""Detect text that a spreadsheet may execute as a formula, however its start is disguised."""

import unicodedata
from functools import lru_cache

# A tab or a line break at the start is enough: some programs split the cell there.
_STARTS = frozenset("=+-@\t\r\n")
_APOSTROPHE = "'"
# Control, format, space, separator, combining, private-use and unassigned characters: none of them leaves a mark of its
# own at the start of a cell.
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Mc", "Me", "Mn", "Zl", "Zp", "Zs"})
# Letters and symbols by category that are drawn as nothing: the Hangul fillers and the blank Braille pattern.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_MINUS = frozenset("\u2010\u2011\u2012\u2013\u2212\ufe58\ufe63\uff0d")


def is_formula(text: str) -> bool:
    """Return whether the first visible character starts a formula. Leading apostrophes are skipped as well."""
    for character in text:
        kind = _kind(character)
        if kind is not None:
            return kind
    return False


@lru_cache(maxsize=4096)
def _kind(character: str) -> bool | None:
    """Return True for the start of a formula, False for any other visible character, None for one to skip."""
    # Compatibility decomposition folds the full-width, small, superscript and subscript forms of `=`, `+`, `-`, `@`.
    if character in _STARTS or character in _MINUS or unicodedata.normalize("NFKC", character) in _STARTS:
        return True
    is_skipped = character in _BLANK or unicodedata.category(character) in _INVISIBLE
    return None if is_skipped or character == _APOSTROPHE else False
