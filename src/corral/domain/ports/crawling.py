"""How a worker process visits the pages of a crawl."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import Item, ItemResult
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed


class PageVisitor(Protocol):
    """Fetches and reads one page of a crawl."""

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> ItemResult | Failed | Deferred: ...


class CrawlVisitorPort(Protocol):
    """Opens what the pages of one crawl share: its login and its proxy."""

    def open(self, plan: CrawlPlan, task: Task) -> AbstractAsyncContextManager[PageVisitor | Failed]: ...
