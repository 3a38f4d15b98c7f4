"""A node executes runs and settles them: outcomes, retries, bands, bounds, neighbours."""

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from corral.domain.errors import StorageError
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import Lease, RunAction, RunState
from corral.domain.runs.settlement import Settlement
from corral.engine.worker.attempt import settlement_of
from corral.settings import Settings
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_single_run
from tests.engine.builders import (
    With,
    drill,
    events,
    kinds,
    node_of,
    put,
    run_node,
    settings_for,
    sound,
    wait_for_quarantine,
    wait_for_runs,
    wait_for_start,
)
from tests.slack import SLACK
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")


async def test_a_run_is_executed_and_settled_with_its_record(app: App) -> None:
    [run_id] = await put(app, drill(record=True))
    [run] = await wait_for_runs(app, [run_id])
    assert run.state is RunState.COMPLETED
    assert (run.attempt, run.epoch, run.losses) == (1, 1, 0)
    assert await kinds(app, run_id) == ["created", "started", "completed"]
    assert [record.data for record in await app.store.records.of_run(run_id, "", 10)] == [{"selftest": "done"}]
    await sound(app)


async def test_a_failure_is_retried_until_the_attempts_are_used_up(app: App) -> None:
    [run_id] = await put(app, drill("fail", max_attempts=3))
    [run] = await wait_for_runs(app, [run_id])
    assert (run.state, run.attempt, run.failure_code) == (RunState.FAILED, 3, "network")
    assert [entry["outcome"] for entry in run.attempts] == ["network"] * 3
    assert await kinds(app, run_id) == ["created", *["started", "retry_scheduled"] * 2, "started", "failed"]


async def test_a_blocked_attempt_escalates_to_the_browser(app: App) -> None:
    [run_id] = await put(app, drill("sleep", seconds=30))
    await wait_for_start(app, run_id)
    lease = Lease(await app.store.runs.get(run_id), node_of(app).owner)
    blocked = Failed(FailureCode.BLOCKED, "the target answered 403", "http_403", http_status=403)
    settlement = settlement_of(lease, blocked, RetryPolicy(), now=lease.run.created_at, took_s=0)
    [landed] = await app.store.runs.settle_all([settlement])
    assert landed
    run = await app.store.runs.get(run_id)
    assert (run.state, run.attempt, run.resolved_strategy) == (RunState.QUEUED, 2, Strategy.BROWSER)
    assert (await kinds(app, run_id))[-2:] == ["escalated", "retry_scheduled"]


async def test_a_bug_in_a_kind_fails_the_run_and_keeps_the_traceback(app: App) -> None:
    [run_id] = await put(app, drill("no such drill", max_attempts=1))
    [run] = await wait_for_runs(app, [run_id])
    assert (run.failure_code, run.failure_detail) == ("unknown", "bug")
    assert "unknown selftest" in (await events(app, run_id))[-1].meta["traceback"]


async def test_no_more_runs_are_executed_at_once_than_allowed(shared_settings: Settings) -> None:
    async with run_node(shared_settings.model_copy(update={"workers": 2, "runs_per_process": 4})) as app:
        ids = await put(app, *[drill("sleep", seconds=0.01 * (number % 5)) for number in range(200)])
        assert {run.state for run in await wait_for_runs(app, ids)} == {RunState.COMPLETED}
        assert 4 < await highest_at_once(app, set(ids)) <= 8


async def test_no_more_browsers_are_at_work_than_allowed_and_the_others_do_not_wait_for_them(tmp_path: Path) -> None:
    async with run_node(settings_for(tmp_path, workers=2, runs_per_process=10, browser_concurrency=1)) as app:
        slow = [drill("sleep", seconds=0.1)._replace(resolved_strategy=Strategy.BROWSER) for _ in range(12)]
        light = [drill("sleep", seconds=0.02) for _ in range(40)]
        by_browser, over_http = set(await put(app, *slow)), set(await put(app, *light))
        await wait_for_runs(app, [*by_browser, *over_http])
        assert await highest_at_once(app, by_browser) == 2
        assert await highest_at_once(app, over_http) > 2
        order = [event.run_id for event in await app.store.events.feed(0, 1000) if event.kind == "started"]
        assert order[-1] in by_browser, "what needs no browser came first although it was asked for last"


async def highest_at_once(app: App, ids: set[str]) -> int:
    """By the history, which leaves out no moment that anybody could have seen in the database."""
    change = {"started": 1, "completed": -1}
    at_once = highest = 0
    for event in await app.store.events.feed(0, 1000):
        at_once += change.get(event.kind, 0) if event.run_id in ids else 0
        highest = max(highest, at_once)
    return highest


async def test_bands_are_served_strictly_in_order(tmp_path: Path) -> None:
    async with run_node(settings_for(tmp_path, workers=1, runs_per_process=1)) as app:
        [blocker] = await put(app, drill("sleep", seconds=0.5))
        await wait_for_start(app, blocker)
        bands = [Priority.LOW, Priority.MEDIUM, Priority.CRITICAL, Priority.HIGH] * 3
        runs = [drill(priority=band) for band in bands]
        ids = await put(app, *runs)
        await wait_for_runs(app, ids)
        feed = await app.store.events.feed(0, 1000)
        order = [event.run_id for event in feed if event.kind == "started" and event.run_id != blocker]
        wanted = sorted(runs, key=lambda run: (run.priority, run.id))
        assert order == [run.id for run in wanted]


async def test_a_stalled_run_is_killed_at_its_deadline_and_its_neighbours_are_given_back(tmp_path: Path) -> None:
    async with run_node(settings_for(tmp_path, workers=1, runs_per_process=10)) as app:
        neighbours = await put(app, *[drill("sleep", seconds=4.5, record=True) for _ in range(5)])
        await wait_for_start(app, *neighbours)
        [stalled] = await put(app, drill("stall", seconds=300, timeout_s=1, max_attempts=1))
        began = time.monotonic()
        runs = await wait_for_runs(app, [stalled, *neighbours])
        assert (runs[0].state, runs[0].failure_code) == (RunState.FAILED, "timeout")
        assert time.monotonic() - began < 15 * SLACK
        assert {(run.state, run.attempt, run.losses) for run in runs[1:]} == {(RunState.COMPLETED, 1, 0)}
        assert all([await kinds(app, id_) == GIVEN_BACK for id_ in neighbours])
        assert all([len(await app.store.records.of_run(id_, "", 10)) == 1 for id_ in neighbours])
        await sound(app)


GIVEN_BACK = ["created", "started", "released", "started", "completed"]


async def test_a_deadline_stops_a_run_that_only_sleeps_without_a_kill(app: App) -> None:
    await wait_for_runs(app, await put(app, drill("nothing")))  # the worker has loaded what executes runs
    pids = node_of(app).worker_pids
    [run_id] = await put(app, drill("sleep", seconds=30, timeout_s=0.3, max_attempts=1))
    [run] = await wait_for_runs(app, [run_id])
    assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "timeout", "total")
    assert node_of(app).worker_pids == pids


async def test_a_manual_retry_is_linked_to_the_run_it_repeats(app: App) -> None:
    [old] = await put(app, drill("fail", max_attempts=1))
    await wait_for_runs(app, [old])
    new, _ = await app.submitter.retry(old)
    assert (new.retry_of, new.attempt, new.payload.document()) == (old, 1, {"do": "fail"})
    await wait_for_runs(app, [new.id])
    assert await kinds(app, old) == ["created", "started", "failed"]


async def test_a_worker_that_dies_at_once_is_replaced_and_its_runs_are_claimed_again(app: App) -> None:
    ids = await put(app, *[drill("sleep", seconds=1, record=True) for _ in range(10)])
    await wait_for_start(app, *ids)
    await asyncio.sleep(0.3)
    victim = node_of(app).worker_pids[0]
    os.kill(victim, signal.SIGKILL)
    runs = await wait_for_runs(app, ids)
    assert {run.state for run in runs} == {RunState.COMPLETED}
    again = [run for run in runs if run.epoch == 2]
    assert again
    assert {(run.losses, run.suspect) for run in runs} == {(0, 0)}, "a kill from outside says nothing about them"
    assert "interrupted" in await kinds(app, again[0].id)
    await until(lambda: node_of(app).worker_count == 2 and victim not in node_of(app).worker_pids)
    await sound(app)


async def test_a_poison_run_is_quarantined_while_the_good_ones_complete(settings: Settings) -> None:
    async with run_node(change_settings(settings, runs_per_process=20)) as app:
        good = await put(app, *[drill(record=True) for _ in range(100)])
        [poison] = await put(app, drill("die", signal="SIGSEGV"))
        good += await put(app, *[drill(record=True) for _ in range(100)])
        run = await wait_for_quarantine(app, poison)
        assert (run.hold_reason, run.failure_code, run.failure_detail) == ("quarantined", "worker_lost", "poison")
        assert (run.losses, run.attempt) == (3, 1)
        assert "SIGSEGV" in str(run.error_message)
        [quarantined] = [event for event in await events(app, poison) if event.kind == "quarantined"]
        assert quarantined.meta["exit"] == "killed by SIGSEGV"
        assert "selftest: this worker kills itself now" in quarantined.meta["stderr"]
        await until(lambda: _all_completed(app, good), within_s=60)
        assert {(await app.store.runs.get(id_)).losses for id_ in good} == {0}
        assert all([len(await app.store.records.of_run(id_, "", 10)) == 1 for id_ in good])
        await sound(app)


async def _all_completed(app: App, ids: list[str]) -> bool:
    return {(await app.store.runs.get(id_)).state for id_ in ids} == {RunState.COMPLETED}


async def test_a_run_that_kills_its_worker_unnamed_is_found_and_only_it_is_held(settings: Settings) -> None:
    """It dies from a thread, while its worker is in another run or in none: the others are tried apart from it."""
    async with run_node(change_settings(settings, workers=1, runs_per_process=20)) as app:
        good = await put(app, *[drill("sleep", seconds=0.3, record=True) for _ in range(8)])
        [poison] = await put(app, drill("die", signal="SIGSEGV", after_s=0.1))
        good += await put(app, *[drill("sleep", seconds=0.3, record=True) for _ in range(8)])
        run = await wait_for_quarantine(app, poison)
        assert run.losses == 3
        await until(lambda: _all_completed(app, good), within_s=60)
        assert {(await app.store.runs.get(id_)).losses for id_ in good} == {0}


async def test_suspects_take_no_room_from_other_runs(settings: Settings) -> None:
    async with run_node(change_settings(settings, workers=1, runs_per_process=10)) as app:
        [poison] = await put(app, drill("die", signal="SIGSEGV"))
        held = await put(app, *[drill("sleep", seconds=30) for _ in range(6)])
        await until(lambda: _is_suspect(app, poison))
        slow = await put(app, *[drill("die", signal="SIGSEGV", after_s=20) for _ in range(3)])
        quick = await put(app, *[drill(record=True) for _ in range(50)])
        await until(lambda: _all_completed(app, quick), within_s=15)
        for id_ in [*held, *slow, poison]:
            await app.store.runs.apply_action(id_, RunAction.CANCEL)


async def _is_suspect(app: App, run_id: str) -> bool:
    return (await app.store.runs.get(run_id)).losses > 0


def change_settings(settings: Settings, **changed: object) -> Settings:
    return settings.model_copy(update=changed)


async def test_only_the_named_run_is_executed_by_a_node_for_one_run(settings: Settings) -> None:
    async with open_client(settings) as app:
        first, second = await put(app, drill(), drill())
    async with open_single_run(settings, second) as app:
        await until(lambda: _is_done(app, second))
        assert (await app.store.runs.get(first)).state is RunState.QUEUED


async def _is_done(app: App, run_id: str) -> bool:
    return (await app.store.runs.get(run_id)).state.is_terminal


async def test_an_outcome_the_database_refuses_fails_the_run_and_not_its_company(app: App) -> None:
    """One result nobody can write down must not be tried for ever, nor keep others from being written."""
    node = node_of(app)
    real = node._store.runs.settle_all
    ids = await put(app, drill("sleep", seconds=0.5), drill("sleep", seconds=0.5))

    async def picky(settlements: Sequence[Settlement]) -> list[bool]:
        if any(each.lease.run_id == ids[0] and each.transition.to == "completed" for each in settlements):
            raise StorageError("refused a row")
        return await real(settlements)

    node._store = With(app.store, runs=With(app.store.runs, settle_all=picky))
    bad, good = await wait_for_runs(app, ids)
    assert good.state is RunState.COMPLETED
    assert (bad.state, bad.failure_code, bad.failure_detail) == (RunState.FAILED, "unknown", "bug")
    assert "cannot be stored" in str((await events(app, ids[0]))[2].meta["error_message"])
