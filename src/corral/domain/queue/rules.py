"""Derive the rules of the queue from the configuration of the scrapers."""

from collections.abc import Iterable
from typing import NamedTuple

from corral.domain.queue.feed import FeedRules, ScraperLimit
from corral.domain.scripts.scraper import ScraperSpec


class QueueLimits(NamedTuple):
    """The limits of the queue as a whole."""

    max_concurrent: int
    lower_share: float = 0.0
    starts_per_second: float = 0.0  # 0: no limit


def make_rules(scrapers: Iterable[ScraperSpec], limits: QueueLimits) -> FeedRules:
    interval_s = 1 / limits.starts_per_second if limits.starts_per_second else 0.0
    of_scrapers = {spec.name: _limit_of(spec) for spec in scrapers}
    return FeedRules(limits.max_concurrent, limits.lower_share, of_scrapers, interval_s)


def _limit_of(spec: ScraperSpec) -> ScraperLimit:
    if spec.rate is None:
        return ScraperLimit(spec.max_concurrent)
    return ScraperLimit(spec.max_concurrent, 1 / spec.rate.per_second, spec.rate.burst)
