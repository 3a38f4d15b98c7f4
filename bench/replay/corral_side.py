"""Corral, embedded, on the demo shop in a process of its own; every record is compared with what the shop sells."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime

from bench.drafts import Drafted, finished
from bench.model import Place, Result
from corral.demo.content import PRODUCT_COUNT, products
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId, RunId
from corral.domain.jobs.job import Job, Strategy
from corral.domain.runs.event import EventDraft
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.record import RecordFilter
from corral.domain.runs.run import NewRun
from corral.runtime.new_ids import new_id
from corral.runtime.process import serve
from corral.settings import load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node

_FIELDS = (FieldSpec("name"), FieldSpec("price"), FieldSpec("description"))


class _Shop:
    name = ""
    strategy = Strategy.HTTP

    def __init__(self, place: Place) -> None:
        self._data = place.folder / "var"
        self._site = place.services["shop"].url

    def measure(self, count: int) -> Result:
        """On the event loop the command line uses."""
        return serve(self._measure(count))

    async def _measure(self, count: int) -> Result:
        settings = load_settings(data_dir=self._data, egress_allow="127.0.0.1/32:*")
        async with open_node(settings) as app:
            site = self._site
            await finished(app, [await _drafted(app, site, number, Strategy.BROWSER) for number in (1, 2, 3, 4)])
            drafts = [await _drafted(app, site, number, self.strategy) for number in range(1, PRODUCT_COUNT + 1)]
            runs = [_copied(*drafts[number % PRODUCT_COUNT]) for number in range(count)]
            began = time.perf_counter()
            await finished(app, runs)
            took_s = time.perf_counter() - began
            await _check(app, runs)
        workers = f"{settings.workers} workers, {settings.runs_per_process} at once each"
        if self.strategy is Strategy.BROWSER:
            workers = f"{settings.workers} workers, {settings.browser_concurrency} pages at once each"
        return Result(count / took_s, count, took_s, workers)


class Replay(_Shop):
    name = "by API replay"
    strategy = Strategy.API_REPLAY


class Browser(_Shop):
    name = "by browser"
    strategy = Strategy.BROWSER


async def _drafted(app: App, site: str, number: int, strategy: Strategy) -> Drafted:
    url = f"{site}/shop/{number}"
    return await app.submitter.draft_run(Job(JobId(new_id()), url, _FIELDS, datetime.now(UTC), strategy=strategy))


def _copied(run: NewRun, drafts: list[EventDraft]) -> Drafted:
    """The same page again. What the submission costs is measured elsewhere."""
    return run._replace(id=RunId(new_id())), drafts


async def _check(app: App, runs: list[Drafted]) -> None:
    """Every run has found exactly what its product is."""
    expected = {
        str(product.id): {
            "name": product.name,
            "price": f"{product.amount} {product.currency}",
            "description": product.description,
        }
        for product in products()
    }
    wanted = {run.id: expected[run.payload.read(PagePayload).url.rpartition("/")[2]] for run, _ in runs}
    seen: Counter[str] = Counter()
    before: str | None = None
    while page := await app.store.records.newest(RecordFilter(), before, 200):
        before = page[-1].id
        for record in page:
            if record.run_id in wanted:
                assert record.data == wanted[record.run_id], record
                seen[record.run_id] += 1
    assert seen == Counter(wanted.keys()), f"{len(wanted) - len(seen)} runs have no record"
