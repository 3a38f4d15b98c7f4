"""The proxy pool."""

from collections.abc import Sequence

from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.choice import PoolRows, SiteRecord
from corral.domain.proxies.imports import NewProxy, ProxyImport
from corral.domain.proxies.pooled import PooledProxy, ProxyState
from corral.domain.proxies.refresh import RefreshProgress
from corral.domain.proxies.use import ProxyUse
from corral.domain.runs.event import EventDraft
from corral.domain.runs.run import NewRun
from corral.store.database import Database
from corral.store.queries.proxies import pool, refreshes
from corral.store.queries.proxies.refreshes import MakeCheck

# Proxies per transaction, so that a long list does not delay other writes for long.
_BATCH_PROXIES = 2000


class SqlProxyStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, new: Sequence[NewProxy]) -> ProxyImport:
        parts = [await self._add_part(new[at : at + _BATCH_PROXIES]) for at in range(0, len(new), _BATCH_PROXIES)]
        return ProxyImport(
            sum(part.imported for part in parts),
            sum(part.updated for part in parts),
            sum(part.unchanged for part in parts),
        )

    async def _add_part(self, new: Sequence[NewProxy]) -> ProxyImport:
        return await self._db.write(lambda tx: pool.add(tx, new))

    async def get(self, proxy_id: int) -> PooledProxy:
        return await self._db.read(lambda tx: pool.get(tx, proxy_id))

    async def select(self, ids: Sequence[int]) -> list[PooledProxy]:
        return await self._db.read(lambda tx: pool.select(tx, ids))

    async def ids(self) -> list[int]:
        return await self._db.read(pool.ids)

    async def page(self, state: ProxyState | None, before: int | None, limit: int) -> list[PooledProxy]:
        return await self._db.read(lambda tx: pool.page(tx, state, before, limit))

    async def count(self) -> dict[str, int]:
        return await self._db.read(pool.count)

    async def delete(self, proxy_id: int) -> None:
        await self._db.write(lambda tx: pool.delete(tx, proxy_id))

    async def delete_in_state(self, state: ProxyState) -> int:
        return await self._db.write(lambda tx: pool.delete_in_state(tx, state))

    async def load(self) -> PoolRows:
        return await self._db.read(pool.load)

    async def tiers(self, site: str | None, limit: int) -> dict[str, dict[Tier, SiteRecord]]:
        """Return the results of the tiers at a site, or at the sites used last."""
        return await self._db.read(lambda tx: pool.tiers(tx, site, limit))

    async def record_checks(self, checks: Sequence[ProxyCheck]) -> int:
        return await self._db.write(lambda tx: pool.record_checks(tx, checks))

    async def record_uses(self, uses: Sequence[ProxyUse]) -> None:
        await self._db.write(lambda tx: pool.record_uses(tx, uses))

    async def list_under_other_keys(self, kid: str, after: int, limit: int) -> list[PooledProxy]:
        return await self._db.read(lambda tx: pool.under_other_keys(tx, kid, after, limit))

    async def reseal(self, proxy_id: int, old: str, sealed: str) -> bool:
        return await self._db.write(lambda tx: pool.reseal(tx, proxy_id, old, sealed))

    # -- refreshes -----------------------------------------------------------------------------------

    async def start_refresh(
        self, run: NewRun, drafts: Sequence[EventDraft], not_before_s: float | None = None
    ) -> tuple[str, bool]:
        return await self._db.write(lambda tx: refreshes.start(tx, run, drafts, not_before_s))

    async def add_chunks(self, refresh_id: str, chunks: Sequence[tuple[NewRun, Sequence[EventDraft]]]) -> bool:
        return await self._db.write(lambda tx: refreshes.add_chunks(tx, refresh_id, chunks))

    async def progress(self, refresh_id: str) -> RefreshProgress:
        return await self._db.read(lambda tx: refreshes.get(tx, refresh_id))

    async def newest_refreshes(self, limit: int) -> list[RefreshProgress]:
        return await self._db.read(lambda tx: refreshes.newest(tx, limit))

    async def note_refresh_ends(self) -> list[RefreshProgress]:
        return await self._db.write(refreshes.note_ends)

    async def open_runs(self) -> list[str]:
        return await self._db.read(refreshes.open_runs)

    async def start_rechecks(self, limit: int, make_run: MakeCheck) -> list[NewRun]:
        return await self._db.write(lambda tx: refreshes.start_rechecks(tx, limit, make_run))
