"""Find currencies by code, symbol and word. The country of the page resolves a symbol of several currencies."""

import re

from corral.extract.types.locales import find_territory
from corral.extract.types.model import TypeContext
from corral.extract.types.numeric.currency_tables import SHARED, SHARED_WORDS, SYMBOLS, WORDLIKE_CODES, WORDS

_CODE = re.compile(r"[A-Z]{3}")
_ALTERNATIVES = sorted((*SYMBOLS, *SHARED), key=len, reverse=True)
_TOUCHING_WORD = r"[^\W\d_]"
_MARK = re.compile(
    "|".join(
        (rf"(?<!{_TOUCHING_WORD})" if mark[0].isalpha() and mark[0].isascii() else "")
        + re.escape(mark)
        + (rf"(?!{_TOUCHING_WORD})" if mark[-1].isalpha() and not _CODE.match(mark) and mark[-1] < "\u0e00" else "")
        for mark in _ALTERNATIVES
    )
    + rf"|(?<!{_TOUCHING_WORD})[^\W\d_]{{2,10}}\.?"
)


def resolve_mark(mark: str, context: TypeContext) -> str | None:
    """Return the currency that a symbol, a code or a word stands for on a page; None if it is ambiguous."""
    found = _read_mark(mark, context)
    return found[0] if found else None


def find_currency(text: str, context: TypeContext, *, is_after: bool = True) -> tuple[str | None, float, str]:
    """Return the currency in a short text beside a number: its code, the confidence, and an ambiguous mark.

    No other word may be between it and the number: the 2 of `2 for £5` has no currency.
    """
    for match in _MARK.finditer(text):
        between = text[: match.start()] if is_after else text[match.end() :]
        found = None if _has_word(between, context) else _read_mark(match[0], context)
        if found is not None:
            return found
    return None, 1.0, ""


def _has_word(text: str, context: TypeContext) -> bool:
    """Return whether a text has a word that is not a currency; of `USD $` the first mark counts."""
    return any(_read_mark(match[0], context) is None for match in _MARK.finditer(text))


def _read_mark(mark: str, context: TypeContext) -> tuple[str | None, float, str] | None:
    if mark in SYMBOLS:
        return SYMBOLS[mark], 1.0, ""
    if mark in SHARED:
        return _resolve_shared(mark, context)
    if _CODE.fullmatch(mark) and is_currency(mark):
        return mark, 0.6 if mark in WORDLIKE_CODES and _currency_of(find_territory(context)[0]) != mark else 1.0, ""
    word = mark.lower().rstrip(".")
    if word in WORDS:
        return WORDS[word], 1.0, ""
    shared = SHARED_WORDS.get(word)
    if shared in SHARED:
        return _resolve_shared(shared, context)
    return ("GBP", 0.9, "") if shared == "£" else None


def _resolve_shared(mark: str, context: TypeContext) -> tuple[str | None, float, str]:
    default, options = SHARED[mark]
    if context.currency in options:
        return context.currency, 1.0, ""
    territory, confidence = find_territory(context)
    local = _currency_of(territory)
    if local in options:
        return local, max(confidence, 0.8), ""
    if default is None:
        return None, 0.5, mark
    return default, 0.9 if territory else 0.8, ""


def local_currency(context: TypeContext) -> str | None:
    return _currency_of(find_territory(context)[0])


def is_currency(code: str) -> bool:
    from babel.core import get_global  # noqa: PLC0415

    return code in get_global("all_currencies")


def currency_digits(code: str) -> int:
    """Return the number of decimals of a currency: 2 for EUR, 0 for JPY, 3 for KWD."""
    from babel.numbers import get_currency_precision  # noqa: PLC0415

    return get_currency_precision(code)


def _currency_of(territory: str) -> str | None:
    if not territory:
        return None
    from babel.core import get_global  # noqa: PLC0415

    # Entries are (code, start, end, is_tender); the current one has no end.
    entries = get_global("territory_currencies").get(territory, ())
    return next((entry[0] for entry in entries if entry[2] is None and entry[3]), None)
