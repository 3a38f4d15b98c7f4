"""The health of all crawls together, as one word."""

from enum import StrEnum
from typing import NamedTuple

# Older results say nothing about the present state.
RECENT_S = 15 * 60.0
# Fewer pages may all fail because of a single site.
_ENOUGH_PAGES = 5
_MAX_ERROR_RATE = 0.5
# A multiple of the time it takes to claim a task while there is capacity.
_PATIENCE_S = 30.0


class CrawlHealth(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    AT_CAPACITY = "at_capacity"


class CrawlLoad(NamedTuple):
    """Recent results of crawls, and how many crawls run now."""

    active: int = 0
    done: int = 0  # pages fetched recently
    failed: int = 0
    waited_s: float = 0.0  # the longest time that a due task has waited


def crawl_health(load: CrawlLoad, max_active: int, *, is_draining: bool = False) -> CrawlHealth:
    """Return the health: degraded if the node drains, most pages fail, or no node claims tasks despite capacity."""
    if is_draining:
        return CrawlHealth.DEGRADED
    if load.active >= max_active:
        return CrawlHealth.AT_CAPACITY
    pages = load.done + load.failed
    is_failing = pages >= _ENOUGH_PAGES and load.failed / pages > _MAX_ERROR_RATE
    return CrawlHealth.DEGRADED if is_failing or load.waited_s > _PATIENCE_S else CrawlHealth.HEALTHY
