"""A node: claims runs, has its workers execute them, settles the outcomes. One per host, or one inside `corral up`."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import structlog

from corral.domain.errors import StorageError, StorageFull
from corral.domain.ids import new_owner
from corral.domain.outcome import Failed, FailureCode, Outcome
from corral.domain.ports import LeaseStore
from corral.domain.retry import RetryPolicy
from corral.domain.run import Lease
from corral.domain.settlement import Loss, Settlement
from corral.engine.assign import Assignment
from corral.engine.attempt import settlement_of
from corral.engine.pool import Held, Key, PoolEvents, WorkerPool, WorkerProcess
from corral.engine.pulse import Pulse
from corral.engine.renewer import LEASE_S, Renewer

log = structlog.get_logger()
T = TypeVar("T")

_POLL_S = 0.5
_CLAIM_MAX = 200
_STORAGE_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class NodeOptions:
    workers: int
    concurrency: int  # runs at once, per worker
    grace_s: float
    timeouts_s: dict[str, float]  # per strategy, where the run does not say
    config: dict[str, Any]  # what the workers are told
    only_run: str | None = None  # execute just this one


class Node:
    def __init__(self, store: LeaseStore, policy: RetryPolicy, options: NodeOptions, pulse: Pulse) -> None:
        self.owner = new_owner()
        self._store = store
        self._policy = policy
        self._options = options
        self._pulse = pulse
        events = PoolEvents(self._on_outcomes, self._on_aborted, self._on_death, self._look)
        self._pool = WorkerPool(options.workers, options.config, events)
        self._assignment = Assignment(self._pool, options.concurrency, options.timeouts_s)
        self._renewer = Renewer(store, self.owner, self._assignment.snapshot, self._lost_from_thread)
        self._wake = asyncio.Event()
        self._settling: dict[Key, Held] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._claiming = True
        self._hurry = asyncio.Event()
        self.storage_problem: str | None = None
        self.settled: Counter[tuple[str, str]] = Counter()  # by state reached and failure code

    # -- what others may ask ---------------------------------------------------------------------

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._pool.start()
        self._renewer.start()
        self._spawn(self._dispatch())
        self._spawn(self._watch_deadlines())

    def look(self) -> None:
        """A hint that there may be work."""
        self._wake.set()

    _look = look

    def abort(self, run_id: str) -> None:
        """Stop executing a run that was cancelled or paused."""
        self._assignment.cancel_run(run_id)

    @property
    def executing(self) -> int:
        return self._assignment.count + len(self._settling)

    @property
    def worker_count(self) -> int:
        return len(self._pool.workers)

    @property
    def worker_pids(self) -> list[int]:
        return [worker.process.pid for worker in self._pool.workers.values()]

    def hurry(self) -> None:
        """A second request to stop: do not wait for the grace period."""
        self._hurry.set()

    async def stop(self) -> None:
        """Claim nothing more, let what runs finish for a while, give the rest back, end the workers."""
        self._claiming = False
        await self._drained()
        leases = self._assignment.take_all()
        if leases:
            await self._until_stored(lambda: self._store.release(leases, "shutdown"), attempts=3)
        if self._settling:
            await asyncio.wait(self._tasks, timeout=2)
        await self._pool.stop()
        self._renewer.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _drained(self) -> None:
        deadline = time.monotonic() + self._options.grace_s
        while self.executing and not self._hurry.is_set() and time.monotonic() < deadline:
            await self._pulse.wait(0.05)

    # -- claiming --------------------------------------------------------------------------------

    async def _dispatch(self) -> None:
        while self._claiming:
            self._wake.clear()
            room = min(self._assignment.room() - len(self._settling), _CLAIM_MAX)
            if room > 0 and not self._renewer.is_fenced and await self._claim(room):
                continue
            try:
                async with asyncio.timeout(_POLL_S):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _claim(self, room: int) -> bool:
        try:
            leases = await self._claimed(room)
        except StorageError as error:
            self._storage_failed(error)
            await asyncio.sleep(_STORAGE_PAUSE_S)
            return False
        self.storage_problem = None
        if not self._claiming and leases:
            await self._store.release(leases, "shutdown")
            return False
        self._assignment.add(leases)
        if leases:
            self._pulse.beat()
        return bool(leases)

    async def _claimed(self, room: int) -> list[Lease]:
        only = self._options.only_run
        if only is not None:
            return await self._store.claim_one(only, self.owner, LEASE_S)
        return await self._store.claim(self.owner, room, LEASE_S)

    def _storage_failed(self, error: StorageError) -> None:
        if self.storage_problem is None:
            log.warning("claiming is paused", reason=error.message, hint=error.hint)
        self.storage_problem = "full" if isinstance(error, StorageFull) else error.message

    # -- what the workers say --------------------------------------------------------------------

    def _on_outcomes(self, outcomes: list[tuple[Held, Outcome]]) -> None:
        now, ended = datetime.now(UTC), time.monotonic()
        settlements = []
        for held, outcome in outcomes:
            took_s = ended - held.started
            self._settling[held.lease.key] = held
            settlements.append(settlement_of(held.lease, outcome, self._policy, now=now, took_s=took_s))
        self._assignment.fill()
        self._spawn(self._settle(settlements))

    async def _settle(self, settlements: list[Settlement]) -> None:
        try:
            landed = await self._until_stored(lambda: self._store.settle_all(settlements))
            for settlement, is_ours in zip(settlements, landed, strict=True):
                if is_ours:
                    failure = settlement.transition.failure
                    self.settled[settlement.transition.to.value, failure.code.value if failure else ""] += 1
                else:
                    log.warning("stale write refused", run=settlement.lease.run_id, epoch=settlement.lease.epoch)
        finally:
            for settlement in settlements:
                self._settling.pop(settlement.lease.key, None)
        self._wake.set()
        self._pulse.beat()

    def _on_aborted(self, aborted: list[Held]) -> None:
        """The worker confirms that it stopped. Where that was our time limit, the run has to hear of it."""
        late = [held for held in aborted if held.timed_out]
        if late:
            self._on_outcomes([(held, _out_of_time(held)) for held in late])
        self._assignment.fill()
        self._wake.set()

    def _on_death(self, worker: WorkerProcess, exit_status: str) -> None:
        held, worker.held = list(worker.held.values()), {}
        self._assignment.fill()
        if not held:
            return
        if worker.retiring:
            self._after_our_own_kill(held)
            return
        log.warning("worker lost", pid=worker.process.pid, exit=exit_status, runs=len(held))
        tail = worker.stderr_tail()
        losses = [Loss(each.lease, alone=len(held) == 1, exit_status=exit_status, stderr_tail=tail) for each in held]
        self._spawn(self._until_stored(lambda: self._store.lose(losses)))

    def _after_our_own_kill(self, held: list[Held]) -> None:
        """We killed the worker because one run would not stop; the others are not to blame."""
        late = [each for each in held if each.timed_out]
        leases = [each.lease for each in held if not each.timed_out and each.cancelled_at is None]
        if late:
            self._on_outcomes([(each, _out_of_time(each)) for each in late])
        if leases:
            self._spawn(self._until_stored(lambda: self._store.release(leases, "worker restarted")))

    async def _watch_deadlines(self) -> None:
        while True:
            await asyncio.sleep(0.25)
            for worker in self._assignment.overdue(time.monotonic()):
                log.warning("worker does not stop a run; killing it", pid=worker.process.pid)
                self._pool.kill(worker)

    # -- leases that were taken away ---------------------------------------------------------------

    def _lost_from_thread(self, keys: set[Key]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._assignment.cancel_keys, keys)

    # -- plumbing ----------------------------------------------------------------------------------

    async def _until_stored(self, write: Callable[[], Awaitable[T]], attempts: int | None = None) -> T:
        """Repeat a write until the database takes it: what was done must not be forgotten over a full disk."""
        tried = 0
        while True:
            try:
                stored = await write()
            except StorageError as error:
                self._storage_failed(error)
                tried += 1
                if attempts is not None and tried >= attempts:
                    raise
                await asyncio.sleep(_STORAGE_PAUSE_S)
            else:
                self._wake.set()
                self._pulse.beat()
                return stored

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _out_of_time(held: Held) -> Outcome:
    took_s = time.monotonic() - held.started
    return Failed(FailureCode.TIMEOUT, f"stopped after {took_s:.1f} s, past its time limit", "attempt")
