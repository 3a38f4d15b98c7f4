"""The loop: reconcile, let the nodes drain the queue, and reconcile again. One node at a time holds its lease.

All persistent state is in one row of the database. A killed node loses the lease after some seconds; the next node
finds the active reconciliation and waits for its end.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog

from corral.domain.errors import CorralError, RunNotFound
from corral.domain.ids import Owner
from corral.domain.loop.state import LoopState, end_cycle, is_due
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import RECONCILE, NewRun, Run
from corral.engine.repeat import repeat_step
from corral.engine.worker.kinds.registry import find_kind

log = structlog.get_logger()

_STEP_EVERY_S = 1.0
_LEASE_S = 15.0


class LoopRows(Protocol):
    async def take(self, owner: str, lease_s: float) -> LoopState | None: ...
    async def start_run(self, state: LoopState, run: NewRun, drafts: Sequence[EventDraft]) -> bool: ...
    async def end_run(self, state: LoopState) -> bool: ...
    async def leave(self, owner: str) -> None: ...


class LoopRunner:
    def __init__(
        self,
        rows: LoopRows,
        get_run: Callable[[str], Awaitable[Run]],
        has_open_tasks: Callable[[], Awaitable[bool]],
        make_payload: Callable[[], ReconcilePayload],
        *,
        wake: Waker,
        owner: Owner,
    ) -> None:
        self._rows = rows
        self._get_run = get_run
        self._has_open_tasks = has_open_tasks
        self._make_payload = make_payload
        self._wake = wake
        self._owner = owner

    async def run(self) -> None:
        try:
            await repeat_step(self.step, _STEP_EVERY_S, lambda error: log.warning("loop_paused", reason=error.message))
        finally:
            with contextlib.suppress(CorralError):
                await asyncio.shield(self._rows.leave(self._owner))

    async def step(self) -> None:
        """Renew the lease, record the end of a reconciliation, or start the next one."""
        state = await self._rows.take(self._owner, _LEASE_S)
        if state is None:
            return
        if state.run_id is not None:
            await self._check_run(state, state.run_id)
        elif is_due(state, datetime.now(UTC), has_open_tasks=await self._has_open_tasks()):
            await self._start(state)

    async def _check_run(self, state: LoopState, run_id: str) -> None:
        try:
            run = await self._get_run(run_id)
        except RunNotFound:
            await self._end(state, None, {}, "its run was removed")
            return
        if run.state.is_terminal:
            await self._end(state, run, run.stats, run.error_message)

    async def _start(self, state: LoopState) -> None:
        try:
            payload = await asyncio.to_thread(self._make_payload)
        except CorralError as error:
            await self._end(state, None, {}, error.message)
            return
        run = find_kind(RECONCILE).draft_run(payload, max_attempts=1)
        drafts = [EventDraft(EventKind.CREATED, {"by": "loop", "epoch": state.epoch})]
        if await self._rows.start_run(state, run, drafts):
            log.info("loop_reconciles", run=run.id)
            self._wake(run)

    async def _end(self, state: LoopState, run: Run | None, stats: dict[str, Any], problem: str | None) -> None:
        ended = end_cycle(state, None if run is None else run.state, stats, problem, datetime.now(UTC).timestamp())
        if ended.failures:
            log.warning("loop_backs_off", failures=ended.failures, reason=problem)
        await self._rows.end_run(ended)
