"""What has to happen although nobody asks: expired leases, schedules, retention."""

import asyncio
import time
from collections.abc import Callable

import structlog

from corral.domain.errors import StorageError
from corral.domain.ports import EngineStore
from corral.domain.retention import Retention
from corral.engine.schedule import Scheduler

log = structlog.get_logger()

_EVERY_S = 1.0
_PRUNE_EVERY_S = 60.0


class Sweeper:
    """Every node sweeps; the guards in the statements make it harmless to do twice."""

    def __init__(
        self, store: EngineStore, scheduler: Scheduler, retention: Retention, wake: Callable[[], None]
    ) -> None:
        self._store = store
        self._scheduler = scheduler
        self._retention = retention
        self._wake = wake
        self._next_prune = time.monotonic()

    async def run(self) -> None:
        while True:
            try:
                await self.sweep()
            except StorageError as error:
                log.warning("sweep failed; trying again", reason=error.message)
            await asyncio.sleep(_EVERY_S)

    async def sweep(self) -> None:
        reaped = await self._store.reap()
        if reaped:
            log.warning("expired leases taken back", runs=reaped)
        fired = await self._scheduler.fire_due()
        if reaped or fired:
            self._wake()
        self._store.relay_ballast()
        if time.monotonic() >= self._next_prune:
            self._next_prune = time.monotonic() + _PRUNE_EVERY_S
            await self._prune()

    async def _prune(self) -> None:
        """A batch per transaction, with a breath between: retention must not hold anybody up."""
        pruned = await self._store.prune(self._retention)
        while pruned:
            await asyncio.sleep(0.02)
            pruned = await self._store.prune(self._retention)
