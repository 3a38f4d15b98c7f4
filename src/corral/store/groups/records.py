"""The output of runs: records, stored pages, artifacts, and the events of their history."""

from collections.abc import Collection, Sequence
from typing import Any

from corral.domain.crawl.page_archive import ArchivedPage
from corral.domain.records.changes import ChangedRow, RowChange, RunComparison
from corral.domain.runs.artifact import StoredArtifact
from corral.domain.runs.event import Event
from corral.domain.runs.record import Record, RecordFilter
from corral.store.database import Database
from corral.store.queries import artifacts, events, feed, record_changes, records, stored_pages
from corral.store.queries.record_changes import MAX_CHANGES, ChangePage


class SqlRecordStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def of_run(self, run_id: str, after: str, limit: int) -> list[Record]:
        return await self._db.read(lambda tx: records.of_run(tx, run_id, after, limit))

    async def next_batch(self, run_id: str, after: str) -> list[Record]:
        return await self._db.read(lambda tx: stored_pages.next_records(tx, run_id, after))

    async def newest(self, wanted: RecordFilter, before: str | None, limit: int) -> list[Record]:
        return await self._db.read(lambda tx: records.newest(tx, wanted, before, limit))

    async def statistics(self, wanted: RecordFilter) -> tuple[int, int, int, int | None, int | None]:
        return await self._db.read_slow(lambda tx: records.statistics(tx, wanted))

    async def count_changes(self, comparison: RunComparison) -> dict[RowChange, int]:
        counts, unverified = await self._db.read_slow(lambda tx: record_changes.count(tx, comparison))
        after: str | None = "" if unverified else None
        while after is not None:
            same, after = await self._next_unverified(comparison, after)
            counts[RowChange.CHANGED] -= same
            counts[RowChange.UNCHANGED] += same
        return counts

    async def _next_unverified(self, comparison: RunComparison, after: str) -> tuple[int, str | None]:
        return await self._db.read_slow(lambda tx: record_changes.next_unverified(tx, comparison, after))

    async def list_changes(
        self, comparison: RunComparison, kinds: Collection[RowChange], cursor: str | None, limit: int
    ) -> ChangePage:
        """Return up to `limit` rows. The cursor is None at the end."""
        rows: list[ChangedRow] = []
        while len(rows) < limit:
            page = await self.next_changes(comparison, kinds, cursor, limit - len(rows))
            rows += page.rows
            cursor = page.cursor
            if cursor is None:
                break
        return ChangePage(rows, cursor)

    async def next_changes(
        self, comparison: RunComparison, kinds: Collection[RowChange], cursor: str | None, limit: int = MAX_CHANGES
    ) -> ChangePage:
        """Return the next rows, as many as fit into memory; a page may be empty although others follow."""
        return await self._db.read_slow(lambda tx: record_changes.next_page(tx, comparison, kinds, cursor, limit))

    async def delete(self, record_id: str) -> None:
        await self._db.write(lambda tx: records.delete(tx, record_id))


class SqlPageStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def next_batch(self, run_id: str, after: int) -> list[ArchivedPage]:
        return await self._db.read(lambda tx: stored_pages.next_pages(tx, run_id, after))

    async def next_with_records(self, run_id: str, after: int) -> list[tuple[ArchivedPage, list[Any]]]:
        return await self._db.read_slow(lambda tx: stored_pages.next_pages_with_records(tx, run_id, after))

    async def count(self, run_id: str) -> int:
        return await self._db.read_slow(lambda tx: stored_pages.count(tx, run_id))


class SqlArtifactStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def of_run(self, run_id: str) -> list[StoredArtifact]:
        return await self._db.read(lambda tx: artifacts.of_run(tx, run_id))

    async def get(self, run_id: str, artifact_id: str) -> StoredArtifact:
        return await self._db.read(lambda tx: artifacts.get(tx, run_id, artifact_id))

    async def list_ids(self) -> frozenset[str]:
        return await self._db.read_slow(artifacts.ids)

    async def forget(self, artifact_ids: Sequence[str]) -> None:
        await self._db.write(lambda tx: artifacts.forget(tx, artifact_ids))


class SqlEventStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def of_run(self, run_id: str, after: int, limit: int) -> list[Event]:
        return await self._db.read(lambda tx: events.of_run(tx, run_id, after, limit))

    async def feed(self, after: int, limit: int) -> list[Event]:
        return await self._db.read(lambda tx: feed.feed(tx, after, limit))

    async def last_position(self) -> int:
        return await self._db.read(feed.last_position)
