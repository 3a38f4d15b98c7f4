"""Crawls: their frontier, their helpers and the state of their items."""

from collections.abc import Sequence
from typing import Any

from corral.domain.crawl.crawl import Bounds, ItemState
from corral.domain.crawl.health import CrawlLoad
from corral.domain.crawl.item import Batch, BatchReport, DiscoveredLink, StoredItem
from corral.domain.ids import Owner
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import Lease, NewRun, Run, RunState
from corral.store.database import Database, write_unless_moved
from corral.store.queries.crawl import crawls, frontier, health, helper_claims, item_records
from corral.store.queries.runs import pinned_runs
from corral.store.tx import Tx


class SqlCrawlStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(
        self,
        run: NewRun,
        drafts: Sequence[EventDraft],
        seeds: Sequence[DiscoveredLink],
        key: IdempotencyKey | None = None,
        keep: bool = False,
    ) -> tuple[str, bool]:
        def add(tx: Tx) -> tuple[str, bool]:
            run_id, is_replayed = frontier.add_crawl(tx, run, drafts, seeds, key)
            if keep and not is_replayed:
                pinned_runs.pin(tx, run_id)
            return run_id, is_replayed

        return await self._db.write(add)

    async def get(self, run_id: str) -> crawls.CrawlNow:
        return await self._db.read(lambda tx: crawls.now(tx, run_id))

    async def newest(self, states: Sequence[RunState] | None, limit: int) -> list[tuple[Run, crawls.CrawlNow]]:
        return await self._db.read(lambda tx: crawls.newest(tx, states, limit))

    async def step(self, lease: Lease, report: BatchReport, bounds: Bounds) -> Batch | None:
        return await write_unless_moved(self._db, lambda tx: frontier.step(tx, lease, report, bounds), None)

    async def claim_helpers(self, owner: Owner, limit: int, lease_s: float, crawl: str | None = None) -> list[Lease]:
        return await self._db.write(lambda tx: helper_claims.claim(tx, owner, limit, lease_s, crawl))

    async def items(self, run_id: str, state: ItemState, after: int, limit: int) -> list[StoredItem]:
        """Return items in this state, in the order of discovery. Not every state has an index, so this may be slow."""
        return await self._db.read_slow(lambda tx: crawls.in_state(tx, run_id, state, after, limit))

    async def path_to(self, run_id: str, url_key: str) -> list[StoredItem]:
        return await self._db.read(lambda tx: crawls.path_to(tx, run_id, url_key))

    async def wait_reason(self, run_id: str) -> tuple[str, str, float] | None:
        """Return the host that a crawl waits for when no item is due, the reason, and the remaining seconds."""
        return await self._db.read(lambda tx: crawls.waiting(tx, run_id))

    async def load(self, owner: str | None) -> CrawlLoad:
        """Return the recent progress of all crawls; with an owner, only crawls that it holds count as active."""
        return await self._db.read_slow(lambda tx: health.load(tx, owner))

    async def count_reasons(self, run_id: str) -> list[tuple[str, str, int]]:
        return await self._db.read_slow(lambda tx: crawls.reasons(tx, run_id))

    async def count_row_keys(self, run_id: str, key: Sequence[str]) -> dict[str, Any]:
        return await self._db.read_slow(lambda tx: item_records.count_row_keys(tx, run_id, key))

    async def count_changes(self, run_id: str) -> dict[str, int]:
        return await self._db.read_slow(lambda tx: crawls.changes(tx, run_id))

    async def examples_of(self, run_id: str, reasons: Sequence[str]) -> dict[str, str]:
        return await self._db.read_slow(lambda tx: crawls.examples(tx, run_id, reasons))

    async def trap_groups(self, run_id: str, limit: int = 20) -> list[dict[str, Any]]:
        return await self._db.read_slow(lambda tx: crawls.list_held_back(tx, run_id, limit))

    async def missing_urls(self, run_id: str, limit: int) -> list[str]:
        return await self._db.read_slow(lambda tx: crawls.list_gone(tx, run_id, limit))

    async def statistics(self) -> crawls.CrawlStatistics:
        return await self._db.read_slow(crawls.statistics)
