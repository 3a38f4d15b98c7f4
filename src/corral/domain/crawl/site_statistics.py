"""Statistics of crawled pages per site: one row per kind of result, however many pages there are."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from corral.domain.cost.spent import NOTHING, Spent
from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import ItemResult


class Tally(NamedTuple):
    """Pages of one host that ended in the same way. `state` is pending if they are retried."""

    host: str
    state: ItemState
    kind: str  # failure code or skip rule; empty for fetched pages
    pages: int
    size: int  # bytes received
    took_ms: int
    requests: int = 0
    browser_ms: int = 0
    cpu_ms: int = 0
    proxy_nanos: int = 0

    @property
    def spent(self) -> Spent:
        return Spent(self.requests, self.size, self.took_ms, self.browser_ms, self.cpu_ms, self.proxy_nanos)


@dataclass(frozen=True, slots=True)
class SiteStatistics:
    host: str
    done: int = 0
    failed: "Counter[str]" = field(default_factory=Counter)  # by failure code
    skipped: "Counter[str]" = field(default_factory=Counter)  # by the rule
    retried: "Counter[str]" = field(default_factory=Counter)  # attempts that were followed by a retry
    size: int = 0
    took_ms: int = 0
    seen_at: int = 0
    spent: Spent = NOTHING

    @property
    def attempts(self) -> int:
        return self.done + self.failed.total() + self.skipped.total() + self.retried.total()

    @property
    def mean_ms(self) -> float | None:
        return self.took_ms / self.attempts if self.attempts else None

    @property
    def error_rate(self) -> float | None:
        """Return the share of failed pages among those fetched or failed."""
        ended = self.done + self.failed.total()
        return self.failed.total() / ended if ended else None


def host_of(authority: str) -> str:
    """Return the host without its port, as the site memory does."""
    host, _, port = authority.rpartition(":")
    return host if host and port.isdigit() else authority


def tally_results(ended: Iterable[tuple[str, ItemResult]]) -> list[Tally]:
    """Add up pages by host and result, in the same order for every writer."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for authority, result in ended:
        if result.state in (ItemState.LEASED, ItemState.DEFERRED) or not result.counts:
            continue  # the item is reported in several parts, or still waits: it has not ended
        kind = (result.reason or "").partition(":")[0]
        sum_ = sums.setdefault((host_of(authority), result.state.value, kind), [0] * 7)
        numbers = (
            1, result.size, result.took_ms, result.requests, result.browser_ms, result.cpu_ms, result.proxy_nanos,
        )  # fmt: skip
        sum_[:] = [total + number for total, number in zip(sum_, numbers, strict=True)]
    return [Tally(host, ItemState(state), kind, *sums[host, state, kind]) for host, state, kind in sorted(sums)]


def statistics_of(host: str, tallies: Iterable[Tally], seen_at: int) -> SiteStatistics:
    by_state: dict[ItemState, Counter[str]] = {state: Counter() for state in ItemState}
    spent = Spent()
    for tally in tallies:
        by_state[tally.state][tally.kind] += tally.pages
        spent = spent.plus(tally.spent)
    return SiteStatistics(
        host,
        by_state[ItemState.DONE].total(),
        by_state[ItemState.FAILED],
        by_state[ItemState.SKIPPED] + by_state[ItemState.MISSING],
        by_state[ItemState.PENDING],
        spent.size,
        spent.took_ms,
        seen_at,
        spent,
    )
