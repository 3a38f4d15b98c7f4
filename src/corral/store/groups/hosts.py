"""Hosts: breakers, probes, rate limits, and the quotas that nodes hold."""

from collections.abc import Sequence

from corral.domain.hosts.limiter import Parking, SitePace, StoredHost
from corral.domain.hosts.quota import QuotaGrant, QuotaRequest
from corral.domain.ids import Owner
from corral.store.database import Database
from corral.store.queries.hosts import quotas, state


class SqlHostStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, host_key: str) -> StoredHost | None:
        return await self._db.read(lambda tx: state.get(tx, host_key))

    async def list_watched(self, limit: int = 1000) -> list[StoredHost]:
        return await self._db.read(lambda tx: state.list_watched(tx, limit))

    async def changes_since(self, since_ms: int, limit: int) -> tuple[list[StoredHost], int]:
        return await self._db.read(lambda tx: state.list_changes(tx, since_ms, limit))

    async def forget(self, older_than_s: float) -> int:
        return await self._db.write(lambda tx: state.forget(tx, older_than_s))

    async def touch(self, observed: Sequence[tuple[str, int, float]]) -> None:
        await self._db.write(lambda tx: state.touch(tx, observed))

    async def open_breaker(self, host_key: str, failures: int, blocked_s: float) -> None:
        await self._db.write(lambda tx: state.open_breaker(tx, host_key, failures, blocked_s))

    async def take_probe(self, host_key: str, open_s: float, probe_s: float) -> bool:
        return await self._db.write(lambda tx: state.take_probe(tx, host_key, open_s, probe_s))

    async def end_probe(self, host_key: str, failures: int, opened_ago_s: float | None) -> int:
        return await self._db.write(lambda tx: state.end_probe(tx, host_key, failures, opened_ago_s), essential=True)

    async def set_pace(self, host_key: str, pace: SitePace) -> None:
        await self._db.write(lambda tx: state.set_pace(tx, host_key, pace))

    async def park(self, parkings: Sequence[Parking]) -> int:
        return await self._db.write(lambda tx: state.park(tx, parkings), essential=True)

    async def release_pages(self, host_key: str) -> int:
        return await self._db.write(lambda tx: state.release_pages(tx, host_key))

    async def release_probe_page(self, host_key: str) -> int:
        return await self._db.write(lambda tx: state.release_probe_page(tx, host_key))

    async def count_waiting(self) -> tuple[dict[str, int], int]:
        return await self._db.read_slow(state.waiting_counts)

    async def take_quotas(self, owner: Owner, requests: Sequence[QuotaRequest]) -> list[QuotaGrant]:
        return await self._db.write(lambda tx: quotas.take(tx, owner, requests))

    async def find_contested(self, owner: Owner) -> dict[str, bool]:
        return await self._db.read(lambda tx: quotas.find_contested(tx, owner))

    async def renew_quotas(self, owner: Owner) -> None:
        await self._db.write(lambda tx: quotas.renew(tx, owner))

    async def drop_quotas(self, owner: Owner, host_keys: Sequence[str]) -> None:
        await self._db.write(lambda tx: quotas.drop(tx, owner, host_keys))
