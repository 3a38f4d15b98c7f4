"""Conditions of priority and freshness rules, and the default priorities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from corral.domain.coverage.gap import Facts, Gap, GapType, RankedGap
from corral.domain.jobs.job import Priority


@dataclass(frozen=True, slots=True)
class Moment:
    """The time of a reconciliation, in the forms that rules need."""

    now: float
    today: date
    season: int  # the first year of the current season


@dataclass(frozen=True, slots=True)
class Condition:
    """Every part that is set must hold. A key without a date matches no condition on dates; the same for seasons."""

    within_days: int | None = None
    seasons: int | None = None  # the current season and this many before it
    where: Mapping[str, frozenset[str]] = field(default_factory=dict)
    gap_types: frozenset[GapType] = frozenset()
    completeness_below: float | None = None
    is_undated: bool | None = None  # True: only keys with neither date nor season

    def holds(self, facts: Facts, values: Mapping[str, str], moment: Moment) -> bool:
        """True if the parts that concern the key hold."""
        if self.within_days is not None and not _is_recent(facts, self.within_days, moment):
            return False
        if self.seasons is not None and not _is_in_last_seasons(facts, self.seasons, moment):
            return False
        if self.is_undated is not None and self.is_undated != (facts.on is None and facts.season is None):
            return False
        return all(values.get(name) in allowed for name, allowed in self.where.items())

    def holds_for_gap(self, gap: Gap, values: Mapping[str, str], moment: Moment, completeness: float) -> bool:
        if self.gap_types and gap.type not in self.gap_types:
            return False
        if self.completeness_below is not None and completeness >= self.completeness_below:
            return False
        return self.holds(gap.facts, values, moment)


@dataclass(frozen=True, slots=True)
class PriorityRule:
    condition: Condition
    priority: Priority
    reason: str  # may contain {completeness}


@dataclass(frozen=True, slots=True)
class FreshnessRule:
    within_s: float
    condition: Condition = Condition()


# Recent keys first, then the current season, recent seasons, and the backfill. Keys without a date or season are ranked
# by the completeness of their source.
DEFAULT_PRIORITIES = (
    PriorityRule(Condition(within_days=7), Priority.CRITICAL, "of the last 7 days"),
    PriorityRule(Condition(seasons=0), Priority.HIGH, "of the current season"),
    PriorityRule(Condition(seasons=2), Priority.MEDIUM, "of a recent season"),
    PriorityRule(
        Condition(is_undated=True, completeness_below=50),
        Priority.CRITICAL,
        "source only {completeness}% complete - major gaps",
    ),
    PriorityRule(
        Condition(is_undated=True, completeness_below=90), Priority.HIGH, "source only {completeness}% complete"
    ),
    PriorityRule(Condition(is_undated=True, completeness_below=99), Priority.MEDIUM, "source {completeness}% complete"),
)
BACKFILL = PriorityRule(Condition(), Priority.LOW, "historical backfill")


def rank_gap(
    gap: Gap, values: Mapping[str, str], rules: Sequence[PriorityRule], moment: Moment, completeness: float
) -> RankedGap:
    """Apply the first rule whose condition holds."""
    matches = (rule for rule in rules if rule.condition.holds_for_gap(gap, values, moment, completeness))
    rule = next(matches, BACKFILL)
    return RankedGap(gap, rule.priority, rule.reason.replace("{completeness}", f"{completeness:g}"))


def find_age_limit(
    facts: Facts, values: Mapping[str, str], rules: Sequence[FreshnessRule], moment: Moment
) -> float | None:
    """Return the age that the first matching rule allows; None for any age."""
    return next((rule.within_s for rule in rules if rule.condition.holds(facts, values, moment)), None)


def _is_recent(facts: Facts, days: int, moment: Moment) -> bool:
    return facts.on is not None and (moment.today - facts.on).days <= days


def _is_in_last_seasons(facts: Facts, back: int, moment: Moment) -> bool:
    return facts.season is not None and moment.season - facts.season <= back
