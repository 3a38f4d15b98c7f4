"""The types `number`, `integer`, `decimal` and `percentage`."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from corral.extract.types.characters import MAX_SHORT_CHARS, normalize_signs, to_text
from corral.extract.types.locales import number_symbols, split_tag
from corral.extract.types.model import Converted, TypeContext, fail
from corral.extract.types.numeric.tokens import (
    NumberStyle,
    NumberToken,
    find_numbers,
    is_range,
    prepare_number_text,
    read_token,
)

_MAX_DIGITS = 50
_MAX_INTEGER = 2**63 - 1  # the limit of databases and JSON writers
_DOUBTFUL = 0.6
_PERCENT_WORD = re.compile(
    r"(?<=\d)[ \u202f]?(?:percent|per cent|prozent|pour cent|pourcents?|por ciento|procent|процент\w*)",
    re.IGNORECASE,
)
_CHOSEN = 0.5  # confidence of one of several numbers


@dataclass(frozen=True, slots=True)
class NumberReading:
    """A number in a text, or a range of two."""

    number: Decimal
    token: NumberToken
    confidence: float = 1.0
    problems: tuple[str, ...] = ()
    high: Decimal | None = None  # the upper end of a range


def read_numbers(text: str, context: TypeContext, *, is_price: bool = False) -> list[NumberReading]:
    """Return every number of a text in order; a range is one reading."""
    style: NumberStyle | None = None
    readings: list[NumberReading] = []
    previous: NumberToken | None = None
    for token in find_numbers(text, split_tag(context.language)[0]):
        if style is None or style.decimal == "":
            style = _style_for(token, context, is_price=is_price)
        number, doubt = read_token(token, style)
        if number is None or not _is_reasonable(number):
            previous = None
            continue
        if previous and readings and readings[-1].high is None and is_range(text, previous, token):
            readings[-1] = _extend_range(readings[-1], number, token)
            previous = None
            continue
        problems = (f"ambiguous_number:{doubt}",) if doubt else ()
        readings.append(NumberReading(number, token, _DOUBTFUL if doubt else 1.0, problems))
        previous = token
    return readings


def _style_for(token: NumberToken, context: TypeContext, *, is_price: bool) -> NumberStyle:
    """Return the symbols of the page's language, which only numbers with a sign need."""
    if token.body.isdigit():
        return NumberStyle(is_price=is_price)
    decimal, group = number_symbols(context)
    return NumberStyle(decimal, group, is_price)


def _is_reasonable(number: Decimal) -> bool:
    return number.is_finite() and abs(number.adjusted()) < _MAX_DIGITS and len(number.as_tuple().digits) <= _MAX_DIGITS


def _extend_range(low: NumberReading, high: Decimal, token: NumberToken) -> NumberReading:
    first = low.number
    if token.scale and not low.token.scale and first < high:
        first = first.scaleb(token.scale)  # `10–12 million`: the scale belongs to both
    both = replace(low.token, end=token.end)
    if first >= high:
        return replace(low, token=both, confidence=_CHOSEN, problems=(*low.problems, "several_numbers"))
    problem = f"range:{format_number(first)}..{format_number(high)}"
    return replace(low, number=first, token=both, high=high, confidence=_CHOSEN, problems=(*low.problems, problem))


def format_number(number: Decimal) -> str:
    return f"{number.normalize():f}"


def choose_number(readings: list[NumberReading]) -> NumberReading:
    """Return the first number, with lower confidence if the text has others."""
    first = readings[0]
    if len(readings) == 1 or "several_numbers" in first.problems:
        return first
    return replace(first, confidence=min(first.confidence, _CHOSEN), problems=(*first.problems, "several_numbers"))


def store_exact(number: Decimal) -> int | float | str:
    """Return a JSON number if it preserves every digit, otherwise the digits as text."""
    if number == number.to_integral_value():
        whole = int(number)
        return whole if abs(whole) <= _MAX_INTEGER else str(whole)
    approximate = float(number)
    return approximate if Decimal(repr(approximate)) == number else format_number(number)


def convert_number(raw: Any, context: TypeContext) -> Converted:
    return _convert(raw, context, "not_a_number", _store_number)


def convert_integer(raw: Any, context: TypeContext) -> Converted:
    return _convert(raw, context, "not_an_integer", _store_integer)


def convert_decimal(raw: Any, context: TypeContext) -> Converted:
    return _convert(raw, context, "not_a_number", lambda number: (store_exact(number), ""))


def convert_percentage(raw: Any, context: TypeContext) -> Converted:
    """Convert to the number before a percent sign: 12.5 for `12,5 %`. A number without a sign is taken as written."""
    if isinstance(raw, str):
        text = _PERCENT_WORD.sub("%", normalize_signs(raw[:MAX_SHORT_CHARS]))
        if "‰" in text:
            return fail("not_a_percentage")
        if "%" in text:
            return _convert_percent_sign(text, context)
    converted = convert_decimal(raw, context)
    if converted.value is None or not isinstance(raw, str):
        return converted if converted.value is not None else fail("not_a_percentage")
    return replace(
        converted, confidence=min(converted.confidence, 0.7), problems=(*converted.problems, "no_percent_sign")
    )


def _convert_percent_sign(text: str, context: TypeContext) -> Converted:
    readings = read_numbers(prepare_number_text(text), context)
    near = [reading for reading in readings if _touches_percent(text, reading.token)]
    if not near:
        return fail("not_a_percentage")
    chosen = choose_number(near)
    return Converted(store_exact(chosen.number), chosen.confidence, chosen.problems)


def _touches_percent(text: str, token: NumberToken) -> bool:
    return text[token.end :].lstrip("+ \u202f").startswith("%") or text[: token.start].rstrip(" \u202f").endswith("%")


def _convert(
    raw: Any, context: TypeContext, problem: str, store: Callable[[Decimal], tuple[int | float | str | None, str]]
) -> Converted:
    if isinstance(raw, bool):
        return fail(problem)
    if isinstance(raw, int | float):
        reading = _read_typed(raw)
    else:
        text = to_text(raw)
        if text is None or len(text) > MAX_SHORT_CHARS:
            return fail(problem if text is None else "too_long")
        readings = read_numbers(prepare_number_text(normalize_signs(text)), context)
        reading = choose_number(readings) if readings else None
    if reading is None:
        return fail(problem)
    value, loss = store(reading.number)
    if value is None:
        return fail(loss or problem)
    return Converted(value, reading.confidence, (*reading.problems, loss) if loss else reading.problems)


def to_decimal(raw: int | float) -> Decimal | None:
    """Convert a number from JSON or from an earlier conversion; return None if it is out of range."""
    if isinstance(raw, int):
        # Longer integers are slow to convert, and Python refuses to format them.
        number = Decimal(raw) if raw.bit_length() < 330 else None
    else:
        number = Decimal(repr(raw)) if math.isfinite(raw) else None
    return number if number is not None and _is_reasonable(number) else None


def _read_typed(raw: int | float) -> NumberReading | None:
    number = to_decimal(raw)
    return None if number is None else NumberReading(number, NumberToken(0, 0, "", ""))


def _store_number(number: Decimal) -> tuple[int | float, str]:
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent >= 0 and abs(number) <= _MAX_INTEGER:
        return int(number), ""
    approximate = float(number)
    return approximate, "" if Decimal(repr(approximate)) == number else "rounded"


def _store_integer(number: Decimal) -> tuple[int | None, str]:
    if number != number.to_integral_value():
        return None, "not_an_integer"
    return (int(number), "") if abs(number) <= _MAX_INTEGER else (None, "out_of_range")
