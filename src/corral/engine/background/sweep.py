"""Periodic work of a node: expired leases, schedules, retention."""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import structlog

from corral.domain.errors import StorageError, StorageMoved
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.queues import Hint, Waker
from corral.domain.runs.retention import Retention
from corral.engine.background.schedule import Scheduler

log = structlog.get_logger()

_EVERY_S = 1.0
# If a beat requests the sweeps: sweep anyway after this time without a request.
_SWEEP_ANYWAY_S = 3.0
_DUE_WITHIN_S = 10.0
_MAX_HINTS = 1_000
_PRUNE_EVERY_S = 60.0
_BREATH_S = 0.02
# A node that has not swept for this long was suspended, or the database was. Every lease then looks expired, so their
# holders get time to renew before any lease is reaped.
_AWAY_S = 4.0
_RENEWAL_S = 3.0


class Sweeper:
    """Every node sweeps. The guards in the SQL statements make concurrent sweeps harmless."""

    def __init__(
        self,
        store: EngineStore,
        scheduler: Scheduler,
        retention: Retention,
        wake: Waker,
        tidy: Callable[[], Awaitable[None]] | None = None,
        *,
        send: Callable[[Sequence[Hint]], None] | None = None,
    ) -> None:
        self._send = send
        self._hinted: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._requested: asyncio.Event | None = None
        self._tidy = tidy
        self._store = store
        self._scheduler = scheduler
        self._retention = retention
        self._wake = wake
        self._next_prune = time.monotonic()
        self._swept_at = time.monotonic()
        self._reap_from = self._swept_at

    async def run(self) -> None:
        """Run each part on its own: a slow target of a schedule must not delay the leases."""
        if self._send is not None:
            self._requested = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for work in (self.reap, self.fire, self.send_hints, self.keep_house):
                group.create_task(self._repeat(work), name=f"sweep: {work.__name__}")

    def sweep_now(self) -> None:
        """Start the next sweep at once, as the beat requests it."""
        if self._requested is not None:
            self._requested.set()
            self._requested = asyncio.Event()

    async def sweep(self) -> None:
        """Run every part once."""
        await self.reap()
        await self.fire()
        await self.send_hints()
        await self.keep_house()

    async def reap(self) -> None:
        now = time.monotonic()
        if now - self._swept_at > _AWAY_S:
            self._reap_from = now + _RENEWAL_S
        if now < self._reap_from:
            await self._store.events.last_position()  # fails if the database is not reachable
            self._swept_at = now
            return
        reaped = await self._store.runs.reap()
        self._swept_at = time.monotonic()
        if reaped:
            log.warning("expired_leases_requeued", runs=reaped)
            self._wake()

    async def fire(self) -> None:
        if fired := await self._scheduler.fire_due():
            self._wake(*fired)

    async def send_hints(self) -> None:
        """Send hints for retries that are due, if nodes wait for messages."""
        if self._send is None:
            return
        hints = [
            hint
            for hint in await self._store.runs.due_again(_DUE_WITHIN_S, _MAX_HINTS)
            if (hint.run_id, hint.epoch) not in self._hinted
        ]
        if hints:
            self._send(hints)
        # Send each hint once, not at every sweep. If one is lost, a node claims the run by its age.
        self._hinted.update(((hint.run_id, hint.epoch), None) for hint in hints)
        while len(self._hinted) > _MAX_HINTS * 4:
            self._hinted.popitem(last=False)

    async def keep_house(self) -> None:
        self._store.maintenance.restore_reserve()
        if time.monotonic() >= self._next_prune:
            self._next_prune = time.monotonic() + _PRUNE_EVERY_S
            await self._prune()
            if self._tidy is not None:
                await self._tidy()

    async def _prune(self) -> None:
        """Delete one batch per transaction, with pauses, so that retention delays no other writes."""
        pruned = await self._store.maintenance.prune(self._retention)
        while pruned:
            await asyncio.sleep(_BREATH_S)
            pruned = await self._store.maintenance.prune(self._retention)
        is_more = await self._store.maintenance.purge()
        while is_more:
            await asyncio.sleep(_BREATH_S)
            is_more = await self._store.maintenance.purge()

    async def _repeat(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except StorageMoved as error:
                log.warning("sweeper_stopped", reason=error.message, hint=error.hint)
                return
            except StorageError as error:
                log.warning("sweep_failed", reason=error.message)
            await self._until_next()

    async def _until_next(self) -> None:
        if self._requested is None:
            await asyncio.sleep(_EVERY_S)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SWEEP_ANYWAY_S):
                await self._requested.wait()
