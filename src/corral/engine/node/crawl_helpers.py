"""Find crawls that need help: a node with an idle worker polls for them."""

import time
from collections.abc import Callable

from corral.domain.ids import Owner
from corral.domain.ports.stores import CrawlStore
from corral.domain.runs.run import Lease
from corral.engine.node.renewer import LEASE_S

_POLL_EVERY_S = 0.2


class Helpers:
    """Claims runs that help with one crawl, or with any crawl."""

    def __init__(
        self, store: CrawlStore, crawl: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._crawl = crawl
        self._clock = clock
        self._next_poll = 0.0

    async def claim(self, owner: Owner, room: int) -> list[Lease]:
        if room <= 0 or self._clock() < self._next_poll:
            return []
        self._next_poll = self._clock() + _POLL_EVERY_S
        return await self._store.claim_helpers(owner, room, LEASE_S, self._crawl)
