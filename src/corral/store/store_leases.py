"""The part of the store that is about who works on what."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from corral.domain.errors import StorageMoved
from corral.domain.hosts.claiming import ANY_HOST, HostRoom
from corral.domain.ids import Owner
from corral.domain.runs.loss import Loss
from corral.domain.runs.queues import Hint
from corral.domain.runs.run import EVERY_LANE, Lanes, Lease
from corral.domain.runs.settlement import Settlement
from corral.store.database import Database
from corral.store.queries import losses
from corral.store.queries.runs import claims
from corral.store.tx import Tx

T = TypeVar("T")


class LeaseMethods:
    _db: Database

    @property
    def writes_in_order(self) -> bool:
        return not self._db.is_postgres

    async def claim(
        self, owner: Owner, limit: int, lease_s: float, lanes: Lanes = EVERY_LANE, hosts: HostRoom = ANY_HOST
    ) -> list[Lease]:
        found: list[Lease] = await self._db.write(lambda tx: claims.claim(tx, owner, limit, lease_s, lanes, hosts))
        return found

    async def claim_one(self, run_id: str, owner: Owner, lease_s: float, hosts: HostRoom = ANY_HOST) -> list[Lease]:
        found: list[Lease] = await self._db.write(lambda tx: claims.claim_one(tx, run_id, owner, lease_s, hosts))
        return found

    async def due_again(self, within_s: float, limit: int) -> list[Hint]:
        found: list[Hint] = await self._db.read(lambda tx: claims.due_again(tx, within_s, limit))
        return found

    def renew_from_thread(
        self, leases: Sequence[tuple[str, int]], owner: Owner, lease_s: float
    ) -> set[tuple[str, int]]:
        try:
            held: set[tuple[str, int]] = self._db.write_from_thread(lambda tx: claims.renew(tx, leases, owner, lease_s))
        except StorageMoved:
            return set()
        return held

    async def settle(self, settlement: Settlement) -> bool:
        settled: bool = await self._db.write(lambda tx: claims.settle(tx, settlement), essential=True)
        return settled

    async def settle_all(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Many at once, for the price of one trip to the database."""
        return await self._unless_moved(lambda tx: claims.settle_all(tx, settlements), [False] * len(settlements))

    async def release(self, leases: Sequence[Lease], reason: str) -> int:
        return await self._unless_moved(lambda tx: claims.release(tx, leases, reason), 0)

    async def lose(self, lost: Sequence[Loss]) -> int:
        return await self._unless_moved(lambda tx: losses.lose(tx, lost), 0)

    async def _unless_moved(self, op: Callable[[Tx], T], lost: T) -> T:
        """Runs that went to another database with everything else are queued there: all leases on them are lost."""
        try:
            written: T = await self._db.write(op, essential=True)
        except StorageMoved:
            return lost
        return written

    async def expire(self, owner: Owner) -> int:
        expired: int = await self._db.write(lambda tx: losses.expire(tx, owner), essential=True)
        return expired

    async def reap(self, limit: int = 500) -> int:
        reaped: int = await self._db.write(lambda tx: losses.reap(tx, limit), essential=True)
        return reaped
