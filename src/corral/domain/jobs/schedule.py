"""Schedules of jobs: named frequencies and cron expressions, in UTC."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property

from croniter import croniter

from corral.domain.errors import BadInput

ON_DEMAND = "on_demand"
_NAMED = {"hourly": "0 * * * *", "daily": "0 0 * * *", "weekly": "0 0 * * 0", "monthly": "0 0 1 * *"}
_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)

ACCEPTED = (
    "on_demand; hourly, daily, weekly (on Sunday), monthly; or five cron fields in UTC: minute, hour, day, month, "
    "weekday. Each is `*`, a number, a range `1-5`, a step `*/15` or `8-18/2`, or several of these with commas; "
    "months and weekdays also by name (`jan`, `mon-fri`), 7 is Sunday; where day and weekday are both given, "
    "either is enough"
)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        """Return the value of a number or name; -1 if the text is neither."""
        if text.lower() in self.names:
            return self.first + self.names.index(text.lower())
        return int(text) if re.fullmatch("[0-9]{1,2}", text) else -1

    def takes(self, text: str) -> bool:
        return all(self._takes_part(part) for part in text.split(","))

    def _takes_part(self, part: str) -> bool:
        span, slash, step = part.partition("/")
        if slash and not (re.fullmatch("[0-9]{1,2}", step) and 1 <= int(step) <= self.last):
            return False
        if span == "*":
            return True
        low, dash, high = span.partition("-")
        if slash and not dash:
            return False  # ambiguous: cron implementations disagree on `5/15`
        return self.first <= self.number(low) <= (self.number(high) if dash else self.last) <= self.last


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("weekday", 0, 7, _WEEKDAYS),
)


def check_frequency(text: str) -> str:
    """Return the frequency; raise BadInput if it is neither a known name nor five cron fields."""
    if text == ON_DEMAND or text in _NAMED:
        return text
    parts = text.split(" ")
    if len(parts) != len(_FIELDS):
        raise _bad_frequency(text, "is neither a known name nor five cron fields")
    for field, part in zip(_FIELDS, parts, strict=True):
        if not field.takes(part):
            raise _bad_frequency(text, f"has {part[:40]!r} for the {field.name}, which is not understood")
    if not _ever_fires(text):
        raise _bad_frequency(text, "never fires: there is no such day")
    return text


def _bad_frequency(text: str, what: str) -> BadInput:
    return BadInput(f"frequency {text[:100]!r} {what}", field="frequency", hint=ACCEPTED)


def _ever_fires(expression: str) -> bool:
    try:
        croniter(expression, datetime(2024, 1, 1, tzinfo=UTC)).get_next(datetime)
    except (ValueError, KeyError):  # croniter's errors derive from ValueError
        return False
    return True


def next_slot(frequency: str, after: datetime) -> datetime | None:
    """Return the first slot strictly after the moment; None for jobs that run only on demand."""
    if frequency == ON_DEMAND:
        return None
    expression = _NAMED.get(frequency, frequency)
    slot: datetime = croniter(expression, after.astimezone(UTC)).get_next(datetime)
    return slot.astimezone(UTC)


def find_due_slots(frequency: str, first: datetime, now: datetime) -> tuple[datetime, int, datetime]:
    """Return the latest slot that has come since `first`, the number of missed slots before it, and the next slot."""
    check_frequency(frequency)  # a job of an older version may have a frequency that is no longer accepted
    following = next_slot(frequency, max(first, now))
    assert following is not None, "only scheduled jobs have due slots"
    expression = _NAMED.get(frequency, frequency)
    this_minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    latest = croniter(expression, this_minute + _MINUTE).get_prev(datetime).astimezone(UTC)
    if latest <= first:
        return first, 0, following
    calendar = _Calendar.of(expression)
    since = first.astimezone(UTC)
    return latest, calendar.count_until(latest, since.date()) - calendar.count_until(since, since.date()), following


@dataclass(frozen=True)
class _Calendar:
    """A cron expression as sets. Slots are counted per day, not one by one: a year has half a million minutes."""

    minutes: Collection[int]
    hours: Collection[int]
    days: Collection[int]
    months: Collection[int]
    weekdays: Collection[int]
    either_day: bool

    @classmethod
    def of(cls, expression: str) -> "_Calendar":
        minutes, hours, days, months, weekdays = croniter.expand(expression)[0]
        return cls(
            minutes=_numbers(minutes, range(60)),
            hours=_numbers(hours, range(24)),
            days=_numbers(days, range(1, 32)),
            months=_numbers(months, range(1, 13)),
            weekdays={number % 7 for number in _numbers(weekdays, range(7))},
            either_day="*" not in days and "*" not in weekdays,
        )

    def has(self, day: date) -> bool:
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (of_month or of_week if self.either_day else of_month and of_week)

    @cached_property
    def per_day(self) -> int:
        return len(self.minutes) * len(self.hours)

    def count_until(self, moment: datetime, start: date) -> int:
        """Count the slots from the start of a day up to and including the moment."""
        whole_days = sum(self.has(start + number * _DAY) for number in range((moment.date() - start).days))
        return whole_days * self.per_day + (self._count_within(moment) if self.has(moment.date()) else 0)

    def _count_within(self, moment: datetime) -> int:
        earlier_hours = sum(hour < moment.hour for hour in self.hours)
        this_hour = sum(minute <= moment.minute for minute in self.minutes) if moment.hour in self.hours else 0
        return earlier_hours * len(self.minutes) + this_hour


def _numbers(values: Sequence[int | str], every: range) -> Collection[int]:
    return every if "*" in values else {int(value) for value in values}
