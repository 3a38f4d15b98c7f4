"""The type `rating`: a value, the best possible value, and the number of ratings."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from corral.extract.types.characters import MAX_SHORT_CHARS, collapse_spaces, normalize_signs
from corral.extract.types.model import Converted, TypeContext, fail
from corral.extract.types.numeric.numbers import NumberReading, convert_decimal, read_numbers, store_exact, to_decimal
from corral.extract.types.numeric.tokens import prepare_number_text

_OUT_OF = re.compile(
    r"\s*(?:stars?|sternen?|étoiles?|estrellas?|points?|punkten?)?\s*"
    r"(?:/|von|out of|of|sur|de|di|su|van|av|af|z|ze|из|з|dari|trên|:|max\.?|από)\s*"
    r"(?:maximal|max\.?|möglichen)?\s*",
)
_FULL = "★⭐🟊✭✮"
_HALF = "⯪½⯨"
_EMPTY = "☆✩⭑"
_STARS = re.compile(rf"[{_FULL}]+[{_HALF}]?\s*[{_EMPTY}]*|[{_HALF}]\s*[{_EMPTY}]+|[{_EMPTY}]{{2,}}")
_STAR_CLASS = re.compile(r"(?:^|[\s_-])(one|two|three|four|five)(?:$|[\s_-])")
_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_CJK_OUT_OF = re.compile(r"(\d+)\s?(?:段階中|点満点中|点中|つ星のうち|점 만점에|分制中)\s?(?:の)?\s?(\d+(?:\.\d+)?)")


def convert_rating(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, Mapping):
        return _convert_document(raw, context)
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        number = to_decimal(raw)
        return fail("not_a_rating") if number is None else _build(number, None, None)
    if not isinstance(raw, str) or len(raw) > MAX_SHORT_CHARS:
        return fail("not_a_rating")
    text = collapse_spaces(normalize_signs(raw)).casefold()
    return _read_cjk(text) or _read_stars(text, context) or _read_numbers(prepare_number_text(text), context)


def _convert_document(raw: Mapping[Any, Any], context: TypeContext) -> Converted:
    """Convert an object of schema.org, or of an earlier conversion."""
    parts = [
        next((raw[key] for key in keys if raw.get(key) is not None), None)
        for keys in (("value", "ratingValue"), ("best", "bestRating"), ("count", "ratingCount", "reviewCount"))
    ]
    value, best, count = (None if part is None else convert_decimal(part, context).value for part in parts)
    if value is None:
        return convert_rating(parts[0], context) if isinstance(parts[0], str) else fail("not_a_rating")
    return _build(Decimal(str(value)), None if best is None else Decimal(str(best)), count)


def _read_cjk(text: str) -> Converted | None:
    match = _CJK_OUT_OF.search(text)
    return _build(Decimal(match[2]), Decimal(match[1]), None) if match else None


def _read_stars(text: str, context: TypeContext) -> Converted | None:
    match = _STARS.search(text)
    if match is None:
        word = _STAR_CLASS.search(text)  # a class such as `star-rating Three`
        return _build(Decimal(_WORDS[word[1]]), Decimal(5), None, 0.7) if word and "star" in text else None
    rest = f"{text[: match.start()]} {text[match.end() :]}"
    if len(match[0].strip()) == 1 and any(char.isdigit() for char in rest):
        return None  # one star is a label: `★ 4.5`
    full = sum(match[0].count(char) for char in _FULL) + Decimal("0.5") * sum(match[0].count(char) for char in _HALF)
    best = len(re.sub(r"\s", "", match[0]))
    counts = read_numbers(rest, context)
    count = int(counts[-1].number) if counts and counts[-1].number == int(counts[-1].number) else None
    return _build(Decimal(full), Decimal(best if best > 1 and full != best else max(5, best)), count)


def _read_numbers(text: str, context: TypeContext) -> Converted:
    readings = read_numbers(text, context)
    if not readings:
        return fail("not_a_rating")
    # The numbers after the rating are counts, where `1.234` means thousands.
    first, rest = readings[0], read_numbers(text, context, is_price=True)[1:]
    if text[first.token.end :].lstrip("\u202f ").startswith("%"):
        return _build(first.number, Decimal(100), _count(rest))
    if rest and _OUT_OF.fullmatch(text, first.token.end, rest[0].token.start):
        return _build(first.number, rest[0].number, _count(rest[1:]))
    confidence = 0.8 if not rest else 0.7
    return _build(first.number, None, _count(rest), min(confidence, first.confidence))


def _count(readings: list[NumberReading]) -> int | float | str | None:
    whole = [reading.number for reading in readings if reading.number == reading.number.to_integral_value()]
    return store_exact(whole[-1]) if whole else None


def _build(value: Decimal, best: Decimal | None, count: Any, confidence: float = 1.0) -> Converted:
    if not 0 <= value <= 1000 or (best is not None and not 0 < best <= 1000) or (best is not None and value > best):
        return fail("not_a_rating")
    problems: tuple[str, ...] = ()
    rating: dict[str, Any] = {"value": store_exact(value), "best": None if best is None else store_exact(best)}
    if best is None and value > 100:  # a count, or a price
        return fail("not_a_rating")
    if best is None:
        problems, confidence = ("no_best",), min(confidence, 0.7)
    if isinstance(count, int) and count >= 0:
        rating["count"] = count
    return Converted(rating, confidence, problems)
