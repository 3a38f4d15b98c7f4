"""Watches the proxy of a crawl: pauses the crawl while it cannot be used, and ends the crawl if that lasts."""

import time
from collections import Counter

from corral.domain.crawl.item import Item, ItemResult
from corral.domain.proxies.outage import ProxyOutage
from corral.domain.runs.outcome import Failed, is_fault_of_pool, is_proxy_fault
from corral.domain.runs.retry import RetryPolicy, backoff_s

# Before the first answer: the proxy may be wrong, and a person may be waiting to hear it.
_FIRST_PAUSE_S = 1.0


class ProxyWatch:
    def __init__(self, policy: RetryPolicy, attempts: int, seed: str) -> None:
        self._policy = policy
        self._attempts = attempts
        self._seed = seed
        self._outage = ProxyOutage()
        self.last: Failed | None = None  # the latest fault
        self._faults: Counter[int] = Counter()  # by item

    @property
    def is_paused(self) -> bool:
        return time.monotonic() < self._outage.paused_until

    @property
    def is_over(self) -> bool:
        return self._outage.is_over(self._attempts)

    def note(self, ended: ItemResult | Failed) -> None:
        if not isinstance(ended, Failed) or not is_proxy_fault(ended):
            self._outage.note_answer()
        elif not is_fault_of_pool(ended):
            self.last = ended
            pause_s = backoff_s(self._policy, self._outage.rounds + 1, seed=self._seed)
            pause_s = pause_s if self._outage.has_answered else min(pause_s, _FIRST_PAUSE_S)
            self._outage.note_fault(time.monotonic(), pause_s)

    def count_earlier_faults(self, item: Item, failure: Failed) -> int:
        """Return how often the proxy had failed this item before, and count this failure."""
        earlier = self._faults[item.id]
        if is_proxy_fault(failure):
            self._faults[item.id] += 1
        return earlier
