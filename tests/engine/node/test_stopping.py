"""An orderly stop: nothing new is taken, what runs gets its time, the rest is given back uncounted."""

import asyncio
import signal
import time
from pathlib import Path

import psutil
import pytest

from corral.domain.runs.run import RunState
from corral.engine.node.sources import PollingSource
from corral.settings import Settings
from corral.store.open import open_store
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_node
from tests.chaos.stack import stack_on
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
    wait_for_start,
)
from tests.slack import SLACK
from tests.waiting import until


async def test_sigterm_with_fifty_in_flight_gives_them_back_uncounted(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with stack_on(settings.store_url, tmp_path) as stack:
        node = stack.node(runs_per_process=25, shutdown_grace_seconds=1)
        node.wait_for_message("ready")
        async with open_client(settings) as app:
            ids = await put(app, *[drill("sleep", seconds=600, timeout_s=900) for _ in range(50)])
            ids += await put(app, drill("sleep", seconds=1.6, record=True))
            await wait_for_start(app, *ids[:50])
            children = node.children()
            assert len(children) == 2
            began = time.monotonic()
            node.signal(signal.SIGTERM)
            assert await asyncio.to_thread(node.wait) == 0
            assert 1 <= time.monotonic() - began < 10 * SLACK, "nobody waits for what takes minutes"
            assert (await app.store.runs.count_live())["running"] == 0
            runs = [await app.store.runs.get(id_) for id_ in ids[:50]]
            assert {(run.state, run.attempt, run.losses) for run in runs} == {(RunState.QUEUED, 1, 0)}
            for id_ in ids[:50]:
                last = (await events(app, id_))[-1]
                assert (last.kind, last.meta) == ("released", {"reason": "shutdown"})
            await sound(app)
        assert not [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.usefixtures("forked_workers")
async def test_what_finishes_within_the_grace_is_settled(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, shutdown_grace_seconds=5 * SLACK)
    async with run_node(settings) as app:
        ids = await put(app, *[drill("sleep", seconds=0.8, record=True) for _ in range(10)])
        await wait_for_start(app, *ids)
        await put(app, *[drill("sleep", seconds=60) for _ in range(30)])
        stopping = asyncio.create_task(node_of(app).stop())
        await until(lambda: _all_completed(app, ids))
        node_of(app).stop_now()
        await stopping
        assert (await app.store.runs.count_live())["running"] == 0
        await sound(app)


async def _all_completed(app: App, ids: list[str]) -> bool:
    return all([(await app.store.runs.get(id_)).state is RunState.COMPLETED for id_ in ids])


@pytest.mark.long
def test_a_second_sigterm_hurries(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    with stack_on(settings.store_url, tmp_path) as stack:
        node = stack.node(shutdown_grace_seconds=60)
        node.wait_for_message("ready")
        asyncio.run(_submit(settings, 10))
        node.signal(signal.SIGTERM)
        time.sleep(1)
        assert node.process.poll() is None
        began = time.monotonic()
        node.signal(signal.SIGTERM)
        assert node.wait() == 0
        assert time.monotonic() - began < 3 * SLACK
        assert asyncio.run(_live(settings)) == {"held": 0, "queued": 10, "running": 0}


async def _submit(settings: Settings, count: int) -> None:
    async with open_client(settings) as app:
        ids = await put(app, *[drill("sleep", seconds=60) for _ in range(count)])
        await wait_for_start(app, *ids)


async def _live(settings: Settings) -> dict[str, int]:
    store = open_store(settings.store_url)
    try:
        return await store.runs.count_live()
    finally:
        await store.close()


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("delay_s", [0.0, 0.3])
async def test_a_claim_under_way_when_the_node_stops_is_given_back(settings: Settings, delay_s: float) -> None:
    async with open_node(settings) as app:
        node = node_of(app)
        await until(lambda: node.worker_count == 2)
        under_way = asyncio.Event()
        real = app.store.runs.claim

        async def slow(*args: object) -> object:
            leases = await real(*args)  # type: ignore[arg-type]
            under_way.set()
            await asyncio.sleep(delay_s)
            return leases

        node._source = PollingSource(With(app.store, runs=With(app.store.runs, claim=slow)))
        [run_id] = await put(app, drill("sleep", seconds=60))
        while (await app.store.runs.get(run_id)).state is not RunState.RUNNING:
            under_way.clear()
            await asyncio.wait_for(under_way.wait(), 5 * SLACK)
        await node.stop()
        assert (await app.store.runs.get(run_id)).state is RunState.QUEUED
        assert (await kinds(app, run_id))[-1] == "released"


@pytest.mark.usefixtures("forked_workers")
async def test_a_run_past_its_time_when_the_node_stops_does_not_stay_running(settings: Settings) -> None:
    async with run_node(settings.model_copy(update={"shutdown_grace_seconds": 2.5})) as app:
        [run_id] = await put(app, drill("stall", seconds=30, timeout_s=0.5))
        await wait_for_start(app, run_id)
        await asyncio.sleep(1.0)
    assert (await _live(settings))["running"] == 0


@pytest.mark.long
async def test_a_worker_lost_while_the_node_stops_does_not_leave_its_run_running(settings: Settings) -> None:
    async with run_node(settings.model_copy(update={"shutdown_grace_seconds": 5.0})) as app:
        [run_id] = await put(app, drill("sleep", seconds=60))
        await wait_for_start(app, run_id)
        await asyncio.sleep(0.5)
        stopping = asyncio.create_task(node_of(app).stop())
        await asyncio.sleep(0.2)
        for pid in node_of(app).worker_pids:
            psutil.Process(pid).kill()
        await stopping
        assert (await app.store.runs.count_live())["running"] == 0


async def test_a_store_that_is_gone_does_not_keep_the_node_from_ending_its_workers(settings: Settings) -> None:
    from corral.domain.errors import StorageUnavailable

    async def raise_unavailable(*args: object) -> object:
        raise StorageUnavailable("cut off")

    async with run_node(settings) as app:
        [run_id] = await put(app, drill("sleep", seconds=60))
        await wait_for_start(app, run_id)
        children = [psutil.Process(pid) for pid in node_of(app).worker_pids]
        node_of(app)._store = With(app.store, runs=With(app.store.runs, release=raise_unavailable))
        async with asyncio.timeout(10):
            await node_of(app).stop()
        assert not [child for child in children if child.is_running()]
