"""Workers, nodes and whole installations are killed in random order under load: every good run completes once."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from corral.domain.runs.event import EventKind
from corral.domain.runs.run import RunState
from tests.chaos.claim_order import read_claim_order
from tests.chaos.client import Client, client_of
from tests.chaos.fleet import Answers, create_job, fleet, submit, until_works, wait_until_drained
from tests.chaos.history import check, query, read
from tests.chaos.kills import hurt_fleet, kill, start
from tests.chaos.level import SEED, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import Stack
from tests.engine.builders import drill, states
from tests.services import PostgresCluster, RedisServer
from tests.stack import demo_site

KILLS = by_level(12, 1000, 5000)
FLEET_KILLS = by_level(6, 1000)


async def test_random_kills_lose_nothing_and_quarantine_nothing(file_stack: Stack) -> None:
    """Nodes share one SQLite file. A run that really kills its worker is held after three tries, beside the storm."""
    rng = make_random()
    nodes = [start(file_stack), start(file_stack)]
    async with client_of(file_stack.url, file_stack.folder) as client:
        enough = asyncio.Event()
        feeding = asyncio.create_task(keep_fed(client, enough))
        [poison] = await client.submit(drill("die", signal="SIGSEGV"))
        killed: Counter[str] = Counter()
        while killed.total() < KILLS:
            await asyncio.sleep(rng.uniform(0.05, 0.3))
            what = rng.choices(["worker", "node", "installation"], weights=[8, 3, 1])[0]
            killed[what] += await asyncio.to_thread(kill, what, nodes, file_stack, rng.random())
        enough.set()
        await feeding
        await client.wait_until_drained(180)
        assert check(file_stack.url, client.answered) == []
        good = await client.runs([id_ for id_ in client.answered if id_ != poison])
        assert states(good) == {"completed": len(good)}
        assert {(run.losses, run.suspect) for run in good} == {(0, 0)}
        order = read_claim_order(file_stack.url, ignored=[poison])
        assert order.violations == []
        [bad] = await client.runs([poison])
        assert (bad.state, bad.failure_detail, bad.losses) == (RunState.HELD, "poison", 3)
    report(f"killed {dict(killed)} under {len(good)} runs: all completed, the poison one held (seed {SEED})")
    report(f"… {order.describe()}")


async def keep_fed(client: Client, enough: asyncio.Event) -> None:
    rng = make_random()
    while not enough.is_set():
        if (await client.app.store.runs.count_live())["queued"] < 100:
            await client.submit(*[drill("sleep", seconds=rng.uniform(0.01, 0.2), record=True) for _ in range(50)])
        await asyncio.sleep(0.05)


@pytest.mark.long
def test_random_kills_of_a_fleet(tmp_path: Path, postgres: PostgresCluster, redis_server: RedisServer) -> None:
    """The same on PostgreSQL and Celery: workers of a node, nodes, and all of them at once."""
    url, rng = postgres.create_migrated(), make_random()
    answers, killed = Answers(), Counter[str]()
    with fleet(tmp_path, url, redis_server.url(8)) as made, demo_site() as site:
        for _ in range(2):
            until_works(made.start_worker("--concurrency", "10", "--beat"))
        job = create_job(made.url, f"{site}/slow?seconds=0.3")
        while killed.total() < FLEET_KILLS:
            if len(answers.ids) <= 5 * killed.total():
                submit(made.url, job, 25, answers)
            time.sleep(rng.uniform(0.1, 0.6))
            what = rng.choices(["child", "worker", "fleet"], weights=[8, 3, 1])[0]
            killed[what] += hurt_fleet(made, what, rng.random())
        wait_until_drained(
            made.url, by_level(120, 900), made.logs
        )  # most of 5,000 runs: workers die faster than they work
    assert check(url, answers.ids) == []
    runs = read(url).runs
    ended = [runs[id_] for id_ in answers.ids]
    assert {(run.state, run.losses) for run in ended} == {("completed", 0)}
    order = read_claim_order(url)
    assert order.violations == []
    kinds = [kind for (kind,) in query(url, "SELECT kind FROM events")]
    assert kinds.count(EventKind.QUARANTINED) == 0
    report(f"fleet: killed {dict(killed)} under {len(answers.ids)} runs: all completed once (seed {SEED})")
    report(f"… {order.describe()}")
