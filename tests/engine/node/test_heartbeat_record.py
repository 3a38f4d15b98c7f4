"""A node stays on record for as long as it lives, and nothing that the storage does can end it."""

import asyncio
import time
from dataclasses import dataclass, field

import pytest

from corral.domain.errors import StorageUnavailable
from corral.domain.ids import Owner
from corral.domain.runs.node import NodeInfo, NodeRole
from corral.engine.node import heartbeat_record
from corral.engine.node.heartbeat_record import NodeHeartbeat
from tests.slack import SLACK

INFO = NodeInfo(Owner("a" * 32), "here", 1, NodeRole.WORKER, "embedded", ("http",), 5, "1")


@dataclass
class Record:
    """What a store was asked to write; it fails, or never answers, as it is told."""

    seen: list[tuple[int, bool]] = field(default_factory=list)
    struck: list[str] = field(default_factory=list)
    fails: bool = False
    hangs: bool = False
    worker_count: int = 2
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def heartbeat(self, info: NodeInfo, processes: int, *, is_stopping: bool) -> None:
        assert info is INFO
        await self._answer()
        self.seen.append((processes, is_stopping))
        self.told.set()

    async def remove(self, owner: Owner) -> None:
        await self._answer()
        self.struck.append(owner)

    async def _answer(self) -> None:
        if self.fails:
            raise StorageUnavailable("away")
        if self.hangs:
            await asyncio.sleep(3600)

    async def until_seen(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.seen) < count:
                self.told.clear()
                await self.told.wait()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat_record, "HEARTBEAT_EVERY_S", 0.02)
    monkeypatch.setattr(heartbeat_record, "_STARTING_S", 0.01)
    monkeypatch.setattr(heartbeat_record, "_LEAVE_WITHIN_S", 0.1)


async def test_it_is_seen_again_and_again_says_that_it_stops_and_leaves() -> None:
    store = Record()
    on_record = NodeHeartbeat(store, INFO, store)
    on_record.start()
    await store.until_seen(3)
    on_record.mark_stopping()
    await store.until_seen(len(store.seen) + 1)
    await on_record.leave()
    last = len(store.seen)
    await asyncio.sleep(0.06)

    assert store.seen[0] == (2, False)
    assert store.seen[-1] == (2, True)
    assert len(store.seen) == last
    assert store.struck == [INFO.owner]


async def test_a_storage_that_is_away_ends_nothing_and_is_told_when_it_is_back() -> None:
    store = Record(fails=True)
    on_record = NodeHeartbeat(store, INFO, store)
    on_record.start()
    await asyncio.sleep(0.08)
    assert store.seen == []
    store.fails = False
    await store.until_seen(1)
    await on_record.leave()
    assert store.struck == [INFO.owner]


async def test_a_storage_that_never_answers_keeps_nobody_from_leaving() -> None:
    store = Record(hangs=True)
    on_record = NodeHeartbeat(store, INFO, store)
    on_record.start()
    await asyncio.sleep(0.02)
    began = time.monotonic()
    await on_record.leave()
    assert time.monotonic() - began < 5 * SLACK
    assert store.struck == []
