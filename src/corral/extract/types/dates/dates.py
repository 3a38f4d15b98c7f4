"""The types `date`, `time` and `datetime`: ISO 8601, with a zone if the page has one."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from corral.extract.types.characters import MAX_SHORT_CHARS, collapse_spaces, normalize_signs
from corral.extract.types.dates.parts import DateParts, find_date_parts, uses_other_calendar
from corral.extract.types.dates.relative import read_relative
from corral.extract.types.dates.times import ClockReading, find_clock, format_clock
from corral.extract.types.model import Converted, TypeContext, fail

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_JSON_DATE = re.compile(r"/date\((-?\d{10,13})(?:[+-]\d{4})?\)/")
_EPOCH_TEXT = re.compile(r"-?\d{10}(?:\.\d{1,6})?|\d{13}|\d{16}")
_ISO = re.compile(
    r"\d{4}-?(?:\d{2}-?\d{2}|w\d{2}(?:-?[1-7])?)"
    r"(?:[t ]\d{2}(?::?\d{2}(?::?\d{2}(?:[.,]\d{1,9})?)?)?(?:z|[+-]\d{2}(?::?\d{2})?)?)?"
)
_ZONE_NAME = re.compile(r"\s*\(?([a-z]{4,10}/[a-z_]{3,20})")  # `Europe/Berlin`
_ORDINAL = re.compile(r"(\d{4})-(\d{3})")
_WEEK = re.compile(r"(?:kw|week|woche|semaine|w)\s?(\d{1,2})[/, ]+\s?(\d{4})")
_RANGE = re.compile(r"\s*(?:–|—|〜|～|~|\s-\s|\s(?:to|bis|tot|au|al|till|do|hasta|по|until)\s|から|至)\s*")
_CLOSE_RANGE = re.compile(
    r"(?<![\d./-])(\d{1,2})\.?-(\d{1,2})(?=\.?,?\s+(?:de\s+)?[^\W\d_])|(?<=[^\W\d_]\s)(\d{1,2})-(\d{1,2})(?=,?\s\d{4})"
)

_BARE_DAY = re.compile(r"\D{0,6}?(\d{1,2})\.?(?:st|nd|rd|th|er|日|일)?(?:,?\s(\d{4}))?")


@dataclass(frozen=True, slots=True)
class DateReading:
    """A date, the time beside it if there is one, and the problems of the reading."""

    date: date | None
    clock: time | None = None
    confidence: float = 1.0
    problems: tuple[str, ...] = ()


def convert_date(raw: Any, context: TypeContext) -> Converted:
    reading = read_date(raw, context)
    if reading.date is None:
        return Converted(None, 0.0, reading.problems or ("not_a_date",))
    return Converted(reading.date.isoformat(), reading.confidence, reading.problems)


def convert_datetime(raw: Any, context: TypeContext) -> Converted:
    """Convert to a date with time. A date without a time becomes midnight, with the problem `no_time`."""
    reading = read_date(raw, context)
    if reading.date is None:
        return Converted(None, 0.0, reading.problems or ("not_a_date",))
    if reading.clock is None:
        value, confidence = f"{reading.date.isoformat()}T00:00:00", min(reading.confidence, 0.8)
        return Converted(value, confidence, (*reading.problems, "no_time"))
    return Converted(f"{reading.date.isoformat()}T{format_clock(reading.clock)}", reading.confidence, reading.problems)


def convert_time(raw: Any, context: TypeContext) -> Converted:
    text = _prepare(raw)
    if text is None:
        return fail("not_a_time")
    if _ISO.fullmatch(text):
        reading = read_date(raw, context)
        return Converted(format_clock(reading.clock)) if reading.clock else fail("not_a_time")
    clock = find_clock(text)
    if clock is None:
        return _convert_points(text)
    problems = _find_clock_range(text, clock)
    return Converted(format_clock(clock.time), 0.5 if problems else 1.0, problems)


def _convert_points(text: str) -> Converted:
    """Convert `14.30`, which is a time only in a field of this type."""
    match = re.fullmatch(r"([01]?\d|2[0-3])\.([0-5]\d)", text)
    return Converted(f"{int(match[1]):02}:{match[2]}:00", 0.8) if match else fail("not_a_time")


def read_date(raw: Any, context: TypeContext) -> DateReading:
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        digits = len(str(int(abs(raw)))) if abs(raw) < 10**17 else 0
        return _read_epoch(float(raw) if digits else 0.0, digits=digits)
    if isinstance(raw, str) and len(raw) > MAX_SHORT_CHARS:
        return DateReading(None, problems=("too_long",))
    text = _prepare(raw)
    if text is None:
        return DateReading(None)
    return _read_machine(text) or _read_written(text, context) or DateReading(None)


def _prepare(raw: Any) -> str | None:
    if not isinstance(raw, str) or len(raw) > MAX_SHORT_CHARS:
        return None
    return collapse_spaces(normalize_signs(raw).casefold()) or None


def _read_machine(text: str) -> DateReading | None:
    """Read forms that are unambiguous everywhere: ISO 8601, seconds since 1970."""
    if match := _JSON_DATE.fullmatch(text):
        text = match[1]
    if _EPOCH_TEXT.fullmatch(text):
        return _read_epoch(float(text), digits=len(text.lstrip("-").partition(".")[0]))
    if _ISO.fullmatch(text):
        return _read_iso(text)
    if match := _ORDINAL.fullmatch(text):
        return _read_iso_parts(lambda: date(int(match[1]), 1, 1) + timedelta(days=int(match[2]) - 1))
    if match := _WEEK.fullmatch(text):
        reading = _read_iso_parts(lambda: date.fromisocalendar(int(match[2]), int(match[1]), 1))
        return replace(reading, confidence=0.6, problems=("partial_date:no_day",)) if reading else None
    return None


def _read_iso_parts(make: Any) -> DateReading | None:
    try:
        return DateReading(make())
    except (ValueError, OverflowError):
        return None


def _read_iso(text: str) -> DateReading | None:
    try:
        moment = datetime.fromisoformat(text.upper().replace(",", "."))
    except ValueError:
        return None
    return DateReading(moment.date(), moment.timetz() if "t" in text or " " in text else None)


def _read_epoch(number: float, *, digits: int) -> DateReading:
    """Read seconds since 1970, or milliseconds or microseconds by the number of digits."""
    scale = {9: 1, 10: 1, 12: 1_000, 13: 1_000, 16: 1_000_000}.get(digits)
    if scale is None:
        return DateReading(None)
    try:
        moment = _EPOCH + timedelta(seconds=number / scale)
    except OverflowError:
        return DateReading(None)
    return DateReading(moment.date(), moment.timetz())


def _read_written(text: str, context: TypeContext) -> DateReading | None:
    clock = find_clock(text)
    rest, problems = (text, ()) if clock is None else _remove_clock_range(text, clock)
    reading = _read_range(rest, context) or _read_single(rest, context)
    if reading is None:
        return _read_relative(text, context)
    if clock and (zone := _ZONE_NAME.match(text, clock.end)):
        problems = (*problems, f"unread_zone:{zone[1]}")
    confidence = min(reading.confidence, 0.5) if problems else reading.confidence
    return replace(
        reading, clock=clock.time if clock else None, confidence=confidence, problems=(*reading.problems, *problems)
    )


def _remove_clock_range(text: str, clock: ClockReading) -> tuple[str, tuple[str, ...]]:
    """Return the text without its times, and the problem if they are a range."""
    problems = _find_clock_range(text, clock)
    second = find_clock(text, clock.end)
    if second is None:
        return f"{text[: clock.start]} {text[clock.end :]}", problems
    between = "" if problems else text[clock.end : second.start]
    return f"{text[: clock.start]} {between} {text[second.end :]}", problems


def _find_clock_range(text: str, clock: ClockReading) -> tuple[str, ...]:
    second = find_clock(text, clock.end)
    if second is None or not re.fullmatch(
        r"\s*(?:uhr)?\s*(?:-|–|—|~|〜|～|to|bis|à|a|do|до|から)\s*", text[clock.end : second.start]
    ):
        return ()
    return (f"range:{format_clock(clock.time)}..{format_clock(second.time)}",)


def _read_range(text: str, context: TypeContext) -> DateReading | None:
    """Read a range such as `3–5 May 2026`: the value is the first day, and the problem has both."""
    text = _CLOSE_RANGE.sub(lambda match: f"{match[1] or match[3]} – {match[2] or match[4]}", text)
    pieces = _RANGE.split(text)
    if len(pieces) != 2:
        return None
    first, last = (_read_end(piece, context) for piece in pieces)
    if first is None or last is None or not (first.day and last.day):
        return None
    start, end = _to_reading(first.fill(last), context), _to_reading(last.fill(first), context)
    if start is None or end is None or start.date is None or end.date is None or start.date >= end.date:
        return None
    return replace(start, confidence=0.5, problems=(*start.problems, f"range:{start.date}..{end.date}"))


def _read_end(text: str, context: TypeContext) -> DateParts | None:
    text = text.strip()
    if _ISO.fullmatch(text):
        reading = _read_iso(text)
        return DateParts(reading.date.year, reading.date.month, reading.date.day) if reading and reading.date else None
    parts = find_date_parts(text, context)
    match = _BARE_DAY.fullmatch(text) if parts is None else None
    if match is None or int(match[1]) > 31:
        return parts
    return DateParts(int(match[2]) if match[2] else None, None, int(match[1]))


def _read_single(text: str, context: TypeContext) -> DateReading | None:
    parts = find_date_parts(text, context)
    return None if parts is None else _to_reading(parts, context)


def _to_reading(parts: DateParts, context: TypeContext) -> DateReading | None:
    """Return a complete date; the problems list the parts that were filled in."""
    if uses_other_calendar(parts, context):
        return DateReading(None, problems=("other_calendar",))
    problems: list[str] = [f"ambiguous_date:{parts.doubt}"] if parts.doubt else []
    year, confidence = parts.year, 0.5 if parts.doubt else 1.0
    if year is None:
        if context.now is None or parts.day is None or parts.month is None:
            return DateReading(None, problems=("no_year",))
        year, confidence = _nearest_year(parts, context.now), 0.5
        problems.append("partial_date:no_year")
    if parts.month is None or parts.day is None:
        problems.append("partial_date:no_month" if parts.month is None else "partial_date:no_day")
        confidence = min(confidence, 0.6)
    try:
        return DateReading(date(year, parts.month or 1, parts.day or 1), None, confidence, tuple(problems))
    except ValueError:
        return DateReading(None, problems=("not_a_date",))


def _nearest_year(parts: DateParts, now: datetime) -> int:
    """Return the year in which a day and month are nearest to the time of the page."""
    months = (parts.month or 1) - now.month
    return now.year - 1 if months > 6 else now.year + 1 if months < -6 else now.year


def _read_relative(text: str, context: TypeContext) -> DateReading | None:
    found = read_relative(text, context)
    if found is None:
        return None
    moment, period, has_time = found
    problems = () if period in ("day", "time") else (f"approximate:{period}",)
    return DateReading(moment.date(), moment.timetz() if has_time else None, 0.9 if not problems else 0.6, problems)
