"""The part of the store that is about the gates of hosts."""

from collections.abc import Sequence

from corral.domain.hosts.limiter import Parking, SitePace, StoredHost
from corral.domain.hosts.quota import Given, PartAsk
from corral.domain.ids import Owner
from corral.store.database import Database
from corral.store.queries.hosts import quotas, state


class HostMethods:
    _db: Database

    async def watched_hosts(self, limit: int = 1000) -> list[StoredHost]:
        found: list[StoredHost] = await self._db.read(lambda tx: state.watched(tx, limit))
        return found

    async def changed_hosts(self, since_ms: int, limit: int) -> tuple[list[StoredHost], int]:
        found: tuple[list[StoredHost], int] = await self._db.read(lambda tx: state.changed(tx, since_ms, limit))
        return found

    async def forget_hosts(self, older_than_s: float) -> int:
        forgotten: int = await self._db.write(lambda tx: state.forget(tx, older_than_s))
        return forgotten

    async def stored_host(self, place: str) -> StoredHost | None:
        found: StoredHost | None = await self._db.read(lambda tx: state.get(tx, place))
        return found

    async def touch_hosts(self, seen: Sequence[tuple[str, int, float]]) -> None:
        await self._db.write(lambda tx: state.touch(tx, seen))

    async def open_breaker(self, place: str, failures: int, blocked_s: float) -> None:
        await self._db.write(lambda tx: state.open_breaker(tx, place, failures, blocked_s))

    async def take_probe(self, place: str, open_s: float, probe_s: float) -> bool:
        taken: bool = await self._db.write(lambda tx: state.take_probe(tx, place, open_s, probe_s))
        return taken

    async def end_probe(self, place: str, failures: int, opened_ago_s: float | None) -> int:
        freed: int = await self._db.write(lambda tx: state.end_probe(tx, place, failures, opened_ago_s), essential=True)
        return freed

    async def say_pace(self, place: str, pace: SitePace) -> None:
        await self._db.write(lambda tx: state.say(tx, place, pace))

    async def park(self, parkings: Sequence[Parking]) -> int:
        parked: int = await self._db.write(lambda tx: state.park(tx, parkings), essential=True)
        return parked

    async def let_go(self, place: str) -> int:
        freed: int = await self._db.write(lambda tx: state.let_go(tx, place))
        return freed

    async def call_up(self, place: str) -> int:
        called: int = await self._db.write(lambda tx: state.call_up(tx, place))
        return called

    async def waiting_counts(self) -> tuple[dict[str, int], int]:
        found: tuple[dict[str, int], int] = await self._db.read_slow(state.waiting_counts)
        return found

    async def take_parts(self, owner: Owner, asks: Sequence[PartAsk]) -> list[Given]:
        given: list[Given] = await self._db.write(lambda tx: quotas.take(tx, owner, asks))
        return given

    async def contested_parts(self, owner: Owner) -> dict[str, bool]:
        found: dict[str, bool] = await self._db.read(lambda tx: quotas.contested(tx, owner))
        return found

    async def renew_parts(self, owner: Owner) -> None:
        await self._db.write(lambda tx: quotas.renew(tx, owner))

    async def drop_parts(self, owner: Owner, places: Sequence[str]) -> None:
        await self._db.write(lambda tx: quotas.drop(tx, owner, places))
