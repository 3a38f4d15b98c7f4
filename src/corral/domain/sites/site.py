"""Site memory: which strategy fills which fields, how reliably, and at what cost."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from corral.domain.jobs.job import Strategy

# Each new observation multiplies the weight of older ones by this factor: a site's change shows after a few runs.
FADES_TO = 0.85
# About three observations; fewer are not enough evidence.
MIN_WEIGHT = 2.5
MIN_SUCCESS = 0.8

# The weight of a second of each strategy: a browser uses a hundred times the memory, and several processes. If costs
# are equal, the first wins.
_WEIGHTS = {Strategy.HTTP: 1.0, Strategy.API_REPLAY: 1.0, Strategy.BROWSER: 10.0}


def fields_key(names: Iterable[str]) -> str:
    """Return the key of a set of fields.

    Sets are separate because a strategy that finds a title may not find a price.
    """
    text = "\x1f".join(sorted(names))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts about one attempt that the site memory needs."""

    host: str
    fields_key: str
    strategy: Strategy
    succeeded: bool
    requested: int
    found: int
    cost_ms: int


@dataclass(frozen=True, slots=True)
class Memory:
    """The record of one strategy for one set of fields on one host, as sums that decay."""

    host: str
    fields_key: str
    strategy: Strategy
    attempts: int = 0  # in total, without decay
    weight: float = 0.0
    successes: float = 0.0
    requested: float = 0.0
    found: float = 0.0
    cost_ms: float = 0.0

    @property
    def success_rate(self) -> float:
        return self.successes / self.weight if self.weight else 0.0

    @property
    def yield_rate(self) -> float:
        return self.found / self.requested if self.requested else 0.0

    @property
    def mean_cost_ms(self) -> float:
        return self.cost_ms / self.weight if self.weight else 0.0

    def after(self, seen: Observation) -> "Memory":
        return replace(
            self,
            attempts=self.attempts + 1,
            weight=self.weight * FADES_TO + 1,
            successes=self.successes * FADES_TO + seen.succeeded,
            requested=self.requested * FADES_TO + seen.requested,
            found=self.found * FADES_TO + seen.found,
            cost_ms=self.cost_ms * FADES_TO + seen.cost_ms,
        )


@dataclass(frozen=True, slots=True)
class KnownSite:
    host: str
    attempts: int
    recipes: int
    seen_at: datetime


def is_worth_trying(memory: Memory | None) -> bool:
    """True for a strategy that is new on this host, or that has succeeded so far with too little evidence."""
    return memory is None or (memory.weight < MIN_WEIGHT and memory.success_rate >= MIN_SUCCESS)


def estimate_cost(memory: Memory) -> float:
    """Return the cost of one set of fields: the time, weighted by strategy, relative to what the strategy finds."""
    return _WEIGHTS[memory.strategy] * memory.mean_cost_ms / max(memory.yield_rate, 0.01)


def proven(memories: Sequence[Memory]) -> Memory | None:
    """Return the strategy with the lowest expected cost among those with enough evidence that they work, or None."""
    good = [
        memory
        for memory in memories
        if memory.weight >= MIN_WEIGHT and memory.success_rate >= MIN_SUCCESS and memory.strategy in _WEIGHTS
    ]
    order = list(_WEIGHTS)
    return min(good, key=lambda each: (estimate_cost(each), order.index(each.strategy)), default=None)
