"""Execute one task in an extra worker process, without storing anything."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from corral.domain.ids import Owner, RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.ports.execution import task_of
from corral.domain.runs.loss import DeathCause
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.payload.stored import Payload, TypedPayload
from corral.domain.runs.run import Lease, Run, RunState
from corral.domain.sites.session import SealedSession
from corral.engine.held_lease import HeldLease
from corral.engine.hosts.limiter import HostLimiter
from corral.engine.node.pool import PoolEvents, WorkerPool, WorkerProcess, lend_all
from corral.engine.proxies.messages import ToProxyPool
from corral.engine.proxies.pool import refuse_proxies
from corral.engine.worker import messages
from corral.runtime.new_ids import new_id

_START_S = 15.0
_MARGIN_S = 2.0
# A user who tries one selector tries several, and a process takes a second to start.
_WARM_S = 60.0


def draft_lease(
    kind: str, payload: TypedPayload, strategy: Strategy, session: SealedSession | None, job_id: str | None = None
) -> Lease:
    """Return a lease of a run that is not stored, for `OneShotWorkers`."""
    now = datetime.now(UTC)
    run = Run(
        id=RunId(new_id()),
        job_id=job_id,
        kind=kind,
        state=RunState.RUNNING,
        priority=Priority.HIGH,
        attempt=1,
        max_attempts=1,
        requested_strategy=strategy,
        resolved_strategy=strategy,
        payload=Payload.of(payload),
        epoch=1,
        losses=0,
        suspect=0,
        due_at=now,
        created_at=now,
        stats={},
    )
    return Lease(run, Owner("errand"), session)


class OneShotWorkers:
    """Extra worker processes: each executes one task at a time and is kept for a while for the next task.

    If this process has a node, they use its host limiter.
    """

    def __init__(
        self,
        config: Callable[[], dict[str, Any]],
        limiter: HostLimiter | None = None,
        proxies: Callable[[WorkerProcess, ToProxyPool], None] = refuse_proxies,
    ) -> None:
        self._config = config
        self._proxies = proxies
        self._limiter = limiter
        self._idle: list[_Runner] = []
        self._closing: set[asyncio.Task[None]] = set()

    async def perform(self, lease: Lease, timeout_s: float) -> Outcome:
        runner = await self._get_runner()
        try:
            outcome = await runner.perform(lease, timeout_s)
        except BaseException:
            await runner.pool.stop()
            raise
        if runner.is_usable:
            runner.dismissal = asyncio.get_running_loop().call_later(_WARM_S, self._dismiss, runner)
            self._idle.append(runner)
        else:
            self._end(runner)
        return outcome

    async def close(self) -> None:
        for runner in list(self._idle):
            self._dismiss(runner)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _get_runner(self) -> "_Runner":
        """Return an idle worker, unless its configuration is outdated, such as its vault keys."""
        config = self._config()
        while self._idle:
            runner = self._idle.pop()
            if runner.dismissal is not None:
                runner.dismissal.cancel()
            if runner.is_usable and runner.config == config:
                return runner
            self._end(runner)
        runner = _Runner(config, self._limiter, self._proxies)
        await runner.pool.start()
        return runner

    def _dismiss(self, runner: "_Runner") -> None:
        self._idle.remove(runner)
        if runner.dismissal is not None:
            runner.dismissal.cancel()
        self._end(runner)

    def _end(self, runner: "_Runner") -> None:
        task = asyncio.create_task(runner.pool.stop(), name="one-shot worker ends")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


class _Runner:
    def __init__(
        self,
        config: dict[str, Any],
        limiter: HostLimiter | None,
        proxies: Callable[[WorkerProcess, ToProxyPool], None],
    ) -> None:
        self.config = config
        self._limiter = limiter
        self.is_usable = True
        self.dismissal: asyncio.TimerHandle | None = None
        self._ready = asyncio.Event()
        self._done: asyncio.Future[Outcome] | None = None
        on_slot_message = lend_all if limiter is None else limiter.hear
        handlers = (self._handle_end, self._handle_abort, self._handle_death, self._ready.set)
        events = PoolEvents(*handlers, limiter=on_slot_message, proxies=proxies)
        self.pool = WorkerPool(1, config, events)

    async def perform(self, lease: Lease, timeout_s: float) -> Outcome:
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._done = done
        try:
            async with asyncio.timeout(_START_S):
                await self._ready.wait()
            [worker] = self.pool.workers.values()
            worker.held[lease.key] = HeldLease(lease, started=time.monotonic(), deadline=float("inf"))
            worker.send([messages.start_run(task_of(lease, timeout_s))])
            async with asyncio.timeout(timeout_s + _MARGIN_S):
                return await done
        except TimeoutError:
            self.is_usable = False
            return Failed(FailureCode.TIMEOUT, "no answer in time", "errand")

    def _handle_end(self, outcomes: list[tuple[HeldLease, Outcome]]) -> None:
        self._end(outcomes[0][1])

    def _handle_abort(self, _: list[HeldLease]) -> None:
        self.is_usable = False
        self._end(Failed(FailureCode.UNKNOWN, "the task was cancelled", "bug"))

    def _handle_death(self, worker: WorkerProcess, exit_status: str, _: DeathCause) -> None:
        self.is_usable = False
        if self._limiter is not None:
            self._limiter.remove_holder(worker)
        self._end(Failed(FailureCode.WORKER_LOST, f"the worker process died: {exit_status}", "errand"))

    def _end(self, outcome: Outcome) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(outcome)
