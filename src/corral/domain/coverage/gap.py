"""Gaps: keys that should be there and are not, or not as they should be."""

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
    """One key as an inventory found it. None: this inventory does not know."""

    values: tuple[Value, ...]
    size: int | None = None
    modified: float | None = None  # seconds since 1970
    problem: str | None = None  # the content is not what it should be


class Facts(NamedTuple):
    """What the values of a key say about time."""

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
