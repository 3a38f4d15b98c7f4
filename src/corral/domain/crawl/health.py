"""How the crawling as a whole does: one word, decided from what is there."""

from enum import StrEnum
from typing import NamedTuple

# What happened before says nothing about how it goes now.
RECENT_S = 15 * 60.0
# So few pages can all fail because of one site.
_ENOUGH_PAGES = 5
_MAX_ERROR_RATE = 0.5
# Longer than it takes to claim a task for which there is room, by a multiple.
_PATIENCE_S = 30.0


class CrawlHealth(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    AT_CAPACITY = "at_capacity"


class CrawlLoad(NamedTuple):
    """What crawls have been at lately, and how many of them take up room here."""

    active: int = 0
    done: int = 0  # pages, lately
    failed: int = 0
    waited_s: float = 0.0  # the longest that a task which is due has been


def crawl_health(load: CrawlLoad, most: int, *, is_draining: bool = False) -> CrawlHealth:
    """Degraded: it stops, most pages fail, or no node claims tasks although there is room."""
    if is_draining:
        return CrawlHealth.DEGRADED
    if load.active >= most:
        return CrawlHealth.AT_CAPACITY
    pages = load.done + load.failed
    is_failing = pages >= _ENOUGH_PAGES and load.failed / pages > _MAX_ERROR_RATE
    return CrawlHealth.DEGRADED if is_failing or load.waited_s > _PATIENCE_S else CrawlHealth.HEALTHY
