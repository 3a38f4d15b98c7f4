"""The part of the store that is about who works and what waits."""

from corral.domain.ids import Owner
from corral.domain.runs.node import HeldRun, Neglect, QueueNow, WorkerCard, WorkerNow
from corral.store.database import Database
from corral.store.queries import nodes
from corral.store.queries.runs import queues


class WorkerMethods:
    _db: Database

    async def worker_seen(self, card: WorkerCard, processes: int, *, is_stopping: bool) -> None:
        await self._db.write(lambda tx: nodes.seen(tx, card, processes, is_stopping=is_stopping))

    async def strike_worker(self, owner: Owner) -> None:
        """Off the record: it has left, or is known to be dead."""
        await self._db.write(lambda tx: nodes.strike(tx, owner))

    async def workers(self, after: str = "", limit: int = 200) -> list[WorkerNow]:
        found: list[WorkerNow] = await self._db.read_slow(lambda tx: nodes.listed(tx, after, limit))
        return found

    async def held_by(self, owner: str, after: str, limit: int) -> list[HeldRun]:
        found: list[HeldRun] = await self._db.read(lambda tx: nodes.held_by(tx, owner, after, limit))
        return found

    async def queues(self) -> list[QueueNow]:
        found: list[QueueNow] = await self._db.read_slow(queues.now)
        return found

    async def neglected(self, after_s: float) -> list[Neglect]:
        found: list[Neglect] = await self._db.read(lambda tx: queues.neglect(tx, after_s))
        return found
