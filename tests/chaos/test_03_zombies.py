"""A node that was stopped and comes back finds that its runs are somebody else's, and writes nothing."""

import asyncio
import os
import signal
from pathlib import Path

from corral.domain.event import EventKind
from corral.domain.run import Run, RunState
from tests import services
from tests.chaos.client import Client, client_of
from tests.chaos.history import check, read
from tests.chaos.level import by_level
from tests.chaos.seen import STALE, sometimes
from tests.chaos.stack import NodeProcess, Stack, stack_on, wait_for
from tests.engine.build import drill, started, states, until

LEASE_S = 10.0
ROUNDS = by_level(1, 200)


async def test_a_stopped_node_and_a_stopped_worker_change_nothing_when_they_come_back(
    tmp_path: Path, postgres: services.PostgresCluster
) -> None:
    with stack_on(postgres.create_database(), tmp_path) as stack:
        async with client_of(stack.url, tmp_path) as client:
            for _ in range(ROUNDS):
                await one_round(stack, client)
            await client.drained()
            assert check(stack.url, client.answered) == []
            history = read(stack.url)
            assert all(len(keys) == 1 for keys in history.records.values())
            assert history.count(EventKind.STALE_WRITE_REFUSED) >= ROUNDS
            sometimes(STALE, True)


async def one_round(stack: Stack, client: Client) -> None:
    zombie, heir = stack.node(workers=1, concurrency=5), stack.node(workers=2, concurrency=30)
    zombie.heard("ready")
    heir.heard("ready")
    await asyncio.to_thread(wait_for, lambda: len(zombie.worker_pids) == 1 and len(heir.worker_pids) == 2)
    os.kill(heir.pid, signal.SIGSTOP)  # for a moment, so that the zombie gets its share
    ids = await client.submit(*[drill("sleep", seconds=8, record=True, timeout_s=100) for _ in range(5)])
    await started(client.app, *ids)
    os.kill(heir.pid, signal.SIGCONT)
    ids += await client.submit(*[drill("sleep", seconds=6, record=True, timeout_s=100) for _ in range(25)])
    await until(lambda: all_claimed(client))
    await asyncio.sleep(0.5)
    os.kill(zombie.pid, signal.SIGSTOP)  # its worker goes on, and answers a node that does not listen
    stopped = heir.worker_pids[0]
    os.kill(stopped, signal.SIGSTOP)
    await asyncio.sleep(2 * LEASE_S)
    os.kill(zombie.pid, signal.SIGCONT)
    await client.drained()
    await asyncio.sleep(1.5)  # for the late word of the zombie
    runs = await client.runs(ids)
    assert states(runs) == {"completed": 30}
    assert stopped not in heir.worker_pids
    taken_over = [run for run in runs if run.epoch > 1]
    assert taken_over
    assert all(run.attempts[-1]["epoch"] == run.epoch for run in taken_over), "a result is not the new owner's"
    await end(zombie, heir)
    assert all(is_untouched(before, after) for before, after in zip(runs, await client.runs(ids), strict=True))


async def all_claimed(client: Client) -> bool:
    return (await client.app.store.count_live())["queued"] == 0


async def end(*nodes: NodeProcess) -> None:
    for node in nodes:
        node.signal(signal.SIGTERM)
    for node in nodes:
        assert await asyncio.to_thread(node.wait) == 0


def is_untouched(before: Run, after: Run) -> bool:
    return (before.state, before.epoch, before.attempts) == (RunState.COMPLETED, after.epoch, after.attempts)
