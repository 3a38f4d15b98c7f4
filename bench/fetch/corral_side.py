"""Corral, embedded: every page a durable run with a record of two fields, which are checked afterwards."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime

from bench.drafts import Drafted, finished
from bench.model import Place, Result
from bench.pages import COUNT, path_of, title_of
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId, RunId
from corral.domain.jobs.job import Job, Strategy
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.record import RecordFilter
from corral.runtime.new_ids import new_id
from corral.runtime.process import serve
from corral.settings import load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node

_FIELDS = (FieldSpec("title", css="title"), FieldSpec("heading", css="h1"))


class Scrape:
    name = "corral scrape"

    def __init__(self, place: Place) -> None:
        self._data = place.folder / "var"
        self._site = place.services["pages"].url

    def measure(self, count: int) -> Result:
        """On the event loop the command line uses."""
        return serve(self._measure(count))

    async def _measure(self, count: int) -> Result:
        settings = load_settings(data_dir=self._data, egress_allow="127.0.0.1/32:*")
        async with open_node(settings) as app:
            job = Job(JobId(new_id()), self._site, _FIELDS, datetime.now(UTC), strategy=Strategy.HTTP)
            template = await app.submitter.draft_run(job)
            await finished(app, [self._page(template, number) for number in range(100)])
            runs = [self._page(template, number) for number in range(count)]
            began = time.perf_counter()
            await finished(app, runs)
            took_s = time.perf_counter() - began
            await _check(app, runs)
        notes = f"{settings.workers} workers, {settings.runs_per_process} at once each; durable, parsed, recorded"
        return Result(count / took_s, count, took_s, notes)

    def _page(self, template: Drafted, number: int) -> Drafted:
        run, drafts = template
        page = replace(run.payload.read(PagePayload), url=f"{self._site}{path_of(number)}")
        return run._replace(id=RunId(new_id()), payload=Payload.of(page)), drafts


async def _check(app: App, runs: list[Drafted]) -> None:
    wanted = {run.id: title_of(number % COUNT) for number, (run, _) in enumerate(runs)}
    before: str | None = None
    while page := await app.store.records.newest(RecordFilter(), before, 200):
        before = page[-1].id
        for record in page:
            title = wanted.pop(record.run_id, None)
            assert title is None or record.data["title"] == title, record
    assert not wanted, f"{len(wanted)} runs have no record"
