"""Find numbers in a text as people write them: with groups of digits, decimal signs, ranges and scales."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_GROUP_SPACE = "\u202f"
# Digits, and signs between the digits of one number. A plain space joins only groups of three.
_TOKEN = re.compile(
    r"(?P<sign>(?:(?<![\w.,)\]])[+-])?)"
    r"(?P<body>(?:\d[\d.,'\u202f\u066b\u066c]*\d|\d|(?<![\w.,])[.,]\d+)"
    r"(?:(?<=\d) \d{3}(?![\d'])(?:[.,]\d+)?)*)"
    r"(?P<exponent>(?:[eE][+-]?\d{1,3}(?![\w.,]))?)"
)
_FRACTIONS = str.maketrans({"½": ".5", "¼": ".25", "¾": ".75"})
_RAISED = re.compile(r"(?<=\d)[⁰¹²³⁴⁵⁶⁷⁸⁹]{2}(?!\w)")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_SCALES: dict[str, int] = {
    **dict.fromkeys(("k", "thousand", "tsd", "tsd.", "tys", "tys.", "тыс", "тыс.", "тис", "тис.", "mille"), 3),
    **dict.fromkeys(("m", "million", "millions", "millionen", "mio", "mio.", "mill", "mill.", "mln", "mln."), 6),
    **dict.fromkeys(("млн", "млн.", "millones", "millón", "milhões", "milhão", "milioni", "miljoner", "miljoen"), 6),
    **dict.fromkeys(("b", "bn", "billion", "billions", "mrd", "mrd.", "milliarden", "milliarde", "mld", "mld."), 9),
    **dict.fromkeys(("milliard", "milliards", "miliardi", "млрд", "млрд.", "mia", "mia."), 9),
    **dict.fromkeys(("万", "萬", "만"), 4),
    **dict.fromkeys(("億", "亿", "억"), 8),
    **dict.fromkeys(("lakh", "lakhs", "lac"), 5),
    **dict.fromkeys(("crore", "crores", "cr"), 7),
}
# Words with another meaning in other languages: `20 mil` is a thickness in English.
_LANGUAGE_SCALES = {
    "es": {"mil": 3},
    "pt": {"mil": 3},
    "id": {"ribu": 3, "rb": 3, "juta": 6, "jt": 6, "miliar": 9},
    "ms": {"ribu": 3, "juta": 6},
    "tr": {"bin": 3, "milyon": 6, "milyar": 9},
    "vi": {"nghìn": 3, "ngàn": 3, "triệu": 6, "tỷ": 9},
}
# One letter is a scale only directly after the digits and at the end of a word: `1.5M`, not `5 m`.
_SCALE = re.compile(r"(?P<near>[万萬만億亿억]|(?:[kKMB]|bn)(?![^\W\d_]))|[ \u202f]?(?P<word>[^\W\d_]{2,10}\.?)")
_RANGE_SIGN = re.compile(
    r"\s*(?:-|–|—|―|~|〜|～|\.\.\.?|…|至|から|~|to|bis|à|до|till|til|tot|hasta|até)\s*", re.IGNORECASE
)
# Removed between the ends of a range: `$10 - $12` is one, like `$10 - 12`.
_CURRENCY_MARK = re.compile(r"[$€£¥₹₽₩₺₴₫%円元]|(?<!\w)(?:[A-Z]{2,3}|kr\.?|zł|Kč|Ft|R)\$?(?!\w)")
# English `million` is 10^6 and `billion` 10^9; in the long scale of these languages a `billion` is 10^12.
_LONG_SCALE = {"billionen": 12, "billones": 12, "billón": 12}


@dataclass(frozen=True, slots=True)
class NumberToken:
    """One number as written: its digits, and its position in the text."""

    start: int
    end: int
    sign: str
    body: str
    exponent: str = ""
    scale: int = 0  # a power of ten that follows in words


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """The signs that the language of a page uses in numbers."""

    decimal: str = ""
    group: str = ""
    # Decides the meaning of one sign before exactly three digits if the language does not: prices have groups.
    is_price: bool = False


def prepare_number_text(text: str) -> str:
    """Replace fractions and raised cents, as in `1½` and `12⁹⁹`, by decimals."""
    if text.isascii():
        return text
    return _RAISED.sub(lambda match: "." + match[0].translate(_LOWERED), text.translate(_FRACTIONS))


def find_numbers(text: str, language: str = "") -> Iterator[NumberToken]:
    """Yield the numbers of a text. Digits inside a word, such as `A4` or `mp3`, do not count."""
    position = 0
    while match := _TOKEN.search(text, position):
        position = match.end()
        if _is_inside_word(text, match.start("body")):
            continue
        scale, end = _read_scale(text, match.end(), language)
        yield NumberToken(match.start(), end, match["sign"], match["body"], match["exponent"], scale)
        position = max(position, end)


def _is_inside_word(text: str, start: int) -> bool:
    before = text[start - 1] if start else ""
    return before.isascii() and before.isalpha() and not _follows_unit(text, start)


def _follows_unit(text: str, start: int) -> bool:
    """Return whether the letters before a number are a currency, as in `USD12` and `Rs500`."""
    letters = re.search(r"[A-Za-z]+$", text[max(0, start - 8) : start])
    return (
        letters is not None
        and len(letters[0]) >= 2
        and (letters[0].isupper() or letters[0] in ("Rs", "Rp", "kr", "Fr"))
    )


def _read_scale(text: str, end: int, language: str) -> tuple[int, int]:
    match = _SCALE.match(text, end)
    if match is None:
        return 0, end
    word = match["near"] or match["word"]
    word = word.lower()
    power = _LANGUAGE_SCALES.get(language, {}).get(word) or _SCALES.get(word) or _LONG_SCALE.get(word)
    return (power, match.end()) if power else (0, end)


def is_range(text: str, first: NumberToken, second: NumberToken) -> bool:
    """Return whether a dash or a word such as `to` joins two numbers."""
    between = _CURRENCY_MARK.sub("", text[first.end : second.start])
    return not second.sign and _RANGE_SIGN.fullmatch(between) is not None


def read_token(token: NumberToken, style: NumberStyle) -> tuple[Decimal | None, str]:
    """Return the number, and why another reading is possible; empty if there is none."""
    body = token.body.replace("\u066c", "'").replace("\u066b", ".").rstrip("'")
    doubt = ""
    if " " in body:
        if style.group not in ("", _GROUP_SPACE, " "):
            doubt = "space_groups"
        body = body.replace(" ", _GROUP_SPACE)
    if "'" in body or _GROUP_SPACE in body:
        plain = _remove_sure_groups(body)
        if plain is None:
            return None, ""
        body = plain.replace(",", ".")
        if body.count(".") > 1:
            return None, ""
    else:
        body, reason = _resolve_signs(body, style)
        doubt = doubt or reason
    if not body:
        return None, ""
    number = Decimal(f"{token.sign}{body}{token.exponent}")
    return number.scaleb(token.scale) if token.scale else number, doubt


def _remove_sure_groups(body: str) -> str | None:
    """Return the digits without apostrophes and spaces, which only group; None if a group has not three digits."""
    whole, sign, decimals = _split_decimals(body)
    groups = re.split(r"['\u202f]", whole)
    if any(len(group) != 3 for group in groups[1:]) or not 1 <= len(groups[0]) <= 3:
        return None
    return "".join(groups) + (f".{decimals}" if sign else "")


def _split_decimals(body: str) -> tuple[str, str, str]:
    match = re.fullmatch(r"([\d'\u202f]+)([.,])(\d*)", body)
    return (match[1], match[2], match[3]) if match else (body, "", "")


def _resolve_signs(body: str, style: NumberStyle) -> tuple[str, str]:
    """Return the digits with a decimal point, and the doubt; no digits if the signs do not form a number."""
    body = body.rstrip(".,")
    commas, points = body.count(","), body.count(".")
    if commas and points:
        return _resolve_both(body), ""
    if commas + points == 0:
        return body, ""
    sign = "," if commas else "."
    if commas + points > 1:
        return (body.replace(sign, "") if _are_groups(body, sign) else ""), ""
    whole, _, decimals = body.partition(sign)
    if len(decimals) != 3 or len(whole) > 3 or whole in ("", "0") or whole.startswith("0"):
        return f"{whole or '0'}.{decimals}", ""
    return _resolve_one(whole, sign, decimals, style)


def _resolve_one(whole: str, sign: str, decimals: str, style: NumberStyle) -> tuple[str, str]:
    """Decide by the language whether `1.234` or `1,234` has thousands or decimals."""
    if sign == style.group:
        return whole + decimals, ""
    if style.is_price:  # prices have no three decimals; a wrong language tag is more likely
        return whole + decimals, "" if not style.decimal else "group_sign"
    if sign == style.decimal:
        return f"{whole}.{decimals}", ""
    if sign == ",":
        return whole + decimals, "" if style.decimal == "." else "group_sign"
    return f"{whole}.{decimals}", "decimal_sign"


def _resolve_both(body: str) -> str:
    decimal = "," if body.rfind(",") > body.rfind(".") else "."
    group = "." if decimal == "," else ","
    if body.count(decimal) > 1:
        return ""
    whole, _, decimals = body.partition(decimal)
    return f"{whole.replace(group, '')}.{decimals}" if group not in decimals and _are_groups(whole, group) else ""


def _are_groups(body: str, sign: str) -> bool:
    """Return whether the signs form groups of three, or, as in India, of two before the last three."""
    first, *middle, last = body.split(sign)
    if not 1 <= len(first) <= 3 or len(last) != 3:
        return False
    lengths = {len(group) for group in middle}
    return lengths <= {3} or (lengths == {2} and len(first) <= 2)
