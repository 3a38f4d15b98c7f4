"""One task in a worker process of its own, for whoever has no node: nothing of it is written anywhere."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any

from corral.domain.ids import Owner, RunId, new_id
from corral.domain.job import Priority, Strategy
from corral.domain.outcome import Failed, FailureCode, Outcome
from corral.domain.run import Lease, Run, RunState
from corral.domain.session import SealedSession
from corral.engine import wire
from corral.engine.pool import Held, PoolEvents, WorkerPool, WorkerProcess

_START_S = 15.0
_MARGIN_S = 2.0


def errand(
    kind: str, payload: dict[str, Any], strategy: Strategy, session: SealedSession | None, job_id: str | None = None
) -> Lease:
    """A run that is nowhere written, for `perform_apart`."""
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
        payload=payload,
        epoch=1,
        losses=0,
        suspect=False,
        due_at=now,
        created_at=now,
        stats={},
    )
    return Lease(run, Owner("errand"), session)


async def perform_apart(config: dict[str, Any], lease: Lease, timeout_s: float) -> Outcome:
    done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    ready = asyncio.Event()

    def end(outcome: Outcome) -> None:
        if not done.done():
            done.set_result(outcome)

    def died(_: WorkerProcess, exit_status: str) -> None:
        end(Failed(FailureCode.WORKER_LOST, f"the worker that was to look died: {exit_status}", "errand"))

    events = PoolEvents(
        outcomes=lambda found: end(found[0][1]),
        aborted=lambda _: end(Failed(FailureCode.UNKNOWN, "the look was broken off", "bug")),
        died=died,
        ready=ready.set,
    )
    pool = WorkerPool(1, config, events)
    await pool.start()
    try:
        async with asyncio.timeout(_START_S):
            await ready.wait()
        [worker] = pool.workers.values()
        worker.held[lease.key] = Held(lease, started=time.monotonic(), deadline=float("inf"))
        worker.send([wire.task_message(lease.task(timeout_s))])
        async with asyncio.timeout(timeout_s + _MARGIN_S):
            return await done
    except TimeoutError:
        return Failed(FailureCode.TIMEOUT, "no answer in time", "errand")
    finally:
        await pool.stop()
