"""Sessions as the vault sealed them, and interventions that wait for a person."""

from collections import Counter
from collections.abc import Mapping

from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import Intervention, InterventionStatus
from corral.domain.runs.run import Run
from corral.domain.sites.session import CheckResult, NewSession, SealedSession, SessionInfo
from corral.store.database import Database
from corral.store.queries import alert_channels, jobs
from corral.store.queries.proxies import pool
from corral.store.queries.runs import interventions
from corral.store.queries.sites import sessions
from corral.store.tx import Tx


class SqlSessionStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def find(self, job_id: str, name: str) -> tuple[str, int] | None:
        return await self._db.read(lambda tx: sessions.find(tx, job_id, name))

    async def put(self, new: NewSession, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        return await self._db.write(lambda tx: sessions.put(tx, new, key))

    async def get(self, session_id: str) -> SessionInfo:
        return await self._db.read(lambda tx: sessions.get(tx, session_id))

    async def newest(self, job_id: str | None, before: str | None, limit: int) -> list[SessionInfo]:
        return await self._db.read(lambda tx: sessions.newest(tx, job_id, before, limit))

    async def get_sealed(self, session_id: str) -> SealedSession:
        return await self._db.read(lambda tx: sessions.get_sealed(tx, session_id))

    async def list_under_other_keys(self, kid: str, after: str, limit: int) -> list[SealedSession]:
        return await self._db.read(lambda tx: sessions.under_other_keys(tx, kid, after, limit))

    async def rewrap(self, sealed: SealedSession, old_kid: str) -> bool:
        return await self._db.write(lambda tx: sessions.rewrap(tx, sealed, old_kid))

    async def note_check(self, session_id: str, version: int, result: CheckResult) -> None:
        await self._db.write(lambda tx: sessions.note_check(tx, session_id, version, result))

    async def count_keys(self) -> dict[str, int]:
        def count(tx: Tx) -> dict[str, int]:
            of_proxies = Counter(pool.kids(tx)) + Counter(alert_channels.kids(tx))
            return dict(Counter(sessions.kids(tx)) + Counter(jobs.kids(tx)) + of_proxies)

        return await self._db.read(count)

    async def delete(self, session_id: str) -> None:
        await self._db.write(lambda tx: sessions.delete(tx, session_id))


class SqlInterventionStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, intervention_id: str) -> Intervention:
        return await self._db.read(lambda tx: interventions.get(tx, intervention_id))

    async def newest(self, status: InterventionStatus | None, before: str | None, limit: int) -> list[Intervention]:
        return await self._db.read(lambda tx: interventions.newest(tx, status, before, limit))

    async def resolve(
        self, intervention_id: str, session: NewSession | None = None, note: Mapping[str, str] | None = None
    ) -> tuple[Intervention, Run]:
        return await self._db.write(lambda tx: interventions.resolve(tx, intervention_id, session, note))
