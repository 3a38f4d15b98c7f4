"""The slots of a crawl: how many of its pages request hosts at a time.

A page holds a slot from its start until its response is complete. While the worker reads the page, the next one is
fetched. A page that has to be requested again, in the browser or through another proxy, takes a slot again first.
"""

import asyncio
from collections import deque
from collections.abc import Callable

# Pages under way for each slot: one is fetched while another is read. After a kill, all of them are fetched again.
_OPEN = 2


class CrawlSlots:
    def __init__(self) -> None:
        self.limit = 0
        self.on_free: Callable[[], None] = lambda: None
        self._holders: set[int] = set()
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    def __len__(self) -> int:
        """Return how many pages hold a slot."""
        return len(self._holders)

    def has_room(self, under_way: int) -> bool:
        """Return whether another page may start beside those that are fetched or read."""
        # Pages that are under way come first: their results wait for the slot.
        return not self._waiters and len(self._holders) < self.limit and under_way < _OPEN * self.limit

    def set_limit(self, limit: int) -> None:
        self.limit = limit
        self._serve()

    def begin(self, item_id: int) -> None:
        self._holders.add(item_id)

    def end(self, item_id: int) -> None:
        self._holders.discard(item_id)
        self._serve()

    def free(self, item_id: int) -> None:
        """Free the slot of a page whose response is complete."""
        if item_id in self._holders:
            self.end(item_id)
            self.on_free()

    async def take(self, item_id: int) -> None:
        """Wait for a slot, unless the page holds one."""
        if item_id in self._holders:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append((item_id, turn))
        self._serve()
        await turn

    def _serve(self) -> None:
        # A limit of 0 means that the crawl starts no pages here; those under way still have to end.
        while self._waiters and len(self._holders) < max(1, self.limit):
            item_id, turn = self._waiters.popleft()
            if not turn.done():  # a cancelled page waits no longer
                self._holders.add(item_id)
                turn.set_result(None)
