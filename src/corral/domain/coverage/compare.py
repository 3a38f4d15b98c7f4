"""Compare expected keys with an inventory. Only the present keys and the gaps are held in memory."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from corral.domain.coverage.absence import Absence
from corral.domain.coverage.condition import Moment, find_age_limit
from corral.domain.coverage.gap import Entry, Facts, Gap, GapType
from corral.domain.coverage.season import read_season
from corral.domain.coverage.spans import format_span
from corral.domain.coverage.spec import SourceSpec
from corral.domain.coverage.values import Value

_HEALTHY, _COUNTED = 0, 1


@dataclass(slots=True)
class PeriodCount:
    """Keys of one source in one period."""

    expected: int = 0
    present: int = 0
    absent: int = 0
    gaps: Counter[GapType] = field(default_factory=Counter)

    @property
    def completeness(self) -> float:
        return completeness_of(self.present, self.expected - self.absent)


def completeness_of(present: int, expected: int) -> float:
    """Return the completeness from 0 to 100, with one decimal; 100 only if nothing is missing."""
    if expected <= 0 or present >= expected:
        return 100.0
    return max(0, present) * 1000 // expected / 10


@dataclass(slots=True)
class Coverage:
    """The result for one source."""

    source: str
    periods: dict[str, PeriodCount] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)  # keys that were reported as absent and are present
    unexpected: int = 0

    def total(self) -> PeriodCount:
        total = PeriodCount()
        for count in self.periods.values():
            total.expected += count.expected
            total.present += count.present
            total.absent += count.absent
            total.gaps.update(count.gaps)
        return total


class Comparison:
    """Add every entry of the inventory first, then call `finish` with the expected keys."""

    def __init__(self, source: SourceSpec, moment: Moment, absences: Iterable[Absence] = ()) -> None:
        self._source = source
        self._moment = moment
        self._absences = {absence.key: absence for absence in absences}
        self._writer = source.key.writer(source.names)
        self._states: dict[str, int | tuple[GapType, str]] = {}
        self._reader = FactReader(source)
        self._ages: dict[Facts, float | None] = {}
        # Without conditions on values, the allowed age depends only on season and date and can be cached.
        self._has_ages_by_value = any(rule.condition.where for rule in source.rules.fresh)

    def add(self, entries: Iterable[Entry]) -> None:
        states, write = self._states, self._writer.write
        for entry in entries:
            key = write(entry.values)
            verdict = self._judge(entry)
            if verdict is None:
                states[key] = _HEALTHY
            elif key not in states:  # of two files for one key, the good one counts
                states[key] = verdict

    def _judge(self, entry: Entry) -> tuple[GapType, str] | None:
        rules, size = self._source.rules, entry.size
        if entry.problem is not None and size != 0:
            return GapType.CORRUPT, entry.problem
        if size is not None and size < rules.min_bytes:
            if size == 0:
                return GapType.EMPTY, "0 bytes"
            return GapType.TOO_SMALL, f"{size} bytes, at least {rules.min_bytes} expected"
        if not rules.fresh or entry.modified is None:
            return None
        allowed_s = self._find_age_limit(entry.values)
        age_s = self._moment.now - entry.modified
        if allowed_s is None or age_s <= allowed_s:
            return None
        return GapType.STALE, f"{format_span(age_s)} old, fresh within {format_span(allowed_s)}"

    def _find_age_limit(self, values: tuple[Value, ...]) -> float | None:
        facts, rules = self._reader.read(values), self._source.rules.fresh
        if self._has_ages_by_value:
            return find_age_limit(facts, self._reader.texts(values), rules, self._moment)
        if facts not in self._ages:
            self._ages[facts] = find_age_limit(facts, {}, rules, self._moment)
        return self._ages[facts]

    def finish(self, expected: Iterable[tuple[Value, ...]]) -> Coverage:
        coverage, states, write = Coverage(self._source.name), self._states, self._writer.write
        periods, counted, seen = coverage.periods, 0, set[str]()
        for values in expected:
            key = write(values)
            state = states.get(key)
            if state == _COUNTED or (state != _HEALTHY and key in seen):
                continue  # expected twice
            facts = self._reader.read(values)
            count = periods.get(facts.period)
            if count is None:
                count = periods[facts.period] = PeriodCount()
            count.expected += 1
            if state == _HEALTHY:
                count.present += 1
                states[key] = _COUNTED
                counted += 1
                if key in self._absences:
                    coverage.returned.append(key)
                continue
            seen.add(key)
            if isinstance(state, tuple):
                counted += 1
            self._add_gap(coverage, count, key, values, state if isinstance(state, tuple) else None, facts)
        coverage.unexpected = len(states) - counted
        return coverage

    def _add_gap(  # noqa: PLR0917 - one key
        self,
        coverage: Coverage,
        count: PeriodCount,
        key: str,
        values: tuple[Value, ...],
        verdict: tuple[GapType, str] | None,
        facts: Facts,
    ) -> None:
        kind, reason = verdict or (GapType.MISSING, "not there")
        absence = self._absences.get(key)
        if verdict is None and absence is not None and absence.is_confirmed(self._source.absence):
            if not absence.is_due(self._source.absence, self._moment.now):
                count.absent += 1
                return
            kind, reason = GapType.RECHECK, f"absent when last requested, {absence.describe()}"
        count.gaps[kind] += 1
        coverage.gaps.append(Gap(key, values, kind, facts, reason))


class FactReader:
    """Reads season and date from the values of keys, with a cache."""

    def __init__(self, source: SourceSpec) -> None:
        self._names = source.names
        self._season_at = source.names.index(source.season) if source.season else None
        self._date_at = source.names.index(source.date) if source.date else None
        self._calendar = source.season_calendar
        self._format = source.date_format
        self._known: dict[tuple[Value | None, Value | None], Facts] = {}

    def read(self, values: tuple[Value, ...]) -> Facts:
        season = None if self._season_at is None else values[self._season_at]
        on = None if self._date_at is None else values[self._date_at]
        facts = self._known.get((season, on))
        if facts is None:
            facts = self._known[season, on] = self._read(season, on)
        return facts

    def _read(self, season: Value | None, on: Value | None) -> Facts:
        day = None if on is None else self._read_date(str(on))
        year = None if season is None else read_season(str(season))
        if year is None and day is not None:
            year = self._calendar.year_of(day)
        if season is not None:
            period = str(season)
        else:
            period = "all" if day is None else f"{day:%Y-%m}"
        return Facts(year, day, period)

    def _read_date(self, text: str) -> date | None:
        date_format, dated = self._format, text
        if "%V" in date_format:  # a week: its Monday
            date_format, dated = f"{date_format} %u", f"{text} 1"
        try:
            return datetime.strptime(dated, date_format).replace(tzinfo=UTC).date()
        except ValueError:
            return None

    def texts(self, values: tuple[Value, ...]) -> dict[str, str]:
        return {name: str(value) for name, value in zip(self._names, values, strict=True)}
