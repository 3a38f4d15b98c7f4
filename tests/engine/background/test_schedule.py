"""Scheduled jobs fire once per slot, whoever looks and whenever."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import CrawlMode, Job, Strategy
from corral.domain.net.address import AllowEntry
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import Run, RunState
from corral.engine.background.schedule import Scheduler
from corral.engine.background.sweep import Sweeper
from corral.runtime.new_ids import new_id
from corral.settings import Settings
from corral.wiring.app import App
from corral.wiring.roles import open_client
from tests.engine.builders import drill, events, kinds, put, run_node, wait_for_runs
from tests.engine.crawl.site import Page, serve_site
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")

MINUTE_MS = 60_000


def a_job() -> Job:
    return Job(
        id=JobId(new_id()),
        target_url="http://127.0.0.1:9/",
        fields=(FieldSpec("title"),),
        created_at=datetime.now(UTC),
        frequency="* * * * *",
        strategy=Strategy.HTTP,
        max_attempts=1,
    )


def slot_before(minutes: int) -> int:
    now = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=minutes)
    return round(now.timestamp() * 1000)


def a_sweeper(app: App, retention: Retention | None = None) -> Sweeper:
    return Sweeper(app.store, Scheduler(app.store, app.submitter), retention or Retention(), lambda *_: None)


async def runs_of(app: App, job: Job) -> list[Run]:
    return await app.store.runs.newest(job.id, None, None, 100)


async def test_two_nodes_fire_a_slot_once(shared_settings: Settings) -> None:
    async with open_client(shared_settings) as first, open_client(shared_settings) as second:
        jobs = [a_job() for _ in range(20)]
        for job in jobs:
            await first.store.jobs.add(job, slot_before(0))
        fired = await asyncio.gather(*(sweep(app) for app in (first, second, first, second)))
        assert sum(fired) == 20
        assert [len(await runs_of(first, job)) for job in jobs] == [1] * 20


async def sweep(app: App) -> int:
    return len(await Scheduler(app.store, app.submitter).fire_due())


async def test_slots_missed_while_nobody_ran_become_one_run_that_says_so(settings: Settings) -> None:
    first = slot_before(7)
    async with open_client(settings) as app:
        job = a_job()
        await app.store.jobs.add(job, first)
    async with run_node(settings) as app:
        await until(lambda: has_run(app, job))
        run = (await runs_of(app, job))[-1]
        [created, missed] = (await events(app, run.id))[:2]
        assert missed.kind == "slots_missed"
        count = missed.meta["missed"]
        assert count in (7, 8)  # a minute may begin while we look
        assert created.meta["slot"] == datetime.fromtimestamp(first / 1000 + 60 * count, UTC).isoformat()
    async with run_node(settings) as app:
        await asyncio.sleep(1.5)
        assert len(await runs_of(app, job)) <= 2  # the next minute may have begun meanwhile


async def has_run(app: App, job: Job) -> bool:
    return bool(await runs_of(app, job))


async def test_a_job_that_cannot_be_started_does_not_hold_up_the_others(settings: Settings) -> None:
    async with open_client(settings) as app:
        broken, sound = replace(a_job(), strategy=Strategy.AUTO), a_job()
        await app.store.jobs.add(broken, slot_before(1))
        await app.store.jobs.add(sound, slot_before(0))

        async def refuses(*_: object, **__: object) -> object:
            raise BadInput("not today")

        app.submitter._prober = refuses  # type: ignore[assignment]
        assert await sweep(app) == 1
        assert len(await runs_of(app, sound)) == 1


async def test_many_schedules_due_at_once_ask_their_targets_side_by_side(settings: Settings) -> None:
    async with open_client(settings) as app:
        for _ in range(40):
            await app.store.jobs.add(replace(a_job(), strategy=Strategy.AUTO), slot_before(0))
        asking, most = 0, 0

        async def slow(*_: object, **__: object) -> object:
            nonlocal asking, most
            asking += 1
            most = max(most, asking)
            await asyncio.sleep(0.2)
            asking -= 1
            raise BadInput("not today")

        app.submitter._prober = slow  # type: ignore[assignment]
        assert await sweep(app) == 0
        assert most == 40


async def test_a_schedule_asleep_for_a_year_fires_once_and_says_how_much_it_missed(settings: Settings) -> None:
    year = 365 * 24 * 60
    first = slot_before(year)
    async with open_client(settings) as app:
        job = a_job()
        await app.store.jobs.add(job, first)
        assert await sweep(app) == 1
        [run] = await runs_of(app, job)
        [created, missed] = await events(app, run.id)
        assert missed.meta["missed"] in (year, year + 1)  # a minute may begin while we look
        newest = datetime.fromtimestamp(first / 1000 + 60 * missed.meta["missed"], UTC)
        assert created.meta["slot"] == newest.isoformat()
        assert await sweep(app) <= 1
        assert len(await runs_of(app, job)) <= 2  # the next minute may have begun meanwhile


async def test_a_schedule_that_is_no_longer_accepted_does_not_hold_up_the_others(settings: Settings) -> None:
    async with open_client(settings) as app:
        old, sound = replace(a_job(), frequency="0 0 L * *"), a_job()
        await app.store.jobs.add(old, slot_before(1))
        await app.store.jobs.add(sound, slot_before(0))
        assert await sweep(app) == 1
        assert len(await runs_of(app, sound)) == 1


async def test_a_slow_schedule_does_not_keep_expired_leases_waiting(settings: Settings) -> None:
    async with open_client(settings) as app:
        [run_id] = await put(app, drill())
        await app.store.jobs.add(replace(a_job(), strategy=Strategy.AUTO), slot_before(0))

        async def slow(*_: object, **__: object) -> object:
            await asyncio.sleep(60)
            raise AssertionError

        app.submitter._prober = slow  # type: ignore[assignment]
        sweeper = asyncio.create_task(a_sweeper(app).run())
        await asyncio.sleep(0.5)
        await app.store.runs.claim_one(run_id, "somebody", 0.1)  # type: ignore[arg-type]
        await asyncio.sleep(2)
        assert (await app.store.runs.get(run_id)).state == "queued"
        sweeper.cancel()
        await asyncio.gather(sweeper, return_exceptions=True)


async def test_retention_forgets_what_is_too_many_and_keeps_the_records(settings: Settings) -> None:
    async with run_node(settings) as app:
        ids = await put(app, *[drill(record=True) for _ in range(250)])
        await wait_for_runs(app, ids)
        keeper = a_sweeper(app, Retention(None, 20))
        await keeper.sweep()
        left = await app.store.runs.newest(None, None, None, 500)
        assert [run.id for run in left] == ids[:-21:-1]
        assert await kinds(app, ids[0]) == []
        assert len(await app.store.records.of_run(ids[0], "", 10)) == 1


async def test_a_sweeper_that_was_away_gives_owners_the_time_to_renew(settings: Settings) -> None:
    async with open_client(settings) as app:
        [run_id] = await put(app, drill())
        sweeper = a_sweeper(app)
        await sweeper.reap()
        sweeper._swept_at -= 30  # as after a suspended machine, or a database that was gone
        [lease] = await app.store.runs.claim_one(run_id, "somebody", 0.0)  # type: ignore[arg-type]
        await asyncio.sleep(0.01)
        await sweeper.reap()
        assert app.store.runs.renew_from_thread([lease.key], lease.owner, 0.0) == {lease.key}
        sweeper._reap_from = 0
        await asyncio.sleep(0.01)
        await sweeper.reap()
        assert await kinds(app, run_id) == ["created", "started", "interrupted"]


async def test_a_list_is_collected_when_its_time_has_come_and_is_not_forgotten_a_day_later(settings: Settings) -> None:
    links = "".join(f'<h2><a href="/item/{number}">item</a></h2>' for number in range(3))
    shop = {"/list": Page(raw=links), **{f"/item/{number}": Page() for number in range(3)}}
    with serve_site(shop) as site:
        allowed = settings.model_copy(update={"egress_allow": (AllowEntry.parse("127.0.0.0/8:*"),)})
        async with run_node(allowed) as app:
            job = replace(a_job(), target_url=f"{site.url}/list", frequency="0 0 1 1 *", crawl_mode=CrawlMode.LIST)
            job = replace(job, list_config={"item_links": {"css": "h2 > a"}})
            await app.store.jobs.add(job, slot_before(0))
            assert await sweep(app) == 1
            [run] = await wait_for_runs(app, [(await runs_of(app, job))[0].id])
            assert (run.kind, run.state) == ("crawl", RunState.COMPLETED)
            assert len(await app.store.records.of_run(run.id, "", 10)) == 3
            assert await app.store.runs.is_pinned(run.id)
