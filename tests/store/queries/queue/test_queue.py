"""The queue in the database: imports by id, starts in one transaction, ends, and the way back."""

import asyncio

import pytest

from corral.domain.jobs.job import Priority
from corral.domain.queue.feed import FeedResult, FeedRules, ScraperLimit, TaskScope
from corral.domain.queue.task import QueueFile, QueueTask, TaskNotFound, TaskState, WrongTaskState, parse_task
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import NewRun, RunAction, RunState
from corral.engine.worker.attempt import settlement_of
from corral.engine.worker.kinds.selftest import SELFTEST_KIND
from corral.store.open import open_store
from corral.store.queries.queue import starts
from corral.store.queries.queue.tasks import TaskFilter
from corral.store.store import Store
from corral.store.tx import values
from tests.store.builders import ME, complete, settle
from tests.store.conftest import Sql

_HERE = "/project/config.yaml"


def _task(number: int, priority: str = "HIGH", scraper: str = "a", season: str = "2024-25") -> QueueTask:
    return parse_task({"id": f"task_{number:06}", "priority": priority, "scraper": scraper, "season": season})


def _file(*tasks: QueueTask) -> QueueFile:
    return QueueFile(list(tasks), [], [])


def _make_run(task: QueueTask) -> NewRun | str:
    if task.scraper == "unknown":
        return "scraper_not_found: no scraper unknown"
    return SELFTEST_KIND.draft_run(SELFTEST_KIND.payload.parse({}), priority=task.priority, max_attempts=1)


async def _feed(store: Store, slots: int = 5, *ids: str, rules: FeedRules | None = None) -> FeedResult:
    scope = TaskScope(ids) if ids else None
    return await store.queue.feed(_HERE, rules or FeedRules(slots), _make_run, scope)


async def test_an_import_is_idempotent_and_says_what_changed(store: Store) -> None:
    report = await store.queue.add(_file(_task(1), _task(2), _task(3, "LOW")), _HERE)
    assert (report.imported, report.updated, report.unchanged) == (3, 0, 0)
    report = await store.queue.add(_file(_task(1), _task(2, season="1999-00"), _task(3, "CRITICAL"), _task(4)), _HERE)
    assert (report.imported, report.updated, report.unchanged) == (1, 2, 1)
    assert (await store.queue.get("task_000002")).task.document["season"] == "1999-00"
    assert (await store.queue.get("task_000003")).task.priority is Priority.CRITICAL
    found = await store.queue.newest(TaskFilter(), None, 10)
    assert [each.task.id for each in found] == [f"task_{number:06}" for number in (4, 3, 2, 1)]
    assert [each.task.id for each in await store.queue.newest(TaskFilter(), found[1].seq, 1)] == ["task_000002"]


async def test_a_task_starts_once_completes_and_does_not_start_again(store: Store) -> None:
    await store.queue.add(_file(_task(1)), _HERE)
    [run] = (await _feed(store)).started.values()
    assert (await _feed(store)).started == {}
    stored = await store.queue.get("task_000001")
    assert (stored.state, stored.public_state, stored.run_id, stored.starts) == (TaskState.STARTED, "queued", run.id, 1)
    busy = await store.queue.add(_file(_task(1, season="1999-00")), _HERE)
    assert busy.busy == ("task_000001",)

    [lease] = await store.runs.claim(ME, 1, 10)
    assert await settle(store, complete(lease))
    assert (await _feed(store)).ended == 1
    stored = await store.queue.get("task_000001")
    assert (stored.state, stored.reason, [entry["state"] for entry in stored.history]) == (
        TaskState.COMPLETED,
        None,
        ["completed"],
    )
    assert (await store.queue.add(_file(_task(1)), _HERE)).unchanged == 1
    assert (await _feed(store)).started == {}
    # The same id with other content is other work.
    assert (await store.queue.add(_file(_task(1, season="1999-00")), _HERE)).updated == 1
    assert len((await _feed(store)).started) == 1


async def test_a_task_that_fails_for_good_is_dead_until_it_is_requeued(store: Store) -> None:
    await store.queue.add(_file(_task(1), _task(2, scraper="unknown")), _HERE)
    result = await _feed(store)
    assert result.refused == ["task_000002"]
    [lease] = await store.runs.claim(ME, 1, 10)
    failure = Failed(FailureCode.BAD_RESPONSE, "exit code 3", "exit")
    await settle(store, settlement_of(lease, failure, RetryPolicy(), now=lease.run.created_at, took_s=1.0))
    await store.queue.note_ends()
    dead = await store.queue.newest(TaskFilter(TaskState.DEAD), None, 10)
    assert [(each.task.id, each.reason) for each in dead] == [
        ("task_000002", "scraper_not_found: no scraper unknown"),
        ("task_000001", "bad_response:exit: exit code 3"),
    ]
    assert (await _feed(store)).started == {}
    assert (await store.queue.requeue("task_000001")).state is TaskState.READY
    with pytest.raises(WrongTaskState, match="ready"):
        await store.queue.requeue("task_000001")
    assert await store.queue.requeue_dead() == 1
    assert len((await _feed(store)).started) == 1
    assert (await store.queue.get("task_000001")).starts == 2
    with pytest.raises(TaskNotFound):
        await store.queue.requeue("task_999999")


async def test_a_waiting_task_can_be_cancelled_and_a_cancelled_run_cancels_its_task(store: Store) -> None:
    await store.queue.add(_file(_task(1), _task(2)), _HERE)
    assert (await store.queue.cancel("task_000002")).state is TaskState.CANCELLED
    with pytest.raises(WrongTaskState):
        await store.queue.cancel("task_000002")
    [run] = (await _feed(store)).started.values()
    assert (await store.queue.cancel("task_000001")).run_id == run.id
    await store.runs.apply_action(run.id, RunAction.CANCEL)
    await store.queue.note_ends()
    assert (await store.queue.get("task_000001")).state is TaskState.CANCELLED


async def test_bands_and_the_scope_of_a_feed_hold(store: Store) -> None:
    tasks = [_task(1, "LOW"), _task(2, "CRITICAL"), _task(3, "HIGH"), _task(4, "CRITICAL")]
    await store.queue.add(_file(*tasks), _HERE)
    result = await _feed(store, 2)
    assert [run.priority for run in result.started.values()] == [Priority.CRITICAL] * 2
    assert result.is_waiting
    assert (await _feed(store, 4, "task_000001")).started["task_000001"].priority is Priority.LOW
    assert {(each.state, each.priority): each.tasks for each in await store.queue.count()} == {
        (TaskState.STARTED, Priority.CRITICAL): 2,
        (TaskState.STARTED, Priority.LOW): 1,
        (TaskState.READY, Priority.HIGH): 1,
    }


async def test_a_feeder_takes_only_tasks_of_its_own_scraper_configuration(store: Store) -> None:
    await store.queue.add(_file(_task(1)), "/other/config.yaml")
    assert (await _feed(store)).started == {}


async def test_a_scope_finds_its_tasks_behind_many_others(store: Store) -> None:
    await store.queue.add(_file(*(_task(number) for number in range(1, 1200))), _HERE)
    assert list((await _feed(store, 5, "task_000700", "task_001199")).started) == ["task_000700", "task_001199"]


@pytest.mark.parametrize("is_dead", [False, True])
async def test_an_import_with_another_configuration_and_priority_takes_the_task_over(
    store: Store, is_dead: bool
) -> None:
    await store.queue.add(_file(_task(1, "LOW", "unknown" if is_dead else "a")), "/other/config.yaml")
    if is_dead:
        await store.queue.feed("/other/config.yaml", FeedRules(), _make_run)
    await store.queue.add(_file(_task(1, "HIGH", "unknown" if is_dead else "a")), _HERE)
    assert await store.queue.requeue_dead() == is_dead
    result = await _feed(store)
    assert [*result.started, *result.refused] == ["task_000001"]
    assert (await store.queue.get("task_000001")).task.priority is Priority.HIGH


async def test_many_unknown_scrapers_neither_slow_a_feed_down_nor_hide_a_known_one(store: Store) -> None:
    names = [f"a{number}" for number in range(1500)]
    unknown = [_task(number, scraper="unknown")._replace(scraper=name) for number, name in enumerate(names)]
    await store.queue.add(_file(_task(5000, scraper="zz"), *unknown), _HERE)
    asked: list[str] = []

    def refuse(task: QueueTask) -> str:
        asked.append(task.scraper)
        return "scraper_not_found"

    rules = FeedRules(2, scrapers={"zz": ScraperLimit()})
    where = values(registry=_HERE, band=int(Priority.HIGH))
    names = await store._db.read(lambda tx: starts._list_scrapers(tx, where, rules))
    assert (len(names), names[-1]) == (4, "zz")
    await store.queue.feed(_HERE, rules, refuse)
    assert (len(asked), asked[0]) == (2, "zz")


async def test_a_held_run_does_not_stop_the_other_tasks_of_its_scraper(store: Store) -> None:
    one_at_once = FeedRules(5, scrapers={"a": ScraperLimit(max_concurrent=1)})
    await store.queue.add(_file(_task(1), _task(2)), _HERE)
    [run] = (await _feed(store, rules=one_at_once)).started.values()
    assert (await _feed(store, rules=one_at_once)).started == {}
    await store.runs.apply_action(run.id, RunAction.PAUSE)
    assert list((await _feed(store, rules=one_at_once)).started) == ["task_000002"]


async def test_the_end_of_a_run_is_noted_before_an_import_compares(store: Store) -> None:
    await store.queue.add(_file(_task(1)), _HERE)
    await _feed(store)
    [lease] = await store.runs.claim(ME, 1, 10)
    assert await settle(store, complete(lease))
    report = await store.queue.add(_file(_task(1, season="1999-00")), _HERE)
    assert (report.busy, report.updated) == ((), 1)


async def test_a_run_that_another_feeder_added_a_moment_later_uses_a_slot(store: Store, sql: Sql) -> None:
    await store.queue.add(_file(_task(1), _task(2)), _HERE)
    assert len((await _feed(store, 1)).started) == 1
    sql("UPDATE runs SET due_at = due_at + 60000")  # as a transaction sees it that waited for the lock
    assert (await _feed(store, 1)).started == {}


async def test_feeders_of_several_processes_start_each_task_once_within_the_limit(shared_url: str) -> None:
    stores = [open_store(shared_url) for _ in range(4)]
    await stores[0].queue.add(_file(*(_task(number) for number in range(1, 41))), _HERE)
    results = await asyncio.gather(*(_feed(store, 10) for store in stores for _ in range(5)))
    started = [run.id for result in results for run in result.started.values()]
    assert len(started) == len(set(started)) == 10
    queued = await stores[0].runs.newest(None, RunState.QUEUED, None, 50)
    assert {run.id for run in queued} == set(started)
    for store in stores:
        await store.close()
