"""A node that was stopped and comes back finds that its runs are somebody else's, and writes nothing."""

import asyncio
import os
import signal
from pathlib import Path

from corral.domain.runs.event import EventKind
from corral.domain.runs.run import Run, RunState
from corral.store.backends.sqlite_file import WriteLock
from tests import services
from tests.chaos.client import Client, client_of
from tests.chaos.history import check, read
from tests.chaos.level import by_level
from tests.chaos.report import report
from tests.chaos.stack import NodeProcess, Stack, stack_on, wait_for
from tests.engine.builders import drill, states, wait_for_start
from tests.waiting import until

LEASE_S = 10.0
LANES = by_level(1, 10)
ROUNDS = by_level(1, 20)


async def test_a_stopped_node_and_a_stopped_worker_change_nothing_when_they_come_back(
    tmp_path: Path, postgres: services.PostgresCluster
) -> None:
    """Side by side where there are many: nearly all of it is waiting for leases to run out."""
    urls = [
        postgres.create_migrated() if lane % 2 == 0 else f"sqlite:///{tmp_path}/{lane}/corral.db"
        for lane in range(LANES)
    ]
    folders = [tmp_path / str(lane) for lane in range(LANES)]
    for folder in folders:
        folder.mkdir()
    refused = await asyncio.gather(*map(rounds, urls, folders))
    report(f"{LANES * ROUNDS} nodes stopped and continued: {sum(refused)} stale writes refused")


async def rounds(url: str, folder: Path) -> int:
    """How many stale writes were refused in the course of them."""
    with stack_on(url, folder) as stack:
        async with client_of(stack.url, folder) as client:
            nodes = await asyncio.to_thread(ready_nodes, stack)
            before = [run for _ in range(ROUNDS) for run in await one_round(stack, nodes, client)]
            await end(*nodes)
            after = await client.runs([run.id for run in before])
            assert all(map(is_untouched, before, after))
            assert check(stack.url, client.answered) == []
            history = read(stack.url)
            assert all(len(keys) == 1 for keys in history.records.values())
            assert history.count(EventKind.STALE_WRITE_REFUSED) >= ROUNDS
            return history.count(EventKind.STALE_WRITE_REFUSED)


async def one_round(stack: Stack, nodes: tuple[NodeProcess, NodeProcess], client: Client) -> list[Run]:
    zombie, heir = nodes
    await asyncio.to_thread(wait_for, lambda: len(zombie.worker_pids) == 1 and len(heir.worker_pids) == 2)
    await stop_between_commits(heir.pid, stack.url)  # for a moment, so that the zombie gets its share
    ids = await client.submit(*[drill("sleep", seconds=8, record=True, timeout_s=100) for _ in range(5)])
    await wait_for_start(client.app, *ids)
    os.kill(heir.pid, signal.SIGCONT)
    ids += await client.submit(*[drill("sleep", seconds=6, record=True, timeout_s=100) for _ in range(25)])
    await until(lambda: all_claimed(client))
    await asyncio.sleep(0.5)
    await stop_between_commits(zombie.pid, stack.url)  # its worker goes on, and answers a node that does not listen
    stopped = heir.worker_pids[0]
    os.kill(stopped, signal.SIGSTOP)
    await asyncio.sleep(2 * LEASE_S)
    os.kill(zombie.pid, signal.SIGCONT)
    await client.wait_until_drained()
    await asyncio.sleep(1.5)  # for the late word of the zombie
    runs = await client.runs(ids)
    assert states(runs) == {"completed": 30}
    assert stopped not in heir.worker_pids
    taken_over = [run for run in runs if run.epoch > 1]
    assert taken_over
    assert all(run.attempts[-1]["epoch"] == run.epoch for run in taken_over), "a result is not the new owner's"
    return runs


def ready_nodes(stack: Stack) -> tuple[NodeProcess, NodeProcess]:
    zombie, heir = stack.node(workers=1, runs_per_process=5), stack.node(workers=2, runs_per_process=30)
    zombie.wait_for_message("ready")
    heir.wait_for_message("ready")
    return zombie, heir


async def stop_between_commits(pid: int, url: str) -> None:
    """Stopped inside of a commit, a node on a shared file keeps everybody out until it goes on; that is no zombie."""
    kind, _, path = url.partition(":///")
    lock = WriteLock(Path("/" + path.lstrip("/")) if kind == "sqlite" else None)
    while True:
        os.kill(pid, signal.SIGSTOP)
        await until(lambda: is_stopped(pid))
        if lock.try_take():
            lock.release()
            lock.close()
            return
        os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(0.01)


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


async def all_claimed(client: Client) -> bool:
    return (await client.app.store.runs.count_live())["queued"] == 0


async def end(*nodes: NodeProcess) -> None:
    for node in nodes:
        node.signal(signal.SIGTERM)
    for node in nodes:
        assert await asyncio.to_thread(node.wait) == 0


def is_untouched(before: Run, after: Run) -> bool:
    return (before.state, before.epoch, before.attempts) == (RunState.COMPLETED, after.epoch, after.attempts)
