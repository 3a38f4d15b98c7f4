"""The values of one dimension of a key: lists, ranges and calendars."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Protocol

from corral.domain.coverage.season import (
    CALENDAR_YEARS,
    USUAL_SEASONS,
    SeasonCalendar,
    format_season,
    has_two_years,
    read_season,
)
from corral.domain.coverage.spans import read_day

Value = str | int

_MAX_VALUES = 10_000_000


class Unit(StrEnum):
    DAYS = "days"
    WEEKS = "weeks"
    MONTHS = "months"
    YEARS = "years"
    SEASONS = "seasons"


DATE_FORMATS = {Unit.DAYS: "%Y-%m-%d", Unit.WEEKS: "%G-W%V", Unit.MONTHS: "%Y-%m", Unit.YEARS: "%Y"}


class ValueSet(Protocol):
    def expand(self, today: date) -> Iterator[Value]: ...


@dataclass(frozen=True, slots=True)
class ListValues:
    values: tuple[Value, ...]

    def expand(self, today: date) -> Iterator[Value]:  # noqa: ARG002 - a list is the same every day
        return iter(dict.fromkeys(self.values))


@dataclass(frozen=True, slots=True)
class RangeValues:
    """Whole numbers from `first` to `last`, both included. With padding or an affix the values are text."""

    first: int
    last: int
    step: int = 1
    pad: int = 0
    prefix: str = ""
    suffix: str = ""

    def expand(self, today: date) -> Iterator[Value]:  # noqa: ARG002 - a range is the same every day
        numbers = range(self.first, self.last + (1 if self.step > 0 else -1), self.step)
        if not (self.pad or self.prefix or self.suffix):
            return iter(numbers)
        return (f"{self.prefix}{number:0{self.pad}d}{self.suffix}" for number in numbers)


@dataclass(frozen=True, slots=True)
class CalendarValues:
    """Days, weeks, months or years between two days, both included. A period is expected once it has begun."""

    unit: Unit
    start: str
    end: str
    written: str = ""  # of strftime; empty: as ISO 8601 writes it
    excluded: tuple[str, ...] = ()
    weekdays: frozenset[int] = frozenset(range(7))  # of days: Monday is 0

    def expand(self, today: date) -> Iterator[Value]:
        first, last = read_day(self.start, today), read_day(self.end, today)
        assert first is not None
        assert last is not None
        form = self.written or DATE_FORMATS[self.unit]
        return (on.strftime(form) for on in self._walk(first, last, self._exclusions(today)))

    def _walk(self, first: date, last: date, excluded: set[date]) -> Iterator[date]:
        on = _start_of(first, self.unit)
        while on <= last:
            is_day = self.unit is Unit.DAYS
            if on not in excluded and (not is_day or on.weekday() in self.weekdays):
                yield on
            on = _next_after(on, self.unit)

    def _exclusions(self, today: date) -> set[date]:
        """Return the excluded days, from single days and from periods written as `first..last`."""
        days: set[date] = set()
        for text in self.excluded:
            start, _, end = text.partition("..")
            first = read_day(start, today)
            last = read_day(end, today) if end else first
            assert first is not None
            assert last is not None
            days.update(first + timedelta(days=each) for each in range((last - first).days + 1))
        return {_start_of(each, self.unit) for each in days} if self.unit is not Unit.DAYS else days


@dataclass(frozen=True, slots=True)
class SeasonValues:
    """Seasons from the first to the last, which may be `current`."""

    first: str
    last: str = "current"
    calendar: SeasonCalendar = USUAL_SEASONS
    excluded: tuple[str, ...] = ()

    def expand(self, today: date) -> Iterator[Value]:
        begin = read_season(self.first)
        end = self.calendar.year_of(today) if self.last == "current" else read_season(self.last)
        assert begin is not None
        assert end is not None
        names = (format_season(year, self.first) for year in range(begin, end + 1))
        return (name for name in names if name not in self.excluded)


def season_calendar_of(first: str) -> SeasonCalendar:
    """Return the usual start of seasons in this notation: July for two years, January for one."""
    return USUAL_SEASONS if has_two_years(first) else CALENDAR_YEARS


def check_size(values: RangeValues) -> bool:
    return abs(values.last - values.first) // abs(values.step) < _MAX_VALUES


def _start_of(on: date, unit: Unit) -> date:
    match unit:
        case Unit.WEEKS:
            return on - timedelta(days=on.weekday())
        case Unit.MONTHS:
            return on.replace(day=1)
        case Unit.YEARS:
            return on.replace(month=1, day=1)
        case _:
            return on


def _next_after(on: date, unit: Unit) -> date:
    match unit:
        case Unit.WEEKS:
            return on + timedelta(days=7)
        case Unit.MONTHS:
            return (on + timedelta(days=31)).replace(day=1)
        case Unit.YEARS:
            return on.replace(year=on.year + 1)
        case _:
            return on + timedelta(days=1)
