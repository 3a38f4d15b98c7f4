"""Gaps: expected keys that are missing, or whose data is not as it should be."""

from datetime import date
from enum import StrEnum
from typing import NamedTuple

from corral.domain.coverage.values import Value
from corral.domain.jobs.job import Priority


class GapType(StrEnum):
    MISSING = "missing"
    EMPTY = "empty"
    TOO_SMALL = "too_small"
    STALE = "stale"
    CORRUPT = "corrupt"
    RECHECK = "recheck"  # confirmed as absent long ago


class Entry(NamedTuple):
    """One key of an inventory. None stands for a property that this inventory does not provide."""

    values: tuple[Value, ...]
    size: int | None = None
    modified: float | None = None  # seconds since 1970
    problem: str | None = None  # the content is not what it should be


class Facts(NamedTuple):
    """The season, date and period that the values of a key contain."""

    season: int | None = None  # its first year
    on: date | None = None
    period: str = "all"  # the column of the coverage report


class Gap(NamedTuple):
    key: str
    values: tuple[Value, ...]
    type: GapType
    facts: Facts
    reason: str


class RankedGap(NamedTuple):
    gap: Gap
    priority: Priority
    why: str  # the rule that gave the priority
