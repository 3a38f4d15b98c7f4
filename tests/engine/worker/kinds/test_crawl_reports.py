"""What a crawl says of its pages, where it keeps them and they are large."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from corral.domain.crawl import page_archive
from corral.domain.crawl.crawl import Counts, CrawlPlan, ItemState
from corral.domain.crawl.item import Batch, BatchReport, Item, ItemResult
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched
from corral.domain.runs.payload.stored import Payload
from corral.engine.worker.kinds.crawl.crawl import CrawlKind

PLAN = CrawlPlan.of({"start_urls": ["http://a.test/"], "keep_pages": True, "concurrency": 6})


class _Visitor:
    @asynccontextmanager
    async def open(self, plan: CrawlPlan, task: Task) -> AsyncIterator["_Visitor"]:
        yield self

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> ItemResult | Failed:
        return ItemResult(item.id, item.key, ItemState.DONE, record={}, page={"body": "x" * 100})


class _FrontierClient:
    """Hands out six items at once, and notes what becomes of them."""

    def __init__(self) -> None:
        self.leased: set[int] = set()
        self.ended: list[int] = []
        self.reports: list[BatchReport] = []

    def notify(self, progress: dict[str, Any]) -> None:
        raise AssertionError("a crawl reports its items")

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def step(self, report: BatchReport) -> Batch:
        told = [each.id for each in report.ended]
        self.reports.append(report)
        self.ended += told
        self.leased -= set(told)
        # What is leased and not held would be given to somebody else.
        assert self.leased <= set(report.holding), "a page that was read and not yet told was given up"
        new = () if len(self.reports) > 1 else tuple(Item(n, f"http://a.test/{n}", str(n), 0, 1) for n in range(6))
        self.leased |= {item.id for item in new}
        return Batch(new, Counts(leased=len(self.leased), done=len(self.ended)))


async def test_pages_that_are_too_much_for_one_report_are_told_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_archive, "_MAX_REPORT_CHARS", 250)
    frontier = _FrontierClient()
    task = Task("r", 1, "crawl", "http", 1, Payload({"crawl": PLAN.document()}), 10.0)
    outcome = await CrawlKind(_Visitor()).perform(task, frontier)
    assert isinstance(outcome, Fetched)
    assert sorted(frontier.ended) == list(range(6))
    assert max(len(report.ended) for report in frontier.reports) == 2
