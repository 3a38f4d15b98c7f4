"""A wall clock that jumps takes no lease away and keeps none for ever."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from corral.domain.ids import Owner
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.retention import Retention
from corral.domain.runs.retry import RetryPolicy
from corral.engine.background.schedule import Scheduler
from corral.engine.background.sweep import Sweeper
from corral.engine.node.change_signal import ChangeSignal
from corral.engine.node.node import Node
from corral.engine.usecases.submit import Submitter
from corral.store.backends.clock import SystemClock
from corral.store.open import open_store
from corral.store.store import Store
from corral.wiring.options import node_options
from tests.chaos.history import check
from tests.engine.builders import drill, settings_for
from tests.slack import SLACK
from tests.waiting import until

HOUR_MS = 3_600_000


class JumpingClock(SystemClock):
    """Only the calendar can be set; the time since boot goes on."""

    def __init__(self) -> None:
        self.jumped_ms = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.jumped_ms


@asynccontextmanager
async def node_on(store: Store, folder: Path) -> AsyncIterator[Node]:
    node = Node(store, RetryPolicy(), node_options(settings_for(folder)), ChangeSignal())
    submitter = Submitter(store, lambda *_, **__: pytest.fail("nothing is probed"))
    sweeper = Sweeper(store, Scheduler(store, submitter), Retention(), lambda *_: node.wake())
    await node.start()
    sweeping = asyncio.create_task(sweeper.run())
    try:
        yield node
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await node.stop()


@pytest.mark.parametrize("jump_ms", [HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS])
async def test_a_jump_of_the_wall_clock_takes_no_lease_and_delays_no_reclaim(tmp_path: Path, jump_ms: int) -> None:
    clock = JumpingClock()
    store = open_store(f"sqlite:///{tmp_path}/corral.db", clock=clock)
    async with node_on(store, tmp_path) as node:
        runs = [drill("sleep", seconds=1.5, record=True) for _ in range(5)]
        orphan = drill(record=True)
        await store.runs.add([(orphan, [EventDraft(EventKind.CREATED)])])
        await store.runs.claim_one(orphan.id, Owner("a node that is gone"), 2.0)
        await store.runs.add([(run, [EventDraft(EventKind.CREATED)]) for run in runs])
        node.wake()
        await until(lambda: node.executing == 5)
        clock.jumped_ms = jump_ms
        began = time.monotonic()
        await until(lambda: _is_drained(store))
        assert time.monotonic() - began < 15 * SLACK
        found = [await store.runs.get(run.id) for run in runs]
        assert {(run.state, run.epoch, run.losses) for run in found} == {("completed", 1, 0)}
        assert ((await store.runs.get(orphan.id)).epoch, (await store.runs.get(orphan.id)).losses) == (2, 0)
    await store.close()
    assert check(f"sqlite:///{tmp_path}/corral.db", [run.id for run in runs]) == []


async def _is_drained(store: Store) -> bool:
    return not any((await store.runs.count_live()).values())
