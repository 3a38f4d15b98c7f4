"""The row of a node in the database: added at the start, refreshed every few seconds, removed at the end."""

import asyncio
import contextlib
from typing import Protocol

import structlog

from corral.domain.errors import StorageError
from corral.domain.ports.stores import NodeStore
from corral.domain.runs.node import NodeInfo

log = structlog.get_logger()

HEARTBEAT_EVERY_S = 2.5
_STARTING_S = 0.5  # before the first worker process starts, and after the last one ended
# A storage that does not answer must not keep the process from exiting; a remaining row is displayed as lost.
_LEAVE_WITHIN_S = 1.0


class WorkerCounter(Protocol):
    @property
    def worker_count(self) -> int: ...


class NodeHeartbeat:
    def __init__(self, store: NodeStore, info: NodeInfo, node: WorkerCounter) -> None:
        self._store = store
        self._info = info
        self._node = node
        self._is_stopping = False
        self._has_left = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="heartbeat")

    def mark_stopping(self) -> None:
        self._is_stopping = True
        self._changed.set()

    async def leave(self) -> None:
        """Wait for the heartbeat in progress: if it were written after the removal, it would add a dead node."""
        self._has_left = True
        self._changed.set()
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN_S):
                if self._task is not None:
                    await self._task
                await self._store.remove(self._info.owner)

    async def _run(self) -> None:
        while not self._has_left:
            self._changed.clear()
            processes = self._node.worker_count
            try:
                await self._store.heartbeat(self._info, processes, is_stopping=self._is_stopping)
            except StorageError as error:
                # The node itself notices the problem, pauses and reports it.
                log.debug("heartbeat_write_failed", reason=error.message)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_EVERY_S if processes else _STARTING_S):
                    await self._changed.wait()
