"""Nodes: their heartbeats and the runs they hold."""

from corral.domain.ids import Owner
from corral.domain.runs.node import HeldRun, NodeInfo, NodeStatus
from corral.store.database import Database
from corral.store.queries import nodes


class SqlNodeStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def heartbeat(self, info: NodeInfo, processes: int, *, is_stopping: bool) -> None:
        await self._db.write(lambda tx: nodes.save_heartbeat(tx, info, processes, is_stopping=is_stopping))

    async def remove(self, owner: Owner) -> None:
        """Delete the row of a node that has left or is known to be dead."""
        await self._db.write(lambda tx: nodes.remove(tx, owner))

    async def list_all(self, after: str = "", limit: int = 200) -> list[NodeStatus]:
        return await self._db.read_slow(lambda tx: nodes.list_all(tx, after, limit))

    async def runs_of(self, owner: str, after: str, limit: int) -> list[HeldRun]:
        return await self._db.read(lambda tx: nodes.runs_of(tx, owner, after, limit))
