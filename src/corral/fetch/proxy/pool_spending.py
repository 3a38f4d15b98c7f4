"""Compute the cost of a page that the pool fetched: the sum over all tried proxies, at the price of their tiers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from corral.domain.cost.spent import SPENT
from corral.domain.crawl.item import ItemResult
from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.config import TierPrice
from corral.domain.runs.outcome import Deferred

_FREE = TierPrice()


@dataclass(slots=True)
class PoolSpending:
    prices: Mapping[str, TierPrice]
    requests: int = 0
    size: int = 0
    nanos: int = 0

    def add(self, outcome: Any, tier: Tier) -> Any:
        """Add one try, and return its outcome with the numbers of all tries so far."""
        if isinstance(outcome, Deferred):
            return outcome
        is_page = isinstance(outcome, ItemResult)
        measured = {} if is_page else outcome.stats.get(SPENT) or {}
        requests, size = (outcome.requests, outcome.size) if is_page else _count(outcome.stats, measured)
        self.requests += requests
        self.size += size
        self.nanos += self.prices.get(tier.value, _FREE).nanos_of(requests, size)
        if is_page:
            return outcome._replace(requests=self.requests, size=self.size, proxy_nanos=self.nanos)
        spent = {**measured, "requests": self.requests, "size": self.size, "proxy_nanos": self.nanos}
        stats = {**outcome.stats, SPENT: spent}
        return replace(outcome, stats={**stats, "proxy_cost": round(self.nanos / 1e9, 9)} if self.nanos else stats)


def _count(stats: Mapping[str, Any], measured: Mapping[str, Any]) -> tuple[int, int]:
    requests = int(measured.get("requests") or stats.get("requests") or 0)
    return requests, int(measured.get("size") or stats.get("bytes") or 0)
