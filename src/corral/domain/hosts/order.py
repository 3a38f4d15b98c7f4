"""The order in which the pages of one crawl request one host: the order of the frontier.

A page is *queued* from the start of its visit until it gets a slot at its host. Two rules keep the order:

* If a host spaces its requests, a slot goes only to the first queued page of the crawl. Pages behind it wait, even
  if they reach the limiter earlier.
* If a host sends a page back to the frontier, all queued pages behind it are sent back as well. The frontier then
  hands them out again in their order.
"""

import bisect
from collections.abc import Callable
from typing import NamedTuple

from corral.domain.runs.outcome import Deferred


class Position(NamedTuple):
    """Where a page stands in the frontier; see `store.queries.crawl.order`."""

    is_deferred: bool
    rank: float
    id: int


class HostOrder:
    """The pages that one worker visits for one crawl, in a queue for each host."""

    def __init__(self) -> None:
        self._pages: dict[int, QueuedPage] = {}
        self._queues: dict[str, list[QueuedPage]] = {}
        self._sent_back: dict[int, QueuedPage] = {}  # until their visits end; after that, the crawl tracks them itself
        # Called when another page becomes the first: permits may hold a slot for a page that has not requested it yet.
        self.on_change: Callable[[str], None] | None = None

    def begin(self, host_key: str, position: Position) -> "QueuedPage":
        page = self._pages[position.id] = QueuedPage(self, host_key, position)
        bisect.insort(self._queues.setdefault(host_key, []), page, key=_position)
        earlier = (each for each in self._sent_back.values() if each.host_key == host_key and each.position < position)
        page.refusal = next((each.refusal for each in earlier), None)
        return page

    def page(self, item_id: int) -> "QueuedPage | None":
        return self._pages.get(item_id)

    def end(self, item_id: int) -> None:
        page = self._pages.pop(item_id, None)
        self._sent_back.pop(item_id, None)
        if page is not None:
            self.remove(page)

    def is_first(self, page: "QueuedPage") -> bool:
        queue = self._queues.get(page.host_key)
        return queue is None or queue[0].position >= page.position

    def remove(self, page: "QueuedPage") -> None:
        queue = self._queues.get(page.host_key)
        if queue is None or page not in queue:
            return
        queue.remove(page)
        if not queue:
            del self._queues[page.host_key]
        if self.on_change is not None:
            self.on_change(page.host_key)

    def send_back(self, page: "QueuedPage") -> list["QueuedPage"]:
        """Remove a page from the queue; return the pages behind it, which must not overtake it."""
        behind = [each for each in self._queues.get(page.host_key, ()) if each.position > page.position]
        self._sent_back[page.position.id] = page
        self.remove(page)
        return behind


class QueuedPage:
    """One page on its way to its host."""

    __slots__ = ("_order", "host_key", "on_refusal", "position", "refusal")

    def __init__(self, order: HostOrder, host_key: str, position: Position) -> None:
        self._order = order
        self.host_key = host_key
        self.position = position
        self.refusal: Deferred | None = None  # set once the host has sent back an earlier page
        self.on_refusal: Callable[[Deferred], None] | None = None  # set while this page waits for a slot

    @property
    def is_first(self) -> bool:
        return self._order.is_first(self)

    def notify(self, on_change: Callable[[str], None]) -> None:
        self._order.on_change = on_change

    def leave(self) -> None:
        """Leave the queue: the page has a slot."""
        self._order.remove(self)

    def refuse(self, deferred: Deferred) -> None:
        """Send this page back, and all pages behind it: they must not overtake it."""
        self.refusal = deferred
        for page in self._order.send_back(self):
            if page.refusal is None:
                page.refusal = deferred
                if page.on_refusal is not None:
                    page.on_refusal(deferred)


def _position(page: QueuedPage) -> Position:
    return page.position
