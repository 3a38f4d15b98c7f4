"""Jobs, their schedule and the defaults of new jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from corral.domain.crawl.item import DiscoveredLink
from corral.domain.jobs.defaults import JobDefaults
from corral.domain.jobs.job import DueJob, Job, StoredJob
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import NewRun
from corral.store.database import Database
from corral.store.queries import idempotency, job_defaults, jobs


class SqlJobStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, job: Job, next_slot_ms: int | None, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        return await self._db.write(lambda tx: jobs.add(tx, job, next_slot_ms, key))

    async def get(self, job_id: str) -> StoredJob:
        return await self._db.read(lambda tx: jobs.get(tx, job_id))

    async def newest(self, before: str | None, limit: int) -> list[StoredJob]:
        return await self._db.read(lambda tx: jobs.newest(tx, before, limit))

    async def update(self, before: Job, after: Job, next_slot_ms: int | None) -> bool:
        return await self._db.write(lambda tx: jobs.update(tx, before, after, next_slot_ms))

    async def delete(self, job_id: str) -> None:
        await self._db.write(lambda tx: jobs.delete(tx, job_id))

    async def due(self, limit: int) -> list[DueJob]:
        return await self._db.read(lambda tx: jobs.due(tx, limit))

    async def fire(
        self,
        due: DueJob,
        slot_ms: int,
        next_slot_ms: int,
        run: NewRun,
        drafts: Sequence[EventDraft],
        *,
        seeds: Sequence[DiscoveredLink] = (),
    ) -> bool:
        return await self._db.write(lambda tx: jobs.fire(tx, due, (slot_ms, next_slot_ms), run, drafts, seeds=seeds))

    async def list_under_other_keys(self, kid: str, after: str, limit: int) -> list[Job]:
        return await self._db.read(lambda tx: jobs.under_other_keys(tx, kid, after, limit))

    async def defaults(self) -> JobDefaults:
        return await self._db.read(job_defaults.read)

    async def change_defaults(self, changes: Mapping[str, Any]) -> JobDefaults:
        return await self._db.write(lambda tx: job_defaults.change(tx, changes))


class SqlIdempotencyStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def find(self, key: IdempotencyKey) -> str | None:
        return await self._db.read(lambda tx: idempotency.find(tx, key))
