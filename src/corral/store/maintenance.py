"""The store as those see it who keep house: what is kept, what is cleared away, and what sites were like."""

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.health import CrawlLoad
from corral.domain.crawl.item import StoredItem
from corral.domain.crawl.site_statistics import SiteStatistics
from corral.store.database import Database
from corral.store.queries import purge
from corral.store.queries.crawl import crawls, health
from corral.store.queries.runs import pinned_runs
from corral.store.queries.sites import site_statistics
from corral.store.store_workers import WorkerMethods


class Upkeep(WorkerMethods):
    _db: Database

    async def keep_run(self, run_id: str, *, keep: bool) -> None:
        """A finished crawl that is kept stays until it is not any more."""
        await self._db.write(lambda tx: (pinned_runs.keep if keep else pinned_runs.let_go)(tx, run_id))

    async def is_kept(self, run_id: str) -> bool:
        found: bool = await self._db.read(lambda tx: pinned_runs.is_kept(tx, run_id))
        return found

    async def clear_leftovers(self, rows: int = 1_000) -> bool:
        """Remove some of what is left of forgotten crawls; False where nothing is."""
        cleared: bool = await self._db.write(lambda tx: purge.clear(tx, rows), essential=True)
        return cleared

    async def crawl_pages(self, run_id: str, state: ItemState, after: int, limit: int) -> list[StoredItem]:
        """In the order they were found in. Aside: those in a state without an index have to be looked for."""
        found: list[StoredItem] = await self._db.read_slow(lambda tx: crawls.in_state(tx, run_id, state, after, limit))
        return found

    async def crawl_waiting(self, run_id: str) -> tuple[str, str, float] | None:
        """What a crawl waits for where nothing is due: a host, why, and for how many seconds."""
        found: tuple[str, str, float] | None = await self._db.read(lambda tx: crawls.waiting(tx, run_id))
        return found

    async def crawl_load(self, owner: str | None) -> CrawlLoad:
        """What crawls have been at lately; with an owner, the active ones are those that it holds."""
        found: CrawlLoad = await self._db.read_slow(lambda tx: health.load(tx, owner))
        return found

    async def site_statistics(self, host: str) -> SiteStatistics | None:
        found: SiteStatistics | None = await self._db.read(lambda tx: site_statistics.of_host(tx, host))
        return found

    async def latest_site_statistics(self, limit: int) -> list[SiteStatistics]:
        found: list[SiteStatistics] = await self._db.read_slow(lambda tx: site_statistics.latest(tx, limit))
        return found
