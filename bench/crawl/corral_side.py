"""Corral, embedded: one crawl over the whole site, its records checked afterwards."""

from __future__ import annotations

import time

from bench.crawl.sites import start_of
from bench.model import Place, Result
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.runs.record import RecordFilter
from corral.runtime.process import serve
from corral.settings import load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node

_AT_ONCE = 64


class Crawl:
    name = "corral crawl"
    least = 1.0  # share of the pages that must have a record

    def __init__(self, place: Place) -> None:
        self._data = place.folder / "var"
        self._start = start_of(place)

    def measure(self, count: int) -> Result:
        return serve(self._measure(count))

    async def _measure(self, count: int) -> Result:
        settings = load_settings(data_dir=self._data, egress_allow="127.0.0.1/32:*", workers=1)
        async with open_node(settings) as app:
            await self._crawl(app, 50)  # readers are started at the first page
            began = time.perf_counter()
            run_id = await self._crawl(app, count)
            took_s = time.perf_counter() - began
            found, *_ = await app.store.records.statistics(RecordFilter(run_id=run_id))
            assert found >= self.least * count, f"{found} records of {count} pages"
        return Result(count / took_s, count, took_s, f"SQLite, synchronous=FULL, {_AT_ONCE} at once; durable, recorded")

    async def _crawl(self, app: App, pages: int) -> str:
        plan = {"start_urls": [self._start], "max_depth": 100, "max_pages": pages, "concurrency": _AT_ONCE}
        run, _ = await app.crawls.start(CrawlPlan.of(plan))
        while not (run := await app.store.runs.get(run.id)).state.is_terminal:
            await app.pulse.wait(0.02)
        assert run.state.value == "completed" or self.least < 1.0, run
        return run.id


class CrawlDocs(Crawl):
    """A documentation has a page or two that say nothing but where to go instead."""

    least = 0.99
