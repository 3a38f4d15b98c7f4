"""Start the runs of scheduled jobs: one per slot; several missed slots count as one."""

import asyncio
from datetime import UTC, datetime

import structlog

from corral.domain.errors import CorralError, StorageError
from corral.domain.jobs.job import DueJob
from corral.domain.jobs.schedule import find_due_slots
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import NewRun
from corral.engine.usecases.submit import Submitter, seeds_of_run

log = structlog.get_logger()
_BATCH = 500
_AT_ONCE = 50


class Scheduler:
    def __init__(self, store: EngineStore, submitter: Submitter) -> None:
        self._store = store
        self._submitter = submitter

    async def fire_due(self) -> list[NewRun]:
        """Start the due jobs and return their runs."""
        # Concurrently: each may probe its target first, and a hanging target must not delay the others.
        gate = asyncio.Semaphore(_AT_ONCE)
        due_jobs = await self._store.jobs.due(_BATCH)
        fired = await asyncio.gather(*(self._fire_in_turn(due, gate) for due in due_jobs))
        return [run for run in fired if run is not None]

    async def _fire_in_turn(self, due: DueJob, gate: asyncio.Semaphore) -> NewRun | None:
        async with gate:
            try:
                return await self._fire(due)
            except StorageError:
                raise
            except CorralError as error:  # a job that cannot be started must not delay the others
                log.warning("schedule_failed", job=due.job.id, reason=error.message)
                return None

    async def _fire(self, due: DueJob) -> NewRun | None:
        now = datetime.now(UTC)
        first = datetime.fromtimestamp(due.slot_ms / 1000, UTC)
        slot, missed, following = find_due_slots(due.job.frequency, first, now)
        run, drafts = await self._submitter.draft_run(due.job, extra={"slot": slot.isoformat()})
        if missed:
            drafts = [*drafts, EventDraft(EventKind.SLOTS_MISSED, {"missed": missed})]
        seeds = seeds_of_run(run)
        fired = await self._store.jobs.fire(due, _ms(slot), _ms(following), run, drafts, seeds=seeds)
        if not fired:
            return None
        log.info("schedule_fired", job=due.job.id, slot=slot.isoformat(), missed=missed)
        return run


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
