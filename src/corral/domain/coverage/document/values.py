"""Read the values of dimensions: a list, `range`, `days`, `weeks`, `months`, `years` or `seasons`."""

from collections.abc import Callable
from datetime import date
from typing import Any

from corral.domain.coverage.document.section import Section, show
from corral.domain.coverage.season import USUAL_SEASONS, SeasonCalendar, read_season
from corral.domain.coverage.spans import read_day
from corral.domain.coverage.values import (
    CalendarValues,
    ListValues,
    RangeValues,
    SeasonValues,
    Unit,
    ValueSet,
    check_size,
    season_calendar_of,
)

_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EMPTY = ListValues(())
# An arbitrary day, used only to check whether a relative day can be parsed.
_SOME_DAY = date(2024, 1, 1)
_FIRST_YEAR, _LAST_YEAR = 1800, 2200


def read_values(parent: Section, name: str) -> ValueSet:
    value = parent.take(name)
    if isinstance(value, list | tuple):
        return _read_list(parent, name, list(value))
    if not isinstance(value, dict):
        return _read_list(parent, name, [value])
    section = parent.section_of(value, name)
    kinds = [kind for kind in section.names if kind in _READERS]
    if len(kinds) != 1 or len(section.names) != 1:
        section.report("", f"name exactly one of {', '.join(_READERS)}, or write a list of values")
        return _EMPTY
    inner = section.section(kinds[0])
    if inner is None:
        section.report(kinds[0], "is empty")
        return _EMPTY
    values = _READERS[kinds[0]](inner)
    inner.finish()
    return values


def _read_list(parent: Section, name: str, values: list[Any]) -> ValueSet:
    accepted: list[str | int] = []
    for value in values:
        if isinstance(value, date):
            accepted.append(value.isoformat())
        elif isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            parent.report(name, f"{show(value)} is no value: use text or whole numbers")
        else:
            accepted.append(value)
    if not values:
        parent.report(name, "is an empty list")
    return ListValues(tuple(accepted))


def _read_range(section: Section) -> ValueSet:
    first, last = section.whole("from", 0, minimum=-(10**15), maximum=10**15), section.take("to")
    if isinstance(last, bool) or not isinstance(last, int):
        section.report("to", "expected a whole number" if last is not None else "is missing")
        last = first
    values = RangeValues(
        first,
        last,
        section.whole("step", 1, minimum=-(10**9), maximum=10**9),
        section.whole("pad", 0, maximum=64),
        section.text("prefix"),
        section.text("suffix"),
    )
    if values.step == 0:
        section.report("step", "is 0")
        return _EMPTY
    if not check_size(values):
        section.report("", "has more than ten million values")
        return _EMPTY
    if (values.last - values.first) * values.step < 0:
        section.report("", f"from {first} to {last} by {values.step} has no values")
    return values


def _read_calendar(unit: Unit) -> Callable[[Section], ValueSet]:
    def read(section: Section) -> ValueSet:
        start, end = _read_bound(section, "from", None), _read_bound(section, "to", "today")
        excluded = tuple(_read_exclusion(section, each) for each in section.sequence("exclude"))
        form = section.text("format")
        weekdays = _read_weekdays(section) if unit is Unit.DAYS else frozenset(range(7))
        if not start or not end or not all(excluded):
            return _EMPTY
        first, last = read_day(start, _SOME_DAY), read_day(end, _SOME_DAY)
        if first and last and "today" not in start + end and first > last:
            section.report("", f"from {start} to {end} has no {unit.value}")
        return CalendarValues(unit, start, end, form, excluded, weekdays)

    return read


def _read_bound(section: Section, name: str, default: str | None) -> str:
    value = section.take(name, default)
    if value is None:
        section.report(name, "is missing")
        return ""
    day = read_day(value, _SOME_DAY)
    if day is None or not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        section.report(name, f"expected a day such as 2024-10-01 or today-7d, found {show(value)}")
        return ""
    return value if isinstance(value, str) else day.isoformat()


def _read_exclusion(section: Section, value: Any) -> str:
    """Check a day, or a period written as `first..last`; return it as text, empty if it is neither."""
    start, dots, end = str(value).partition("..")
    days = [read_day(part, _SOME_DAY) for part in ((start, end) if dots else (start,))]
    if None in days:
        section.report("exclude", f"{show(value)} is no day (2024-12-25) and no period (2024-07-01..2024-08-31)")
        return ""
    return str(value)


def _read_weekdays(section: Section) -> frozenset[int]:
    names = [str(each).lower()[:3] for each in section.sequence("weekdays")]
    unknown = [name for name in names if name not in _WEEKDAYS]
    if unknown:
        section.report("weekdays", f"{', '.join(unknown)} is not one of {', '.join(_WEEKDAYS)}")
    weekdays = frozenset(_WEEKDAYS.index(name) for name in names if name in _WEEKDAYS)
    return weekdays or frozenset(range(7))


def _read_seasons(section: Section) -> ValueSet:
    first, last = section.text("from", is_required=True), section.text("to", "current")
    excluded = tuple(str(each) for each in section.sequence("exclude"))
    starts = read_season_start(section, season_calendar_of(first) if first else USUAL_SEASONS)
    begin = read_season(first)
    end = None if last == "current" else read_season(last)
    if first and begin is None:
        section.report("from", f"{first!r} is no season such as 2024-25 or 2024")
    if last != "current" and end is None:
        section.report("to", f"{last!r} is no season such as 2024-25, 2024 or current")
    if begin is None or (last != "current" and end is None):
        return _EMPTY
    if end is not None and begin > end:
        section.report("", f"from {first} to {last} has no seasons")
    return SeasonValues(first, last, starts, excluded)


def read_season_start(section: Section, default: SeasonCalendar) -> SeasonCalendar:
    """Read `starts: 10-01`, the month and day on which seasons begin."""
    text = section.text("starts")
    if not text:
        return default
    try:
        day = date.fromisoformat(f"2023-{text}")
    except ValueError:
        section.report("starts", f"expected a month and a day such as 10-01, found {text!r}")
        return default
    return SeasonCalendar(day.month, day.day)


_READERS: dict[str, Callable[[Section], ValueSet]] = {
    "range": _read_range,
    "seasons": _read_seasons,
    **{unit.value: _read_calendar(unit) for unit in Unit if unit is not Unit.SEASONS},
}
