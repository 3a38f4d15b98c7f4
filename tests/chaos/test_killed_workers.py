"""Workers that are killed at any moment cost time, and nothing else."""

import asyncio
import os
import signal
import time

import psutil

from corral.domain.runs.event import Event, EventKind
from corral.domain.runs.run import Run, RunState
from tests.chaos.client import Client, client_of
from tests.chaos.history import check, read
from tests.chaos.level import SEED, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import NodeProcess, Stack, wait_for
from tests.engine.builders import drill, states
from tests.slack import SLACK

KILLS = by_level(5, 1000, 10_000)


async def test_killed_workers_lose_nothing_double_nothing_and_leave_nothing_behind(file_stack: Stack) -> None:
    stack = file_stack
    node = stack.node(workers=3, runs_per_process=5)
    async with client_of(stack.url, stack.folder) as client:
        enough = asyncio.Event()
        feeding = asyncio.create_task(keep_fed(client, enough))
        node.wait_for_message("ready")
        kills = await kill_workers(node, KILLS)
        enough.set()
        await feeding
        await client.wait_until_drained(120)
        assert check(stack.url, client.answered) == []
        runs = await client.runs()
        assert states(runs) == {"completed": len(runs)}
        assert {(run.losses, run.suspect) for run in runs} == {(0, 0)}
        records = read(stack.url).records
        assert {run.id for run in runs} == set(records)
        reclaims = reclaim_times(await client.events(), kills)
    assert reclaims
    report_reclaims(reclaims, runs)
    assert percentile(reclaims, 99) <= 5


async def keep_fed(client: Client, enough: asyncio.Event) -> None:
    """Always some hundred runs waiting, each as long as a page takes. A cancel would hide what it submitted."""
    rng = make_random()
    while not enough.is_set():
        if (await client.app.store.runs.count_live())["queued"] < 100:
            await client.submit(*[drill("sleep", seconds=rng.uniform(0.01, 0.05), record=True) for _ in range(100)])
        await asyncio.sleep(0.05)


async def kill_workers(node: NodeProcess, count: int) -> list[float]:
    """Kill a random one again and again; when that was."""
    rng = make_random()
    kills: list[float] = []
    while len(kills) < count:
        await asyncio.sleep(rng.uniform(0.05, 0.2))
        pids = list(node.worker_pids)
        if len(pids) < 2:  # who is killed leaves somebody to go on
            continue
        pid = rng.choice(pids)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        kills.append(time.time())
    return kills


def reclaim_times(events: list[Event], kills: list[float]) -> list[float]:
    """For each run lost with a worker: from the kill to its next start, in seconds."""
    lost: dict[str, float] = {}
    found = []
    for event in events:
        at = event.created_at.timestamp()
        if event.kind is EventKind.INTERRUPTED:
            lost[event.run_id] = max((kill for kill in kills if kill <= at + 0.01), default=at)
        elif event.kind is EventKind.STARTED and event.run_id in lost:
            found.append(at - lost.pop(event.run_id))
    return sorted(found)


def percentile(values: list[float], percent: int) -> float:
    return values[min(len(values) - 1, len(values) * percent // 100)]


def report_reclaims(reclaims: list[float], runs: list[Run]) -> None:
    p50, p99 = (round(percentile(reclaims, each), 3) for each in (50, 99))
    report(
        f"{KILLS} kills, {len(runs)} runs, {len(reclaims)} claimed again after p50 {p50} s, p99 {p99} s, "
        f"max {reclaims[-1]:.3f} s (seed {SEED})"
    )


async def test_the_runs_of_a_killed_node_are_claimed_by_another(one_stack: Stack) -> None:
    """Its workers go with it at once; the leases run out."""
    stack = one_stack
    first = stack.node(workers=2, runs_per_process=5)
    first.wait_for_message("ready")
    async with client_of(stack.url, stack.folder) as client:
        await client.submit(*[drill("sleep", seconds=2.5, record=True) for _ in range(10)])
        await asyncio.to_thread(wait_for, lambda: len(first.worker_pids) == 2)
        await asyncio.sleep(1)
        running = [run for run in await client.runs() if run.state is RunState.RUNNING]
        assert len(running) == 10
        children = first.children()
        os.kill(first.pid, signal.SIGKILL)
        killed = time.time()
        _, alive = await asyncio.to_thread(psutil.wait_procs, children, 2)
        assert alive == []
        stack.node(workers=1, runs_per_process=20)
        await client.wait_until_drained()
        runs = await client.runs()
        assert states(runs) == {"completed": 10}
        starts = [event for event in await client.events() if event.kind is EventKind.STARTED]
        again = [event for event in starts if event.meta["epoch"] == 2]
        assert len(again) == 10
        took_s = max(event.created_at.timestamp() - killed for event in again)
        report(f"runs of a killed node claimed again after at most {took_s:.1f} s")
        assert took_s <= 12 * SLACK
        assert check(stack.url, client.answered) == []
