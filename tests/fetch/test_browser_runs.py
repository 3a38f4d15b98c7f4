"""From a job to its record by way of a browser, through a node and its worker process."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from corral.demo import RunningSite, running_site
from corral.domain.ids import JobId, new_id
from corral.domain.job import FieldSpec, Job, Strategy
from corral.domain.run import Move, Run, RunState
from corral.fetch.browser_processes import ProcessRecord, descendants
from corral.wiring import App
from tests.engine.build import ended, kinds, node_of, settings_for, started, working
from tests.fetch.browsing import needs_chromium, until

pytestmark = pytest.mark.browser


def a_job(site: RunningSite, path: str, *names: str, strategy: Strategy = Strategy.AUTO) -> Job:
    fields = tuple(FieldSpec(name) for name in names)
    return Job(JobId(new_id()), site.url + path, fields, datetime.now(UTC), strategy=strategy, max_attempts=2)


async def start(app: App, job: Job) -> Run:
    stored, _ = await app.jobs.create(job)
    run, _ = await app.submitter.start(stored.job.id)
    return run


async def test_a_job_is_done_by_the_browser_where_plain_http_cannot(tmp_path: Path) -> None:
    needs_chromium()
    async with running_site() as site:
        settings = settings_for(tmp_path, egress_allow=f"127.0.0.1/32:{site.port}", workers=1)
        async with working(settings) as app:
            run = await start(app, a_job(site, "/shop/1", "name", "price"))
            assert run.resolved_strategy is Strategy.BROWSER
            [run] = await ended(app, [run.id])
            assert (run.state, run.attempt) == (RunState.COMPLETED, 1), run
            [record] = await app.store.records_of(run.id, "", 10)
            assert record.data["price"].endswith("EUR")

            run = await start(app, a_job(site, "/blocked", "title", strategy=Strategy.HTTP))
            [run] = await ended(app, [run.id])
            assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "blocked", "http_403")
            assert [entry["strategy"] for entry in run.attempts] == ["http", "browser"]
            assert "escalated" in await kinds(app, run.id)

            run = await start(app, a_job(site, "/slow?seconds=2", "title", strategy=Strategy.BROWSER))
            await started(app, run.id)
            await app.submitter.move(run.id, Move.CANCEL)
            [run] = await ended(app, [run.id])
            assert run.state is RunState.CANCELLED
            [worker] = node_of(app).worker_pids
            below = list(descendants(worker))
            assert below
    await until(lambda: not [pid for pid in below if ProcessRecord.of(pid)])
