"""How much of the allowed rate a crawl uses, by the log of the server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from corral.domain.crawl.crawl import Counts, CrawlPlan
from corral.domain.crawl.item import Batch, BatchReport, Item
from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.runs.payload.stored import Payload
from corral.engine.worker.kinds.crawl.crawl import CrawlKind
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.crawl.run_visitor import RunVisitor, Ways
from corral.fetch.crawl.visit import HttpVisitor
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.limits import FetchLimits
from corral.fetch.parsing.pool import InProcessReader
from corral.fetch.robots import Robots
from tests.engine.crawl.site import Page, Site, serve_site
from tests.engine.hosts.limiter_pair import Worker, a_limiter

PAGES = 8
TAKES_S = 0.2
READ_S = 0.3


class _SlowReader:
    """Reads pages like the parser process of a busy machine."""

    def __init__(self) -> None:
        self._reader = InProcessReader()
        self.now = self.most = 0

    async def read(self, request: ReadRequest, timeout_s: float | None = None) -> ReadAnswer | Failed:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(READ_S)
        self.now -= 1
        return await self._reader.read(request, timeout_s)


class _Visitor:
    def __init__(self, egress: Egress, worker: Worker) -> None:
        self.reader = _SlowReader()
        self._http = HttpVisitor(egress, Robots(egress, "corral-test"), self.reader, host_access=worker.permits)
        executor = HttpExecutor(egress, Robots(egress, "corral-test"))
        self._ways = Ways(self._http, executor, executor, host_access=worker.permits)

    @asynccontextmanager
    async def open(self, plan: CrawlPlan, task: Task) -> AsyncIterator[RunVisitor]:
        yield RunVisitor(self._ways, asyncio.Semaphore(1), plan, task)


class _Frontier:
    """Hands out as many items as the crawl asks for."""

    def __init__(self, site: Site) -> None:
        self._left = [Item(n, f"{site.url}/{n}", str(n), 0, 1) for n in range(PAGES)]
        self._leased = self._done = 0

    def notify(self, progress: dict[str, Any]) -> None:
        raise AssertionError("a crawl reports its items")

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def step(self, report: BatchReport) -> Batch:
        given, self._left = self._left[: report.want], self._left[report.want :]
        self._done += len(report.ended)
        self._leased += len(given) - len(report.ended)
        return Batch(tuple(given), Counts(len(self._left), self._leased, self._done))


@pytest.mark.parametrize("concurrency, delay_s", [(1, 0.0), (3, 0.0), (1, 0.01)])
async def test_the_next_request_starts_when_a_response_is_complete_not_when_its_page_is_read(
    concurrency: int, delay_s: float
) -> None:
    egress = Egress(EgressPolicy((AllowEntry.parse("127.0.0.1/32:*"),)), FetchLimits(), "corral-test")
    limiter, _ = a_limiter(concurrency=concurrency, delay_s=delay_s)
    visitor = _Visitor(egress, Worker(limiter))
    with serve_site({f"/{n}": Page(takes_s=TAKES_S) for n in range(PAGES)}) as site:
        plan = CrawlPlan.of(
            {"start_urls": [site.url], "concurrency": concurrency, "respect_robots": False, "strategy": "http"}
        )
        task = Task("r", 1, "crawl", "http", 1, Payload({"crawl": plan.document()}), 10.0)
        outcome = await CrawlKind(visitor).perform(task, _Frontier(site))
    await egress.close()
    assert isinstance(outcome, Fetched)
    assert outcome.stats["done"] == PAGES
    assert site.most_at_once == concurrency
    asked = sorted(moment for _, moment in site.asked_at)
    gaps = sorted(asked[n] - asked[n - concurrency] - TAKES_S for n in range(concurrency, PAGES))
    # A slot that is held while the page is read makes every gap at least READ_S long.
    assert gaps[len(gaps) // 2] < READ_S / 2, gaps
    assert visitor.reader.most > 1
