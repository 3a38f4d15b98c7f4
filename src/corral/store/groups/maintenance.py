"""Maintenance of the database: retention, removal of leftovers, and checks."""

from corral.domain.finding import Finding
from corral.domain.runs.retention import Retention
from corral.store.database import Database
from corral.store.queries import audit, purge, retention


class SqlMaintenance:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def prune(self, policy: Retention, batch: int = 200) -> int:
        return await self._db.write(lambda tx: retention.prune(tx, policy, batch), essential=True)

    async def purge(self, rows: int = 1_000) -> bool:
        """Delete some rows of forgotten crawls; False when none are left."""
        return await self._db.write(lambda tx: purge.clear(tx, rows), essential=True)

    async def audit(self) -> list[Finding]:
        return await self._db.read_slow(audit.findings)

    async def check_damage(self) -> None:
        """Raise StorageUnusable if the database was damaged since it was opened. Checks at most every few seconds."""
        damage = self._db.damage
        if damage.is_check_due():
            await self._db.read_slow(damage.check)
        if damage.problem is not None:
            raise damage.problem

    def restore_reserve(self) -> None:
        self._db.restore_reserve()
