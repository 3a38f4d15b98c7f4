"""Maintenance windows, such as `22:00-06:00` or `sun 02:00-04:00` in UTC, in which the loop starts nothing."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from corral.domain.errors import BadInput

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WINDOW = re.compile(r"(?:([a-z]{3})\s+)?(\d{2}):(\d{2})-(\d{2}):(\d{2})", re.ASCII)


class MaintenanceWindow(NamedTuple):
    """A window in minutes of the day. One that ends before it starts continues after midnight."""

    start: int
    end: int
    weekday: int | None = None  # of its start; Monday is 0

    def contains(self, now: datetime) -> bool:
        minute, day = now.hour * 60 + now.minute, now.weekday()
        if self.start <= self.end:
            return self.start <= minute < self.end and self.weekday in {None, day}
        if minute >= self.start:
            return self.weekday in {None, day}
        return minute < self.end and self.weekday in {None, (day - 1) % 7}


def parse_window(text: str) -> MaintenanceWindow:
    match = _WINDOW.fullmatch(text.strip().lower())
    if match is not None:
        day, *numbers = match.groups()
        hour, minute, end_hour, end_minute = map(int, numbers)
        is_time = hour < 24 and minute < 60 and end_minute < 60 and end_hour * 60 + end_minute <= 24 * 60
        start, end = hour * 60 + minute, end_hour * 60 + end_minute
        if is_time and start != end and (day is None or day in _DAYS):
            return MaintenanceWindow(start, end, None if day is None else _DAYS.index(day))
    raise BadInput(
        f"{text[:40]!r} is no maintenance window", field="window", hint="write 22:00-06:00 or sun 02:00-04:00, in UTC"
    )


def is_maintenance(windows: Iterable[str], now: datetime) -> bool:
    return any(parse_window(text).contains(now) for text in windows)
