"""Spans of time and days as people write them: `24h`, `7d`, `2024-10-01`, `today-30d`."""

import re
from datetime import date, datetime, timedelta
from typing import Any

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(s|m|min|h|d|w)\s*", re.ASCII)
_RELATIVE = re.compile(r"\s*today(?:\s*([+-])\s*(\d{1,6})\s*([dw]))?\s*", re.ASCII)


def read_span(value: Any) -> float | None:
    """Parse a span of time into seconds; None if it is not one. A bare number has no unit and is refused."""
    match = _SPAN.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else float(match[1]) * _UNITS[match[2]]


def format_span(seconds: float) -> str:
    """Format a span in the largest unit that gives at least 1, such as `30 h` or `3 d`."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size or (unit != "d" and seconds >= size):
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def read_day(value: Any, today: date) -> date | None:
    """Parse a date, or a day relative to today; None if it is neither."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        return None
    relative = _RELATIVE.fullmatch(value)
    try:
        if relative is None:
            return date.fromisoformat(value.strip())
        sign, count, unit = relative.groups()
        days = 0 if count is None else int(count) * (7 if unit == "w" else 1)
        return today + timedelta(days=-days if sign == "-" else days)
    except (ValueError, OverflowError):
        return None
