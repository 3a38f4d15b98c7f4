import asyncio
from dataclasses import replace

import pytest

from corral.domain.errors import JobNotFound, WrongState
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import DueJob, Priority, Strategy
from corral.domain.runs.event import EventKind
from corral.domain.runs.run import HoldReason, RunAction, RunState
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store.builders import CREATED, a_job, a_run, add, claim, complete, hold, settle
from tests.store.conftest import Sql

HOUR_MS = 3_600_000


async def test_a_job_is_read_as_it_was_written(store: Store) -> None:
    job = a_job(
        fields=(FieldSpec("title"), FieldSpec("price", css=".p", attr="content", all=True)),
        requires_auth=True,
        frequency="daily",
        strategy=Strategy.BROWSER,
        priority=Priority.LOW,
        max_attempts=5,
        timeout_s=7.5,
        respect_robots=False,
        verify_tls=False,
        trusted_hosts=("intranet",),
    )
    await store.jobs.add(job, None)
    stored = await store.jobs.get(job.id)
    assert stored.job.created_at is not None
    assert stored.job == a_job(**{**_fields(job), "created_at": stored.job.created_at})
    assert (stored.latest_state, stored.latest_hold) == (None, None)


def _fields(job: object) -> dict[str, object]:
    return {name: getattr(job, name) for name in job.__slots__}  # type: ignore[attr-defined]


async def test_a_job_added_again_is_recognised(store: Store) -> None:
    job = a_job()
    assert await store.jobs.add(job, None) == await store.jobs.add(job, None) == (job.id, False)


async def test_a_job_shows_what_became_of_its_latest_run(store: Store) -> None:
    job = a_job()
    await store.jobs.add(job, None)
    await add(store, a_run(job.id))
    await settle(store, complete(await claim(store)))
    assert (await store.jobs.get(job.id)).latest_state == RunState.COMPLETED
    await add(store, a_run(job.id))
    await settle(store, hold(await claim(store)))
    [listed] = await store.jobs.newest(None, 10)
    assert (listed.latest_state, listed.latest_hold) == (RunState.HELD, HoldReason.WAITING_FOR_HUMAN)


async def test_jobs_are_listed_newest_first_page_by_page(store: Store) -> None:
    jobs = [a_job() for _ in range(5)]
    for job in jobs:
        await store.jobs.add(job, None)
    first = await store.jobs.newest(None, 3)
    rest = await store.jobs.newest(first[-1].job.id, 3)
    assert [stored.job.id for stored in [*first, *rest]] == [job.id for job in jobs][::-1]


async def test_a_job_is_changed_and_deleted(store: Store) -> None:
    job = a_job()
    await store.jobs.add(job, None)
    changed = replace(job, target_url="http://other.test/")
    assert await store.jobs.update(job, changed, None)
    assert not await store.jobs.update(job, changed, None), "it is not any more what this change was made from"
    assert (await store.jobs.get(job.id)).job.target_url == "http://other.test/"
    await store.jobs.delete(job.id)
    for attempt in (
        store.jobs.get(job.id),
        store.jobs.update(job, changed, None),
        store.jobs.delete(job.id),
    ):
        with pytest.raises(JobNotFound, match=job.id):
            await attempt


async def test_a_job_with_a_live_run_cannot_be_deleted(store: Store) -> None:
    job = a_job()
    await store.jobs.add(job, None)
    run_id = await add(store, a_run(job.id))
    with pytest.raises(WrongState, match="queued"):
        await store.jobs.delete(job.id)
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    await store.jobs.delete(job.id)
    assert (await store.runs.get(run_id)).state is RunState.CANCELLED


async def _schedule(store: Store, slot_ms: int = 1000) -> DueJob:
    job = a_job(frequency="hourly")
    await store.jobs.add(job, slot_ms)
    [due] = await store.jobs.due(10)
    return due


async def test_only_jobs_whose_slot_has_come_are_due(store: Store) -> None:
    due = await _schedule(store)
    await store.jobs.add(a_job(), None)
    await store.jobs.add(a_job(frequency="hourly"), 2**52)
    assert [found.job.id for found in await store.jobs.due(10)] == [due.job.id]
    assert due.slot_ms == 1000


async def test_a_slot_fires_once(store: Store) -> None:
    due = await _schedule(store)
    run = a_run(due.job.id)
    assert await store.jobs.fire(due, 1000, 2**52, run, CREATED)
    assert not await store.jobs.fire(due, 1000, 2**52, a_run(due.job.id), CREATED)
    assert [found.id for found in await store.runs.newest(due.job.id, None, None, 10)] == [run.id]
    assert [event.kind for event in await store.events.of_run(run.id, 0, 10)] == [EventKind.CREATED]
    assert await store.jobs.due(10) == []


async def test_a_slot_fires_once_after_the_clock_was_set_back(store: Store) -> None:
    due = await _schedule(store)
    assert await store.jobs.fire(due, 1000, 1000 + HOUR_MS, a_run(due.job.id), CREATED)
    # Changing the schedule while the clock is behind computes the slot of before again.
    assert await store.jobs.update(due.job, replace(due.job, frequency="0 1 * * *"), 1000)
    [again] = await store.jobs.due(10)
    assert not await store.jobs.fire(again, 1000, 1000 + HOUR_MS, a_run(due.job.id), CREATED)
    [following] = await store.jobs.due(10)
    assert following.slot_ms == 1000 + HOUR_MS
    assert await store.jobs.fire(following, 1000 + HOUR_MS, 2**52, a_run(due.job.id), CREATED)
    assert len(await store.runs.newest(due.job.id, None, None, 10)) == 2


async def test_a_job_deleted_meanwhile_does_not_fire(store: Store) -> None:
    due = await _schedule(store)
    await store.jobs.delete(due.job.id)
    assert not await store.jobs.fire(due, 1000, 2**52, a_run(due.job.id), CREATED)


async def test_a_slot_fires_once_from_two_nodes_at_once(two_stores: tuple[Store, Store]) -> None:
    slots = 40
    jobs = [a_job(frequency="hourly") for _ in range(slots)]
    for job in jobs:
        await two_stores[0].jobs.add(job, 1000)

    async def fire_all(store: Store) -> int:
        due = await store.jobs.due(100)
        fired = await asyncio.gather(*(store.jobs.fire(each, 1000, 2**52, a_run(each.job.id), CREATED) for each in due))
        return sum(fired)

    assert sum(await asyncio.gather(*(fire_all(store) for store in two_stores))) == slots
    for job in jobs:
        assert len(await two_stores[1].runs.newest(job.id, None, None, 10)) == 1


async def test_forgotten_slots_are_old_ones(store: Store, sql: Sql) -> None:
    from corral.domain.runs.retention import Retention

    due = await _schedule(store)
    await store.jobs.fire(due, 1000, 2**52, a_run(due.job.id), CREATED)
    sql(f"INSERT INTO schedule_slots VALUES ('{due.job.id}', {2**52}, '{new_id()}')")
    await store.maintenance.prune(Retention())
    assert [row[0] for row in sql("SELECT slot FROM schedule_slots")] == [2**52]


async def test_a_change_of_something_else_loses_no_slot_that_is_due(store: Store) -> None:
    due = await _schedule(store)
    assert await store.jobs.update(due.job, replace(due.job, max_attempts=9), 2**52)
    [still] = await store.jobs.due(10)
    assert (still.slot_ms, still.job.max_attempts) == (due.slot_ms, 9)
