"""Execute workflow steps whose handlers are coroutines of this process.

The process holds leases like a node. If it dies, they expire, and the next process that executes the workflow takes
over; a completed step is never executed again, because its end is written with the settlement of its run.
"""

import asyncio
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog

from corral.domain.errors import StorageError
from corral.domain.ids import Owner
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.domain.runs.payload.steps import LocalStepPayload
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import Lease
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.spec import MAX_OUTPUT_BYTES
from corral.domain.workflows.states import WorkflowStatus
from corral.engine.node.renewer import LEASE_S, RENEW_EVERY_S
from corral.engine.worker.attempt import settlement_of
from corral.runtime.python_step import shape_output

log = structlog.get_logger()

Handler = Callable[[Mapping[str, Any]], Awaitable[Any]]
Key = tuple[str, int]
MAX_AT_ONCE = 64
_POLL_EVERY_S = 0.2
_MAX_TRACEBACK = 8192
_STOP_S = 1.0  # how long cancelled handlers may take


class LocalExecutor:
    def __init__(self, store: EngineStore, owner: Owner, handlers: Mapping[str, Handler], policy: RetryPolicy) -> None:
        self._store = store
        self._owner = owner
        self._handlers = handlers
        self._policy = policy
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._leases: dict[Key, Lease] = {}
        self._lost: set[Key] = set()  # keys of cancelled tasks; their handlers may ignore it
        self._ended = asyncio.Event()
        self._stop = threading.Event()

    async def run(self, workflow_id: str) -> WorkflowNow:
        """Execute local steps until the workflow has ended, is paused, or waits for a person."""
        loop = asyncio.get_running_loop()
        renewer = threading.Thread(target=self._renew, args=(loop,), name="local-renewer", daemon=True)
        renewer.start()
        try:
            return await self._execute(workflow_id)
        finally:
            await self._give_back()
            self._stop.set()

    async def _execute(self, workflow_id: str) -> WorkflowNow:
        claim = self._store.workflows.claim_local
        while True:
            self._ended.clear()
            room = MAX_AT_ONCE - len(self._tasks)
            claimed = await claim(workflow_id, self._owner, room, LEASE_S) if room > 0 else []
            for lease in claimed:
                self._start(lease)
            if not claimed and not self._tasks.keys() - self._lost:
                now = await self._store.workflows.get(workflow_id)
                if now.is_over or now.waits_for_person or now.status is WorkflowStatus.PAUSED:
                    return now
                await self._store.runs.reap()
            try:
                async with asyncio.timeout(_POLL_EVERY_S):
                    await self._ended.wait()
            except TimeoutError:
                pass

    def _start(self, lease: Lease) -> None:
        task = asyncio.create_task(self._attempt(lease), name=f"run {lease.run_id}")
        self._tasks[lease.key] = task
        self._leases[lease.key] = lease
        task.add_done_callback(lambda _: self._forget(lease.key))

    def _forget(self, key: Key) -> None:
        self._tasks.pop(key, None)
        self._leases.pop(key, None)
        self._lost.discard(key)
        self._ended.set()

    async def _attempt(self, lease: Lease) -> None:
        began = time.monotonic()
        outcome = await self._call(lease)
        took_s = time.monotonic() - began
        settlement = settlement_of(lease, outcome, self._policy, now=datetime.now(UTC), took_s=took_s)
        # A handler that has returned is settled, whatever happens to this task.
        [is_settled] = await asyncio.shield(self._store.runs.settle_all([settlement]))
        if not is_settled:
            log.warning("stale_write_refused", run=lease.run_id, epoch=lease.epoch)

    async def _call(self, lease: Lease) -> Fetched | Failed:
        payload = lease.run.payload.read(LocalStepPayload)
        handler = self._handlers.get(payload.key)
        if handler is None:
            return Failed(FailureCode.POLICY, f"no handler for step {payload.key}", "handler")
        limit = asyncio.timeout(payload.timeout_s)
        try:
            async with limit:
                result = await handler(payload.inputs)
        except TimeoutError as error:
            if limit.expired():
                return Failed(FailureCode.TIMEOUT, f"not done after {payload.timeout_s:g} s", "total")
            return _describe_error(error)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except asyncio.CancelledError as error:
            if _is_cancelled_from_outside():
                raise
            return _describe_error(error)
        except BaseException as error:  # noqa: BLE001 - anything that the handler raises, also sys.exit, fails its step
            return _describe_error(error)
        return _check_output(result)

    # -- leases ------------------------------------------------------------------------------------

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        """Renew from a thread, so that a handler that blocks the event loop costs no lease."""
        while not self._stop.wait(RENEW_EVERY_S):
            keys = list(self._leases)
            if not keys:
                continue
            try:
                held = self._store.runs.renew_from_thread(keys, self._owner, LEASE_S)
            except StorageError as error:
                log.warning("lease_renewal_failed", reason=error.message)
                continue
            lost = set(keys) - held
            if lost and not loop.is_closed():
                loop.call_soon_threadsafe(self._cancel, lost)

    def _cancel(self, lost: set[Key]) -> None:
        """Stop handlers whose lease is lost: their run was cancelled, or another process has it."""
        for key in lost:
            task = self._tasks.get(key)
            if task is not None and key in self._leases:
                self._lost.add(key)
                task.cancel()
        self._ended.set()

    async def _give_back(self) -> None:
        """Requeue active runs for the next process."""
        leases, tasks = list(self._leases.values()), list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            _, stubborn = await asyncio.wait(tasks, timeout=_STOP_S)
            for task in stubborn:
                log.warning("handler_ignores_cancel", task=task.get_name())
        if not leases:
            return
        try:
            await self._store.runs.release(leases, "shutdown")
        except StorageError as error:  # the leases expire, or another process sees that this one has ended
            log.warning("leases_not_released", reason=error.message)


def _is_cancelled_from_outside() -> bool:
    """Return whether this task was cancelled. Otherwise the handler raised the error itself, and its step failed."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _describe_error(error: BaseException) -> Failed:
    text = "".join(traceback.format_exception(error))
    message = f"{type(error).__name__}: {error}"[:2000]
    return Failed(FailureCode.BAD_RESPONSE, message, "exception", traceback=text[-_MAX_TRACEBACK:])


def _check_output(result: Any) -> Fetched | Failed:
    try:
        output = shape_output(result)
        size = len(orjson.dumps(output, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError) as error:
        return Failed(FailureCode.POLICY, f"the handler returned something that is not JSON: {error}", "output")
    if size > MAX_OUTPUT_BYTES:
        message = f"the handler returned {size:,} bytes of JSON, more than {MAX_OUTPUT_BYTES:,}; return a path instead"
        return Failed(FailureCode.LIMIT, message, "output")
    return Fetched(records=(output,))
