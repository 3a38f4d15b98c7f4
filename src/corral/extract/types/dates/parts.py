"""Find year, month and day in a text, as the language of the page writes them."""

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from corral.extract.types.dates.month_names import MONTH_NAMES
from corral.extract.types.locales import date_order, find_territory, split_tag
from corral.extract.types.model import TypeContext

_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "民國": 1911, "民国": 1911}
_CJK = re.compile(
    r"(?:(?P<era>令和|平成|昭和|大正|民國|民国)\s?)?(?:(?P<year>\d{1,4}|元)\s?[年년]\s?)?(?P<month>\d{1,2})\s?[月월]"
    r"(?:\s?(?P<day>\d{1,2})\s?[日일号號])?"
)
_VIETNAMESE = re.compile(
    r"(?:(?P<day>\d{1,2})\s)?(?:tháng|thg)\s?(?P<month>\d{1,2})(?:(?:,?\s?năm|,)?\s(?P<year>\d{4}))?"
)
_NUMERIC = re.compile(r"(?<![\d.,:/-])(\d{1,4})(\s?[./-]\s?|\s)(\d{1,2})(?:\2|\s?[./-]\s?)(\d{1,4})(?![\d:]|[.,/-]\d)")
# `3.5.` needs its last point: `3.5` is a number.
_DAY_MONTH = re.compile(r"(?<![\d.,:/-])(\d{1,2})(\.|/)\s?(\d{1,2})(?:(?<=/\d)|(?<=/\d\d)|\.)(?![\d:/]|[.,-]\d)")
_MONTH_YEAR = re.compile(r"(?<![\d.,:/-])(?:(\d{1,2})[./-](\d{4})|(\d{4})[./-](\d{1,2}))(?![\d:]|[.,/-]\d)")
_WORD = re.compile(r"\d+|[^\s\d.,;:!?/|()\[\]–—+\-'\"«»،؛_]+")
# Function words and endings between the parts of a date.
_GLUE = frozenset(
    [
        "de",
        "del",
        "di",
        "d",
        "da",
        "do",
        "of",
        "the",
        "st",
        "nd",
        "rd",
        "th",
        "er",
        "ère",
        "re",
        "º",
        "ª",
        "o",
        "a",
        "le",
        "den",
        "dne",
        "dnia",
        "tog",
        "m",
        "г",
        "года",
        "року",
        "р",
        "г.",
        "i",
        "y",
        "e",
        "d'",
        "du",
        "'n",
        "на",
        "л",
        "ב",
    ]
)
_EXTRA_MONTHS = {"de": {"jänner": 1, "feber": 2}, "en": {"sept": 9}, "da": {"sept": 9}, "no": {}}
_ALIASES = {"no": "nb", "nn": "nb", "iw": "he", "in": "id", "bs": "hr", "sh": "sr", "fil": "tl", "mo": "ro"}
# Years of the solar Hijri calendar fall in this range; reading them as Gregorian would be wrong by 621.
_SOLAR_HIJRI = range(1250, 1500)


@dataclass(frozen=True, slots=True)
class DateParts:
    year: int | None = None
    month: int | None = None
    day: int | None = None
    doubt: str = ""  # day_first or month_first, if both are possible

    def fill(self, other: "DateParts") -> "DateParts":
        """Return the parts with missing ones taken from the other end of a range."""
        return replace(
            self, year=self.year or other.year, month=self.month or other.month, doubt=self.doubt or other.doubt
        )


def find_date_parts(text: str, context: TypeContext) -> DateParts | None:
    """Return the first date in a text in lower case, from which times were removed."""
    for read in (_read_cjk, _read_vietnamese):
        parts = read(text)
        if parts is not None:
            return parts
    return _read_numeric(text, context) or _read_month_name(text, context) or _read_short(text, context)


def _read_cjk(text: str) -> DateParts | None:
    match = _CJK.search(text) if not text.isascii() else None
    if match is None:
        return None
    year = 1 if match["year"] == "元" else int(match["year"]) if match["year"] else None
    if year is not None:
        year = year + _ERAS[match["era"]] if match["era"] else _expand_year(year, len(match["year"]))
    return _check(DateParts(year, int(match["month"]), int(match["day"]) if match["day"] else None))


def _read_vietnamese(text: str) -> DateParts | None:
    match = _VIETNAMESE.search(text) if not text.isascii() else None
    if match is None:
        return None
    year, day = match["year"], match["day"]
    return _check(DateParts(int(year) if year else None, int(match["month"]), int(day) if day else None))


def _read_numeric(text: str, context: TypeContext) -> DateParts | None:
    match = _NUMERIC.search(text)
    if match is None:
        return None
    first, second, third = match[1], match[3], match[4]
    sign = match[2].strip()
    if len(first) >= 3:
        return (
            _check(DateParts(_expand_year(int(first), len(first)), int(second), int(third)))
            if len(third) <= 2
            else None
        )
    order, is_sure = _choose_order(sign, context, has_long_year=len(third) == 4)
    if order == "ymd" and len(first) == 2 and len(third) <= 2:
        return _check(DateParts(_expand_year(int(first), 2), int(second), int(third), "" if is_sure else "year_first"))
    if len(third) in (1, 3):
        return None
    return _order_parts(int(first), int(second), _expand_year(int(third), len(third)), order, is_sure=is_sure)


def _choose_order(sign: str, context: TypeContext, *, has_long_year: bool) -> tuple[str, bool]:
    """Return the order of a numeric date, and whether the page determines it."""
    language, territory = split_tag(context.language)
    found, confidence = find_territory(context)
    order = date_order(language, territory or found) if language or found else ""
    if sign == "." and (order != "ymd" or has_long_year):
        return "dmy", True
    if order == "ymd" and has_long_year:
        return "dmy", False
    return order or "dmy", bool(order) and (confidence >= 0.9 or language not in ("en", "es", ""))


def _order_parts(first: int, second: int, year: int | None, order: str, *, is_sure: bool) -> DateParts | None:
    if first > 12 or second > 12:
        order, is_sure = ("dmy", True) if first > 12 else ("mdy", True)
    day, month = (second, first) if order == "mdy" else (first, second)
    doubt = "" if is_sure or first == second else "month_first" if order == "mdy" else "day_first"
    return _check(DateParts(year, month, day, doubt))


def _read_short(text: str, context: TypeContext) -> DateParts | None:
    """Read a date without day or year: `01/2026`, `2026-01`, `3.5.`."""
    if match := _MONTH_YEAR.search(text):
        year, month = (match[2], match[1]) if match[2] else (match[3], match[4])
        return _check(DateParts(int(year), int(month)))
    if match := _DAY_MONTH.search(text):
        order, is_sure = _choose_order(match[2], context, has_long_year=True)
        return _order_parts(int(match[1]), int(match[3]), None, order, is_sure=is_sure)
    if re.fullmatch(r"\D{0,12}[12]\d{3}\D{0,3}", text):
        return DateParts(int(re.sub(r"\D", "", text)))
    return None


def _read_month_name(text: str, context: TypeContext) -> DateParts | None:
    words = [match[0] for match in _WORD.finditer(text)]
    words = [word for word in words if word not in _GLUE]
    language = split_tag(context.language)[0]
    candidates: list[DateParts] = []
    for index, word in enumerate(words):
        month = None if word[0].isdigit() else find_month(word, _ALIASES.get(language, language))
        parts = None if month is None else _read_around(words[:index], words[index + 1 :], month)
        if parts is not None and (parts.year or parts.day):
            candidates.append(parts)
    if not candidates:
        return None
    # `mar. 3 mars 2026`: names of days look like those of months, so a complete date is preferred.
    best = max(candidates, key=lambda each: (each.year is not None) + (each.day is not None))
    return _check(_apply_calendar(best, language))


def _read_around(before: list[str], after: list[str], month: int) -> DateParts | None:
    """Read day and year from the numbers beside the name of a month."""
    left = before[-1] if before and before[-1].isdigit() else ""
    right = after[0] if after and after[0].isdigit() else ""
    further = after[1] if len(after) > 1 and after[1].isdigit() else ""
    if len(left) == 4:
        return DateParts(int(left), month, int(right) if 0 < len(right) <= 2 else None)
    if len(right) == 4 and not (left and len(left) > 2):
        return DateParts(int(right), month, int(left) if left else None)
    if left:
        year = _expand_year(int(right), 2) if len(right) == 2 else _find_year(before[:-1], after)
        return DateParts(year, month, int(left)) if len(left) <= 2 else None
    if 0 < len(right) <= 2:
        year = _expand_year(int(further), len(further)) if len(further) in (2, 4) else _find_year(before, after[1:])
        return DateParts(year, month, int(right))
    return None


def _find_year(before: list[str], after: list[str]) -> int | None:
    """Find a year that other words separate from the date: `5 يوليو/تموز 2026`, `2026. gada 5. jūlijs`."""
    for word in (*after[:3], *before[-2:]):
        if len(word) == 4 and word.isdigit():
            return int(word)
    return None


def _apply_calendar(parts: DateParts, language: str) -> DateParts:
    if parts.year and language == "th" and parts.year > 2400:
        return replace(parts, year=parts.year - 543)
    return parts


def uses_other_calendar(parts: DateParts, context: TypeContext) -> bool:
    return split_tag(context.language)[0] in ("fa", "ps", "ckb") and parts.year in _SOLAR_HIJRI


def _expand_year(year: int, digits: int) -> int | None:
    """Expand a year of two digits as POSIX does: 69 to 99 are in the last century."""
    if digits == 4:
        return year
    if digits <= 2:
        return year + (1900 if year >= 69 else 2000)
    return None


def _check(parts: DateParts) -> DateParts | None:
    has_month = parts.month is None or 1 <= parts.month <= 12
    return parts if has_month and (parts.day is None or 1 <= parts.day <= 31) else None


def find_month(word: str, language: str) -> int | None:
    """Return the month of a name in the page's language or in English, or if all languages with the name agree."""
    plain = _strip_accents(word.rstrip("."))
    if language == "he":
        plain = plain.removeprefix("ב")  # the preposition is part of the word
    for code in (language, "en"):
        months = _months_of(code) if code in MONTH_NAMES else {}
        if plain in months:
            return months[plain]
    months = _months_of(language) if language in MONTH_NAMES else {}
    # Inflected names, such as `julija` of `julij`, are matched by their first letters.
    stems = {number for name, number in months.items() if len(plain) > 4 and len(name) >= 4 and name[:4] == plain[:4]}
    if len(stems) == 1:
        return stems.pop()
    agreed = {found for code in MONTH_NAMES if (found := _months_of(code).get(plain)) is not None}
    return agreed.pop() if len(agreed) == 1 else None


# Memo: one table per language.
@lru_cache(maxsize=64)
def _months_of(language: str) -> dict[str, int]:
    months: dict[str, int] = {}
    for number, names in enumerate(MONTH_NAMES[language].split("|"), 1):
        for name in names.split():
            plain = _strip_accents(name)
            months.setdefault(plain, number)
            if len(plain) > 5 and plain.isascii():  # `Janv`, `Sept`, `Febr`
                months.setdefault(plain[:4], number)
    return {**months, **{_strip_accents(name): number for name, number in _EXTRA_MONTHS.get(language, {}).items()}}


def _strip_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFD", word) if not "\u0300" <= char <= "\u036f")
