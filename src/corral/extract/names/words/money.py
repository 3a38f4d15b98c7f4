"""Find prices in text, and their currencies."""

import re

from corral.extract.types.model import TypeContext
from corral.extract.types.numeric.currencies import resolve_mark
from corral.extract.types.numeric.currency_tables import TEXT_CODES, TEXT_MARKS

_BEFORE = "|".join(
    [
        "(?:US|CA|AU|NZ|HK|NT|MX) [$]",
        *(re.escape(mark) for mark in TEXT_MARKS if not mark.isalpha()),
        *("kr", "Fr", "SFr", "Rs", "RM", "Rp", "TL"),
        *TEXT_CODES,
    ]
)
_AFTER = "|".join([*(re.escape(mark) for mark in TEXT_MARKS), *TEXT_CODES])
_NUMBER = r"\d{1,3}(?:[.,'’\u00a0\u202f\u2009 ]\d{3})+(?:[.,]\d{1,2})?(?!\d)|\d+(?:[.,]\d{1,2})?(?!\d)"
_TAIL = r"(?:[,.](?:[-–—]{1,2}|–))?"
_MONEY = re.compile(
    rf"(?<![\w.,])(?:(?:{_BEFORE})\.?\s?-?(?:{_NUMBER}){_TAIL}(?:\s?(?:{'|'.join(TEXT_CODES)})\b)?"
    rf"|-?(?:{_NUMBER}){_TAIL}\s?(?:{_AFTER})(?![^\W\d_])(?:(?<=kr|Fr)\.|(?<=руб|грн|дин)\.|(?<=лв)\.)?)",
    re.IGNORECASE,
)
_CODE = re.compile(rf"(?<![A-Za-z])({'|'.join(TEXT_CODES)})(?![A-Za-z])")
_MARK_PATTERNS = [
    (re.compile(rf"(?<![^\W\d_]){re.escape(mark)}(?![^\W\d_])" if mark.isalpha() else re.escape(mark), re.I), mark)
    for mark in TEXT_MARKS
]


def find_money(text: str) -> list[str]:
    """Return the amounts with a currency, as written."""
    if not any(char.isdigit() for char in text):
        return []
    return [match[0].strip() for match in _MONEY.finditer(text)]


def currency_in(text: str, context: TypeContext) -> str | None:
    """Return the ISO code of the currency of a price."""
    code = _CODE.search(text)
    if code is not None:
        return code[1]
    text = text.replace(" $", "$")  # US $5
    mark = next((mark for pattern, mark in _MARK_PATTERNS if pattern.search(text)), None)
    return resolve_mark(mark, context) if mark else None


def is_code(text: str) -> bool:
    return len(text) == 3 and text.isalpha() and text.isascii() and text.isupper()
