"""Starting the runs of scheduled jobs: once per slot, missed slots as one."""

import asyncio
from datetime import UTC, datetime

import structlog

from corral.domain.errors import CorralError, StorageError
from corral.domain.event import EventDraft, EventKind
from corral.domain.job import DueJob
from corral.domain.ports import EngineStore
from corral.domain.schedule import passed_slots
from corral.engine.submit import Submitter

log = structlog.get_logger()
_BATCH = 500
_AT_ONCE = 50


class Scheduler:
    def __init__(self, store: EngineStore, submitter: Submitter) -> None:
        self._store = store
        self._submitter = submitter

    async def fire_due(self) -> int:
        """Start what is due; how many runs were started."""
        # Side by side: each may ask its target first, and a target that hangs must not hold up the others.
        gate = asyncio.Semaphore(_AT_ONCE)
        due_jobs = await self._store.due_jobs(_BATCH)
        return sum(await asyncio.gather(*(self._fire_in_turn(due, gate) for due in due_jobs)))

    async def _fire_in_turn(self, due: DueJob, gate: asyncio.Semaphore) -> bool:
        async with gate:
            try:
                return await self._fire(due)
            except StorageError:
                raise
            except CorralError as error:  # one job that cannot be started does not hold up the others
                log.warning("schedule did not fire; trying again", job=due.job.id, reason=error.message)
                return False

    async def _fire(self, due: DueJob) -> bool:
        now = datetime.now(UTC)
        first = datetime.fromtimestamp(due.slot_ms / 1000, UTC)
        slot, missed, following = passed_slots(due.job.frequency, first, now)
        run, drafts = await self._submitter.drafted(due.job, extra={"slot": slot.isoformat()})
        if missed:
            drafts = [*drafts, EventDraft(EventKind.SLOTS_MISSED, {"missed": missed})]
        fired = await self._store.fire(due, _ms(slot), _ms(following), run, drafts)
        if fired:
            log.info("schedule fired", job=due.job.id, slot=slot.isoformat(), missed=missed)
        return fired


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
