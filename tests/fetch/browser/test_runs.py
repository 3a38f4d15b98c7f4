"""From a job to its record by way of a browser, through a node and its worker process."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from corral.demo import RunningSite, running_site
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import Job, Strategy
from corral.domain.runs.run import Run, RunAction, RunState
from corral.fetch.browser.processes import BrowserProcess, descendants
from corral.runtime.new_ids import new_id
from corral.wiring.app import App
from tests.engine.builders import events, kinds, node_of, run_node, settings_for, sound, wait_for_runs, wait_for_start
from tests.fetch.browsing import needs_chromium
from tests.fetch.hostile import PAGE, ROUTES, Hostile, Request
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


def a_job(site: RunningSite, path: str, *names: str, strategy: Strategy = Strategy.AUTO) -> Job:
    fields = tuple(FieldSpec(name) for name in names)
    return Job(JobId(new_id()), site.url + path, fields, datetime.now(UTC), strategy=strategy, max_attempts=2)


async def start(app: App, job: Job, *, probes: bool = True) -> Run:
    stored, _ = await app.jobs.create(job, probes=probes)
    run, _ = await app.submitter.start(stored.job.id)
    return run


async def test_a_job_is_done_by_the_browser_where_plain_http_cannot(tmp_path: Path) -> None:
    needs_chromium()
    async with running_site() as site:
        settings = settings_for(tmp_path, egress_allow=f"127.0.0.1/32:{site.port}", workers=1)
        async with run_node(settings) as app:
            run = await start(app, a_job(site, "/shop/1", "name", "price"))
            assert run.resolved_strategy is Strategy.BROWSER
            [run] = await wait_for_runs(app, [run.id])
            assert (run.state, run.attempt) == (RunState.COMPLETED, 1), run
            [record] = await app.store.records.of_run(run.id, "", 10)
            assert record.data["price"].endswith("EUR")

            run = await start(app, a_job(site, "/blocked", "title", strategy=Strategy.HTTP))
            [run] = await wait_for_runs(app, [run.id])
            assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "blocked", "http_403")
            assert [entry["strategy"] for entry in run.attempts] == ["http", "browser"]
            assert "escalated" in await kinds(app, run.id)

            run = await start(app, a_job(site, "/slow?seconds=2", "title", strategy=Strategy.BROWSER))
            await wait_for_start(app, run.id)
            await app.submitter.apply_action(run.id, RunAction.CANCEL)
            [run] = await wait_for_runs(app, [run.id])
            assert run.state is RunState.CANCELLED
            [worker] = node_of(app).worker_pids
            below = list(descendants(worker))
            assert below
    await until(lambda: not [pid for pid in below if BrowserProcess.of(pid)], within_s=5)


def is_browser(pid: int) -> bool:
    """The process that all others of its kind were started by: it has no type."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b" ", b"\0").split(b"\0")
    except OSError:
        return False
    return b"chrom" in words[0] and not any(word.startswith(b"--type=") for word in words)


def browsers_of(app: App) -> list[BrowserProcess]:
    found = [BrowserProcess.of(pid) for worker in node_of(app).worker_pids for pid in descendants(worker)]
    return [record for record in found if record is not None and is_browser(record.pid)]


def a_hostile_job(den: Hostile, path: str, max_attempts: int) -> Job:
    fields = (FieldSpec("title"),)
    now = datetime.now(UTC)
    return Job(JobId(new_id()), den.url(path), fields, now, strategy=Strategy.BROWSER, max_attempts=max_attempts)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, den: Hostile) -> AsyncIterator[App]:
    needs_chromium()
    settings = settings_for(tmp_path_factory.mktemp("node"), egress_allow=f"127.0.0.1/32:{den.port}", workers=1)
    async with run_node(settings) as opened:
        yield opened


async def test_a_browser_that_is_killed_costs_its_runs_no_attempt(
    app: App, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_open = asyncio.Event()

    async def answer_when_open(request: Request) -> None:
        await is_open.wait()
        await request.answer(PAGE, "Content-Type: text/html")

    monkeypatch.setitem(ROUTES, "/later", answer_when_open)
    jobs = [a_hostile_job(den, f"/later?{number}", 1) for number in range(2)]
    runs = [await start(app, job, probes=False) for job in jobs]
    await until(lambda: den.count_requests("/later?0") == den.count_requests("/later?1") == 1, within_s=20)
    [browser] = browsers_of(app)
    browser.kill()
    await until(lambda: den.count_requests("/later?0") == den.count_requests("/later?1") == 2, within_s=20)
    is_open.set()
    for run in await wait_for_runs(app, [run.id for run in runs]):
        assert (run.state, run.attempt, run.max_attempts) == (RunState.COMPLETED, 1, 1), run
        assert [entry["outcome"] for entry in run.attempts] == ["unknown", "fetched"]
        history = await events(app, run.id)
        assert [event.kind for event in history] == ["created", "started", "released", "started", "completed"]
        assert (history[2].meta["reason"], history[2].meta["failure_code"]) == ("browser_crash", "unknown")
        assert len(await app.store.records.of_run(run.id, "", 10)) == 1
    await sound(app)


async def test_a_page_that_always_ends_its_browser_is_given_up(
    app: App, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kill_the_browser(request: Request) -> None:
        for browser in browsers_of(app):
            browser.kill()

    monkeypatch.setitem(ROUTES, "/deadly", kill_the_browser)
    run = await start(app, a_hostile_job(den, "/deadly", 2))
    [run] = await wait_for_runs(app, [run.id], timeout_s=40)
    assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "unknown", "browser_crash")
    assert (run.attempt, len(run.attempts)) == (2, 3), "one more than was allowed, because one did not count"
    assert await kinds(app, run.id) == [
        *("created", "started", "released", "started", "retry_scheduled", "started", "failed"),
    ]
    await sound(app)
