"""The store of workflows. Every method is one transaction."""

from collections.abc import Sequence
from typing import Any, Protocol

from corral.domain.hosts.claiming import HostRoom
from corral.domain.ids import Owner
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import Lanes, Lease, Run, RunState
from corral.domain.workflows.new import NewWorkflow
from corral.domain.workflows.now import WorkflowNow


class WorkflowStore(Protocol):
    async def add(self, new: NewWorkflow, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        """Write a workflow and start it. With a key used before, return the id from then and True."""
        ...

    async def recover(self, workflow_id: str, from_step: str | None = None) -> str:
        """Execute steps without success again, as a new run; raise WrongState unless the workflow has failed."""
        ...

    async def get(self, workflow_id: str) -> WorkflowNow: ...

    async def newest(
        self, states: Sequence[RunState] | None, before: str | None, limit: int, *, job_id: str | None = None
    ) -> list[WorkflowNow]: ...

    async def recoverable(self, limit: int) -> list[WorkflowNow]: ...

    async def items_of(self, workflow_id: str, key: str, limit: int) -> list[dict[str, Any]]: ...

    async def children(self, workflow_id: str) -> Sequence[str]:
        """Return the runs of steps that have started and not ended."""
        ...

    async def list_claimable(self, workflow_id: str) -> list[Run]:
        """Return the child runs that a node may claim."""
        ...

    async def claim_children(
        self, workflow_id: str, owner: Owner, limit: int, lease_s: float, *, lanes: Lanes, hosts: HostRoom
    ) -> list[Lease]:
        """Lease due children of one workflow that a worker executes."""
        ...

    async def claim_local(self, workflow_id: str, owner: Owner, limit: int, lease_s: float) -> list[Lease]:
        """Lease due children whose handlers are in this process."""
        ...
