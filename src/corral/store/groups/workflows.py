"""Workflows and their steps."""

from collections.abc import Sequence
from typing import Any

from corral.domain.hosts.claiming import HostRoom
from corral.domain.ids import Owner
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import Lanes, Lease, Run, RunState
from corral.domain.workflows.new import NewWorkflow
from corral.domain.workflows.now import WorkflowNow
from corral.store.database import Database
from corral.store.queries.workflows import claims, control, reads


class SqlWorkflowStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(self, new: NewWorkflow, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        return await self._db.write(lambda tx: control.add(tx, new, key))

    async def recover(self, workflow_id: str, from_step: str | None = None) -> str:
        return await self._db.write(lambda tx: control.recover(tx, workflow_id, from_step))

    async def get(self, workflow_id: str) -> WorkflowNow:
        return await self._db.read(lambda tx: reads.get(tx, workflow_id))

    async def newest(
        self, states: Sequence[RunState] | None, before: str | None, limit: int, *, job_id: str | None = None
    ) -> list[WorkflowNow]:
        return await self._db.read(lambda tx: reads.newest(tx, states, before, limit, job_id=job_id))

    async def recoverable(self, limit: int) -> list[WorkflowNow]:
        return await self._db.read(lambda tx: reads.recoverable(tx, limit))

    async def items_of(self, workflow_id: str, key: str, limit: int) -> list[dict[str, Any]]:
        return await self._db.read(lambda tx: reads.items_of(tx, workflow_id, key, limit))

    async def children(self, workflow_id: str) -> Sequence[str]:
        """Return the runs of steps that have started and not ended."""
        return await self._db.read(lambda tx: control.find_children(tx, workflow_id))

    async def list_claimable(self, workflow_id: str) -> list[Run]:
        return await self._db.read(lambda tx: control.find_claimable(tx, workflow_id))

    async def claim_children(
        self, workflow_id: str, owner: Owner, limit: int, lease_s: float, *, lanes: Lanes, hosts: HostRoom
    ) -> list[Lease]:
        return await self._db.write(
            lambda tx: claims.claim_children(tx, workflow_id, owner, limit, lease_s, lanes, hosts)
        )

    async def claim_local(self, workflow_id: str, owner: Owner, limit: int, lease_s: float) -> list[Lease]:
        return await self._db.write(lambda tx: claims.claim_local(tx, workflow_id, owner, limit, lease_s))
