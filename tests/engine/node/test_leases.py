"""Leases are kept while their worker lives, and nothing is started under one that may be lost."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from corral.domain.errors import StorageUnavailable
from corral.domain.runs.run import RunState
from corral.engine.node import lost_leases, renewer
from corral.store.open import open_store
from corral.wiring.app import App
from tests.engine.builders import (
    With,
    drill,
    events,
    kinds,
    node_of,
    put,
    settings_for,
    sound,
    wait_for_runs,
    wait_for_start,
)
from tests.engine.builders import run_node as a_node
from tests.waiting import until

# What is proved is what happens once a lease has run out, not how long ten seconds are.
SHORT_S = 5.0
FENCE_S = SHORT_S * renewer.SELF_FENCE_S / renewer.LEASE_S


@pytest.fixture
def short_leases(monkeypatch: pytest.MonkeyPatch, forked_workers: None) -> None:
    """Renewed as often as ever: a busy machine may miss a few. A silent worker is given up later than they last."""
    monkeypatch.setattr(renewer, "LEASE_S", SHORT_S)
    monkeypatch.setattr(lost_leases, "LEASE_S", SHORT_S)
    monkeypatch.setattr(renewer, "SELF_FENCE_S", FENCE_S)


@pytest.mark.slow
@pytest.mark.usefixtures("short_leases")
async def test_a_loop_that_stands_still_costs_no_lease(app: App) -> None:
    """Neither the node's own loop, nor that of a worker, while another node looks for expired leases."""
    ids = await put(app, *[drill("sleep", seconds=SHORT_S + 3, record=True, timeout_s=60) for _ in range(5)])
    ids += await put(app, drill("stall", seconds=SHORT_S + 4, record=True, timeout_s=60))
    short = await put(app, *[drill("sleep", seconds=2, record=True, timeout_s=60) for _ in range(5)])
    await wait_for_start(app, *ids, *short)
    await asyncio.sleep(0.3)
    reaper = threading.Thread(target=lambda: asyncio.run(reap_for(SHORT_S + 4, app.settings.store_url)))
    reaper.start()
    time.sleep(SHORT_S + 3)
    runs = await wait_for_runs(app, ids + short)
    await asyncio.to_thread(reaper.join)
    assert {(run.state, run.epoch, run.losses) for run in runs} == {(RunState.COMPLETED, 1, 0)}
    await sound(app)


async def reap_for(seconds: float, url: str) -> None:
    store = open_store(url)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        await store.runs.reap()
        await asyncio.sleep(0.5)
    await store.close()


@pytest.mark.slow
async def test_a_stopped_worker_is_replaced_and_gets_nothing_new(tmp_path: Path) -> None:
    async with a_node(settings_for(tmp_path, workers=2, runs_per_process=4)) as app:
        ids = await put(app, *[drill("sleep", seconds=1, record=True, timeout_s=300) for _ in range(4)])
        await wait_for_start(app, *ids)
        stopped = node_of(app).worker_pids[0]
        os.kill(stopped, signal.SIGSTOP)
        await asyncio.sleep(6)  # by now it is known to be silent
        later = await put(app, *[drill(record=True, timeout_s=300) for _ in range(20)])
        runs = await wait_for_runs(app, later, timeout_s=3)
        assert {run.losses for run in runs} == {0}
        runs = await wait_for_runs(app, ids, timeout_s=20)
        assert {run.state for run in runs} == {RunState.COMPLETED}
        assert {run.losses for run in runs} == {0}, "it was stopped from outside"
        again = [run for run in runs if run.epoch == 2]
        [event] = [event for event in await events(app, again[0].id) if event.kind == "interrupted"]
        assert "without a heartbeat" in event.meta["exit"]
        await until(lambda: not psutil.pid_exists(stopped) and node_of(app).worker_count == 2)
        await sound(app)


async def _is_history(app: App, run_id: str, expected: list[str]) -> bool:
    return await kinds(app, run_id) == expected


class Outage:
    """A store that can be cut off from its node, for renewals or for everything."""

    def __init__(self, app: App) -> None:
        self.is_on = False
        self.only_settling = False
        node, store = node_of(app), app.store

        def renew(leases: Sequence[tuple[str, int]], *rest: object) -> object:
            self._check()
            return store.runs.renew_from_thread(leases, *rest)  # type: ignore[arg-type]

        async def claim(*args: object) -> object:
            self._check()
            return await store.runs.claim(*args)  # type: ignore[arg-type]

        async def settle_all(*args: object) -> object:
            self._check(settling=True)
            return await store.runs.settle_all(*args)  # type: ignore[arg-type]

        async def release(*args: object) -> object:
            self._check()
            return await store.runs.release(*args)  # type: ignore[arg-type]

        async def reap(limit: int = 500) -> int:
            self._check()
            return await real_reap(limit)

        real_reap = store.runs.reap
        store.runs.reap = reap  # type: ignore[method-assign]
        cut = With(store.runs, renew_from_thread=renew, claim=claim, settle_all=settle_all, release=release)
        node._renewer._store = cut
        node._store = With(store, runs=cut)

    def _check(self, *, settling: bool = False) -> None:
        if self.is_on and (settling or not self.only_settling):
            raise StorageUnavailable("cut off")


@pytest.mark.slow
@pytest.mark.usefixtures("short_leases")
async def test_a_node_without_confirmed_renewals_starts_nothing_and_then_lets_go(app: App) -> None:
    outage = Outage(app)
    [running] = await put(app, drill("sleep", seconds=60, timeout_s=120))
    await wait_for_start(app, running)
    outage.is_on = True
    await asyncio.sleep(FENCE_S + 0.5)
    node = node_of(app)
    assert node._renewer.is_fenced
    assert node.executing == 1
    await until(lambda: node.executing == 0, within_s=SHORT_S - FENCE_S + 2)
    [waiting] = await put(app, drill())
    outage.is_on = False
    [run] = await wait_for_runs(app, [waiting])
    assert run.losses == 0
    await until(lambda: _is_history(app, running, ["created", "started", "released", "started"]))
    assert (await app.store.runs.get(running)).losses == 0
    await sound(app)


@pytest.mark.slow
@pytest.mark.usefixtures("short_leases")
@pytest.mark.parametrize("only_settling", [True, False])
async def test_what_was_done_during_an_outage_is_kept_and_nobody_is_blamed(app: App, only_settling: bool) -> None:
    """The outcome waits for the database for longer than a lease lasts, and is written all the same."""
    outage = Outage(app)
    outage.only_settling = only_settling
    ids = await put(app, *[drill("sleep", seconds=0.5, record=True) for _ in range(5)])
    await wait_for_start(app, *ids)
    outage.is_on = True
    await asyncio.sleep(SHORT_S + 1.5)
    assert node_of(app).storage_problem is not None or only_settling
    outage.is_on = False
    runs = await wait_for_runs(app, ids)
    assert {(run.state, run.epoch, run.losses) for run in runs} == {(RunState.COMPLETED, 1, 0)}
    assert all([len(await app.store.records.of_run(id_, "", 10)) == 1 for id_ in ids])
    await until(lambda: node_of(app).storage_problem is None)
    await sound(app)
