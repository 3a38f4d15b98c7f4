"""Workers, nodes and whole installations are killed in random order under load: every good run completes once."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from corral.domain.runs.event import EventKind
from corral.domain.runs.run import RunState
from tests.chaos.client import Client, client_of
from tests.chaos.fleet import Answers, Fleet, drained, fleet, made_job, submit, until_works
from tests.chaos.history import check, check_order, query, read
from tests.chaos.level import SEED, by_level, seeded
from tests.chaos.report import report
from tests.chaos.stack import NodeProcess, Stack
from tests.engine.builders import drill, states
from tests.services import PostgresCluster, RedisServer
from tests.stack import demo_site

KILLS = by_level(12, 1000, 5000)
FLEET_KILLS = by_level(6, 1000)


async def test_random_kills_lose_nothing_and_quarantine_nothing(file_stack: Stack) -> None:
    """Nodes share one SQLite file. A run that really kills its worker is held after three tries, beside the storm."""
    rng = seeded()
    nodes = [start(file_stack), start(file_stack)]
    async with client_of(file_stack.url, file_stack.folder) as client:
        enough = asyncio.Event()
        feeding = asyncio.create_task(keep_fed(client, enough))
        [poison] = await client.submit(drill("die", signal="SIGSEGV"))
        killed = {"worker": 0, "node": 0, "installation": 0}
        for _ in range(KILLS):
            await asyncio.sleep(rng.uniform(0.05, 0.3))
            what = rng.choices(list(killed), weights=[8, 3, 1])[0]
            killed[what] += 1
            await asyncio.to_thread(kill, what, nodes, file_stack, rng.random())
        enough.set()
        await feeding
        await client.drained(180)
        assert check(file_stack.url, client.answered) == []
        good = await client.runs([id_ for id_ in client.answered if id_ != poison])
        assert states(good) == {"completed": len(good)}
        assert {(run.losses, run.suspect) for run in good} == {(0, 0)}
        assert [each for each in check_order(file_stack.url) if poison not in each] == []
        [bad] = await client.runs([poison])
        assert (bad.state, bad.failure_detail, bad.losses) == (RunState.HELD, "poison", 3)
    report(f"killed {killed} under {len(good)} runs: all completed, the poison one held (seed {SEED})")


async def keep_fed(client: Client, enough: asyncio.Event) -> None:
    rng = seeded()
    while not enough.is_set():
        if (await client.app.store.runs.count_live())["queued"] < 100:
            await client.submit(*[drill("sleep", seconds=rng.uniform(0.01, 0.2), record=True) for _ in range(50)])
        await asyncio.sleep(0.05)


def start(stack: Stack) -> NodeProcess:
    node = stack.node(workers=2, runs_per_process=5)
    node.heard("ready")
    return node


def kill(what: str, nodes: list[NodeProcess], stack: Stack, chance: float) -> None:
    if what == "worker":
        pids = [pid for node in nodes for pid in node.worker_pids]
        if pids:
            try:
                os.kill(pids[int(chance * len(pids))], signal.SIGKILL)
            except ProcessLookupError:
                return
        return
    dead = list(nodes) if what == "installation" else [nodes[int(chance * len(nodes))]]
    for node in dead:
        node.kill()
        nodes.remove(node)
    nodes += [start(stack) for _ in dead]


@pytest.mark.long
def test_random_kills_of_a_fleet(tmp_path: Path, postgres: PostgresCluster, redis_server: RedisServer) -> None:
    """The same on PostgreSQL and Celery: workers of a node, nodes, and all of them at once."""
    url, rng = postgres.create_database(), seeded()
    answers, killed = Answers(), []
    with fleet(tmp_path, url, redis_server.url(8)) as made, demo_site() as site:
        for _ in range(2):
            until_works(made.start_worker("--concurrency", "10", "--beat"))
        job = made_job(made.url, f"{site}/slow?seconds=0.3")
        for number in range(FLEET_KILLS):
            if number % 5 == 0:
                submit(made.url, job, 25, answers)
            time.sleep(rng.uniform(0.1, 0.6))
            killed.append(time.time())
            _hurt(made, rng.choices(["child", "worker", "fleet"], weights=[8, 3, 1])[0], rng.random())
        drained(made.url, 120, made.logs)
    assert check(url, answers.ids) == []
    runs = read(url).runs
    ended = [runs[id_] for id_ in answers.ids]
    assert {(run.state, run.losses) for run in ended} == {("completed", 0)}
    assert check_order(url) == []
    kinds = [kind for (kind,) in query(url, "SELECT kind FROM events")]
    assert kinds.count(EventKind.QUARANTINED) == 0
    report(f"fleet: {FLEET_KILLS} kills under {len(answers.ids)} runs: all completed once (seed {SEED})")


def _hurt(made: Fleet, what: str, chance: float) -> None:
    victim = made.workers[int(chance * len(made.workers))]
    if what == "child":
        made.kill_child(victim)
        return
    for process in list(made.workers) if what == "fleet" else [victim]:
        made.kill_worker(process)
    while len(made.workers) < 2:
        until_works(made.start_worker("--concurrency", "10", "--beat"))
