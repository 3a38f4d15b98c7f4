"""What runs produced: records, stored pages, artifacts, and the events of their history."""

from collections.abc import Sequence

from corral.domain.crawl.page_archive import ArchivedPage
from corral.domain.runs.artifact import StoredArtifact
from corral.domain.runs.event import Event
from corral.domain.runs.record import Record, RecordFilter
from corral.store.database import Database
from corral.store.queries import artifacts, events, feed, records, stored_pages


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

    async def delete(self, record_id: str) -> None:
        await self._db.write(lambda tx: records.delete(tx, record_id))


class SqlPageStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def next_batch(self, run_id: str, after: int) -> list[ArchivedPage]:
        return await self._db.read(lambda tx: stored_pages.next_pages(tx, run_id, after))

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
