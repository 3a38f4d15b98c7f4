"""The rules of the queue that follow from the configuration of the scrapers."""

from collections.abc import Iterable

from corral.domain.queue.feed import FeedRules, ScraperLimit
from corral.domain.scripts.scraper import ScraperSpec


def make_rules(scrapers: Iterable[ScraperSpec], max_concurrent: int, lower_share: float = 0.0) -> FeedRules:
    return FeedRules(max_concurrent, lower_share, {spec.name: _limit_of(spec) for spec in scrapers})


def _limit_of(spec: ScraperSpec) -> ScraperLimit:
    if spec.rate is None:
        return ScraperLimit(spec.max_concurrent)
    return ScraperLimit(spec.max_concurrent, 1 / spec.rate.per_second, spec.rate.burst)
