"""A node: it claims runs, has its workers execute them, and settles the outcomes.

One per host, or inside `corral up`.
"""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import structlog

from corral.domain.errors import CorralError, StorageError, StorageFull, StorageUnavailable
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.loss import DeathCause
from corral.domain.runs.outcome import AttemptOutcome, Failed, FailureCode, Outcome
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import Lease, Run
from corral.domain.runs.settlement import Settlement
from corral.engine.held_lease import HeldLease
from corral.engine.hosts.limiter_sync import LimiterSync
from corral.engine.node.assign import Assignment
from corral.engine.node.change_signal import ChangeSignal
from corral.engine.node.lost_leases import LostLeases
from corral.engine.node.memory import MemoryLimit
from corral.engine.node.options import NodeOptions
from corral.engine.node.pool import Key, PoolEvents, WorkerPool, WorkerProcess, losses_of
from corral.engine.node.progress import ProgressWriter
from corral.engine.node.renewer import HeldLeases, Renewer
from corral.engine.node.sources import PollingSource, RunSource
from corral.engine.node.steps import Steps
from corral.engine.node.store_calls import StoreCalls
from corral.engine.node.tasks import NodeTasks
from corral.engine.proxies.pool import ProxyPool
from corral.engine.refresh.calls import ProxyCalls
from corral.engine.worker.attempt import out_of_time, report_self_cancel, settlement_of
from corral.runtime.new_ids import new_owner

log = structlog.get_logger()
T = TypeVar("T")

_POLL_S = 0.5
_CLAIM_MAX = 200
# While the queue is long, a claim waits briefly for this share of free capacity: ten runs cost little more than one.
_WORTH_A_CLAIM = 8
_WORTH_A_WRITE = 16
_GATHER_S = 0.005
_STORAGE_PAUSE_S = 1.0
_LAST_WRITES_S = 3.0
_WATCH_EVERY_S = 0.25
# If a check is this late, the event loop was blocked: skip it, and read the messages of the workers first.
_BLOCKED_S = 1.0


class Node:
    def __init__(
        self,
        store: EngineStore,
        policy: RetryPolicy,
        options: NodeOptions,
        pulse: ChangeSignal,
        note: Callable[[Run, AttemptOutcome, float], None] = lambda *_: None,
        *,
        record_recipes: Callable[[Sequence[Settlement]], Awaitable[list[Settlement]]] | None = None,
        source: RunSource | None = None,
    ) -> None:
        self._tasks = NodeTasks()
        self._spawn, self._write = self._tasks.spawn, self._tasks.write
        self._source = source or PollingSource(store)
        self._note, self._record_recipes = note, record_recipes
        self.owner = new_owner()
        self._store = store
        self._policy, self._options = policy, options
        self._pulse = pulse
        limits = (options.host_rules, self._until_stored, self._write)
        calls = StoreCalls(store, self._write, ProxyCalls(store, options.proxies, self.wake), self._send_keys)
        self._sync = LimiterSync(store.hosts, self.owner, *limits, wake=self.wake, sites=options.site_paces)
        self.limiter = self._sync.limiter
        take_report = Steps(store, self._until_stored, self._write, self.wake, self._cancel_from_thread).take_report
        self.progress = ProgressWriter(store.runs, self._write, pulse.beat)
        self.proxies = ProxyPool(store.proxies, self._spawn, self._send_keys)
        handlers = (self._on_outcomes, self._on_aborted, self._on_death, self._on_ready, take_report, self.limiter.hear)
        self._pool = WorkerPool(
            options.workers, options.config, PoolEvents(*handlers, self.progress.take, calls.take, self.proxies.hear)
        )
        self._memory = MemoryLimit(self._pool, options.max_memory_mib)
        self._renewer = Renewer(store.runs, self.owner, self._snapshot, self._cancel_from_thread)
        self._assignment = Assignment(self._pool, options.limits, options.timeouts_s, lambda: self._renewer.is_fenced)
        self._lost = LostLeases(store.runs, self.owner, self._assignment, self._spawn)
        self._wake = asyncio.Event()
        self._settling: dict[Key, HeldLease] = {}
        self._unsent: set[Key] = set()  # those that were not sent to the store yet
        self._ended: list[Settlement] = []  # a busy node collects these briefly, to write them together
        self._gathering: asyncio.TimerHandle | None = None
        self._dispatching: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._claiming = True
        self._host_ready_s = math.inf  # seconds until a host that runs wait for may have room
        self._skip_grace = asyncio.Event()
        self.storage_problem: str | None = None
        self.settled: Counter[tuple[str, str]] = Counter()  # by final state and failure code

    # -- public interface ------------------------------------------------------------------------

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._pool.start()
        self._renewer.start()
        await self._sync.start(self._spawn)
        self._dispatching = self._spawn(self._dispatch())
        self._spawn(self._watch())
        self._spawn(self.proxies.run())

    def wake(self) -> None:
        """Wake the node: there may be work."""
        self._wake.set()

    def abort(self, run_id: str) -> None:
        """Stop executing a run that was cancelled or paused."""
        self._lost.check(self._assignment.keys_of(run_id))

    @property
    def executing(self) -> int:
        return self._assignment.count + len(self._settling)

    def holding(self) -> set[Key]:
        return {*self._assignment.keys(), *self._settling}

    @property
    def worker_count(self) -> int:
        return len(self._pool.workers)

    @property
    def worker_pids(self) -> list[int]:
        return [worker.process.pid for worker in self._pool.workers.values()]

    def stop_now(self) -> None:
        """Stop without waiting for the grace period, after a second signal."""
        self._skip_grace.set()

    async def stop(self) -> None:
        """Stop claiming, let runs finish within the grace period, requeue the rest, and stop the workers."""
        self._claiming = False
        self._wake.set()
        grace_ends = time.monotonic() + self._options.grace_s
        # One deadline for all waits: a database that does not answer must not cost three timeouts.
        last_writes_end = grace_ends + _LAST_WRITES_S
        if self._dispatching is not None:  # a claim in progress still returns runs
            await asyncio.wait({self._dispatching}, timeout=last_writes_end - time.monotonic())
        while self.executing and not self._skip_grace.is_set() and time.monotonic() < grace_ends:
            await self._pulse.wait(0.05)
        if leases := self._assignment.take_all():
            self._write(self._release(leases, "shutdown"))
        if self._tasks.writes:
            await asyncio.wait(self._tasks.writes, timeout=max(0.0, last_writes_end - time.monotonic()))
        await self._pool.stop()
        with contextlib.suppress(StorageError):
            await self.proxies.flush()
        self._renewer.stop()
        for task in self._tasks.all:
            task.cancel()
        await asyncio.gather(*self._tasks.all, return_exceptions=True)

    # -- claiming --------------------------------------------------------------------------------

    async def _dispatch(self) -> None:
        has_more = False
        while self._claiming:
            self._host_ready_s = math.inf
            self._wake.clear()
            if has_more and self._room() < self._assignment.capacity // _WORTH_A_CLAIM:
                await asyncio.sleep(_GATHER_S)
            room = self._room()
            if room > 0 and not self._renewer.is_fenced:
                claimed = await self._claim(room)
                has_more = claimed == room
                if claimed:
                    continue
            try:
                async with asyncio.timeout(max(_GATHER_S, min(_POLL_S, self._host_ready_s))):
                    await self._wake.wait()
            except TimeoutError:
                pass

    def _room(self) -> int:
        """Return how many more runs this node can take now."""
        if not self._claiming:
            return 0
        return min(self._assignment.room() - len(self._list_unsettled()), _CLAIM_MAX)

    def _list_unsettled(self) -> list[Lease]:
        """Return ended runs that still count, so that the database never shows more running runs than allowed.

        A run counts until its end is stored, or, if the store applies writes in order, until its settlement is sent:
        a later claim cannot overtake it.
        """
        keys: Iterable[Key] = self._unsent if self._store.runs.writes_in_order else self._settling
        return [self._settling[key].lease for key in keys]

    async def _claim(self, room: int) -> int:
        """Claim runs and return how many there were."""
        try:
            leases = await self._claim_leases(room)
        except StorageError as error:
            self._storage_failed(error)
            return await asyncio.sleep(_STORAGE_PAUSE_S, 0)
        self.storage_problem = None
        if not self._claiming and leases:
            self._write(self._release(leases, "shutdown"))
            return 0
        self._send_new_keys(leases)
        self._assignment.add(leases)
        if leases:
            self._pulse.beat()
        return len(leases)

    async def _claim_leases(self, room: int) -> list[Lease]:
        lanes = self._assignment.free_lanes(self._options.crawls, self._options.scripts, self._list_unsettled())
        hosts = self._sync.room(self._assignment.count_by_host())
        claimed = await self._source.claim(self.owner, room, lanes, hosts)
        self._host_ready_s = hosts.ready_in_s
        return claimed or await self._source.helpers(self.owner, self._assignment.helper_room())

    def _send_new_keys(self, leases: Sequence[Lease]) -> None:
        """Send new vault keys before the runs: a session may be sealed with a key newer than the workers."""
        self._send_keys({kid for lease in leases for kid in lease.kids})

    def _send_keys(self, kids: Iterable[str]) -> None:
        if kids and (keys := self._options.keys_for(kids)) is not None:
            self._pool.send_keys(keys)

    def _storage_failed(self, error: StorageError) -> None:
        if self.storage_problem is None:
            log.warning("claiming_paused", reason=error.message, hint=error.hint)
        self.storage_problem = f"{error.message}; {error.hint}" if error.hint else error.message

    # -- messages from workers -------------------------------------------------------------------

    def _on_outcomes(self, outcomes: list[tuple[HeldLease, Outcome]]) -> None:
        now, ended = datetime.now(UTC), time.monotonic()
        settlements = []
        for held, outcome in self._sync.park_deferred(outcomes):
            took_s = ended - held.started
            self._settling[held.lease.key] = held
            self._unsent.add(held.lease.key)
            self._note_outcome(held.lease.run, outcome, took_s)
            settlements.append(settlement_of(held.lease, outcome, self._policy, now=now, took_s=took_s, data=held.data))
        self._assignment.fill()
        self._ended += settlements
        if len(self._ended) >= _WORTH_A_WRITE or self.executing <= _WORTH_A_WRITE:
            self._write_ended()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER_S, self._write_ended)

    def _write_ended(self) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        if self._ended:
            settlements, self._ended = self._ended, []
            self._write(self._settle(settlements))
            self._wake.set()

    def _note_outcome(self, run: Run, outcome: AttemptOutcome, took_s: float) -> None:
        """Call the observers of outcomes. A bug in one of them must not prevent the settlement."""
        try:
            self._note(run, outcome, took_s)
        except Exception as error:
            log.error("outcome_note_failed", run=run.id, exc_info=error)

    async def _settle(self, settlements: list[Settlement]) -> None:
        try:
            if self._record_recipes is not None and any(each.recipe for each in settlements):
                settlements = await self._record_recipes(settlements)
            accepted = await self._store_settlements(settlements)
            for settlement, is_ours in zip(settlements, accepted, strict=True):
                if is_ours:
                    failure = settlement.transition.failure
                    self.settled[settlement.transition.to.value, failure.code.value if failure else ""] += 1
                else:
                    log.warning("stale_write_refused", run=settlement.lease.run_id, epoch=settlement.lease.epoch)
        finally:
            for settlement in settlements:
                self._settling.pop(settlement.lease.key, None)
                self._unsent.discard(settlement.lease.key)
        self._wake.set()
        self._pulse.beat()

    async def _store_settlements(self, settlements: list[Settlement]) -> list[bool]:
        try:
            return await self._until_stored(lambda: self._send_settlements(settlements))
        except CorralError as error:
            # The database works and rejects this write: every retry would fail.
            if len(settlements) > 1:
                return [(await self._store_settlements([each]))[0] for each in settlements]
            lease = settlements[0].lease
            log.error("outcome_refused_by_database", run=lease.run_id, reason=error.message)
            refused = Failed(FailureCode.UNKNOWN, f"the outcome cannot be stored: {error.message}"[:500], "bug")
            replaced = settlement_of(lease, refused, self._policy, now=datetime.now(UTC), took_s=0.0)
            return await self._until_stored(lambda: self._send_settlements([replaced]))

    async def _send_settlements(self, settlements: list[Settlement]) -> list[bool]:
        keys = {settlement.lease.key for settlement in settlements}
        self._unsent -= keys
        try:
            return await self._store.runs.settle_all(settlements)
        except BaseException:
            self._unsent |= keys
            raise

    def _on_aborted(self, aborted: list[HeldLease]) -> None:
        """Handle confirmed cancels: a run past its time limit fails, and so does one that cancelled itself."""
        ended = [(held, out_of_time(time.monotonic() - held.started)) for held in aborted if held.timed_out]
        ended += [(held, report_self_cancel()) for held in aborted if held.cancelled_at is None]
        if ended:
            self._on_outcomes(ended)
        self._assignment.fill()
        self._wake.set()

    def _on_ready(self) -> None:
        self._assignment.fill()
        self._wake.set()

    def _on_death(self, worker: WorkerProcess, exit_status: str, cause: DeathCause) -> None:
        held, worker.held = list(worker.held.values()), {}
        self.limiter.remove_holder(worker)
        self.proxies.remove_holder(worker)
        self._assignment.fill()
        if not held:
            return
        if worker.retiring:
            self._handle_own_kill(held)
            return
        losses = losses_of(worker, held, exit_status, cause)
        self._write(self._until_stored(lambda: self._store.runs.lose(losses)))

    def _handle_own_kill(self, held: list[HeldLease]) -> None:
        """Fail the run that did not stop, for which the node killed the worker, and requeue its other runs."""
        late = [each for each in held if each.timed_out]
        leases = [each.lease for each in held if not each.timed_out and each.cancelled_at is None]
        if late:
            self._on_outcomes([(each, out_of_time(time.monotonic() - each.started)) for each in late])
        if leases:
            self._write(self._release(leases, "worker restarted"))

    async def _watch(self) -> None:
        """Check deadlines of runs, silent workers, and leases that may have expired."""
        while True:
            began = time.monotonic()
            await asyncio.sleep(_WATCH_EVERY_S)
            if time.monotonic() - began > _BLOCKED_S:
                continue
            for worker in self._assignment.overdue(time.monotonic()):
                log.warning("run_not_stopped_worker_killed", pid=worker.process.pid)
                self._pool.kill(worker)
            self._pool.kill_silent()
            self._memory.enforce()
            if self._renewer.has_lapsed and (leases := self._assignment.take_all()):
                log.warning("lease_renewal_late_runs_stopped", runs=len(leases))
                self._write(self._release(leases, "storage lost"))
            self._assignment.fill()
            self._assignment.tend_isolation(time.monotonic())

    # -- lost leases -------------------------------------------------------------------------------

    def _snapshot(self) -> HeldLeases:
        """Return the held leases, for the renewer thread. A run stays held until its settlement is written."""
        return HeldLeases(tuple(self._pool.workers.values()), (*self._assignment.waiting_keys(), *list(self._settling)))

    def _cancel_from_thread(self, keys: set[Key]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lost.stop, keys)

    # -- writing -----------------------------------------------------------------------------------

    async def _release(self, leases: Sequence[Lease], reason: str) -> None:
        await self._until_stored(lambda: self._store.runs.release(leases, reason))

    async def _until_stored(self, write: Callable[[], Awaitable[T]], *, makes_room: bool = True) -> T:
        """Repeat a write until the database accepts it: a full disk must not lose finished work."""
        while True:
            try:
                stored = await write()
            except (StorageFull, StorageUnavailable) as error:
                self._storage_failed(error)
                await asyncio.sleep(_STORAGE_PAUSE_S)
            else:
                if makes_room:
                    self._wake.set()
                self._pulse.beat()
                return stored
