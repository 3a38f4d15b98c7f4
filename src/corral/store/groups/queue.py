"""The queue of scraper tasks."""

from collections.abc import Sequence

from corral.domain.queue.feed import FeedResult, FeedRules, TaskScope
from corral.domain.queue.task import ImportReport, QueueFile, QueueTask, StoredTask
from corral.store.database import Database
from corral.store.queries.queue import starts, tasks
from corral.store.queries.queue.starts import MakeRun
from corral.store.queries.queue.tasks import TaskCount, TaskFilter

# Tasks per transaction, so that an import of a large file does not delay other writes for long.
_BATCH_TASKS = 5000


class SqlQueueStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, file: QueueFile, registry: str) -> ImportReport:
        """Import the tasks of a file. An import can be repeated safely, even after an interrupted one."""
        await self.note_ends()  # an ended task is not busy
        offsets = range(0, len(file.tasks), _BATCH_TASKS)
        parts = [await self._add_part(file.tasks[start : start + _BATCH_TASKS], registry) for start in offsets]
        return ImportReport(
            sum(part.imported for part in parts),
            sum(part.updated for part in parts),
            sum(part.unchanged for part in parts),
            tuple(task_id for part in parts for task_id in part.busy),
            tuple(file.malformed),
            tuple(file.notes),
        )

    async def _add_part(self, imported: Sequence[QueueTask], registry: str) -> ImportReport:
        return await self._db.write(lambda tx: tasks.add(tx, imported, registry))

    async def feed(
        self, registry: str, rules: FeedRules, make_run: MakeRun, scope: TaskScope | None = None
    ) -> FeedResult:
        return await self._db.write(lambda tx: starts.feed(tx, registry, rules, make_run, scope))

    async def has_work(self, registry: str) -> bool:
        return await self._db.read(lambda tx: starts.has_work(tx, registry))

    async def note_ends(self) -> int:
        return await self._db.write(starts.note_ends)

    async def get(self, task_id: str) -> StoredTask:
        return await self._db.read(lambda tx: tasks.get(tx, task_id))

    async def select(self, ids: Sequence[str]) -> list[StoredTask]:
        return await self._db.read(lambda tx: tasks.select(tx, ids))

    async def newest(self, wanted: TaskFilter, before: int | None, limit: int) -> list[StoredTask]:
        return await self._db.read(lambda tx: tasks.newest(tx, wanted, before, limit))

    async def count(self) -> list[TaskCount]:
        return await self._db.read_slow(tasks.count)

    async def requeue(self, task_id: str) -> StoredTask:
        return await self._db.write(lambda tx: tasks.requeue(tx, task_id))

    async def requeue_dead(self, ids: Sequence[str] | None = None) -> int:
        return await self._db.write(lambda tx: tasks.requeue_dead(tx, ids))

    async def cancel(self, task_id: str) -> StoredTask:
        return await self._db.write(lambda tx: tasks.cancel(tx, task_id))
