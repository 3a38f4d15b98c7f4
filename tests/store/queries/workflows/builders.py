"""Workflows in a store, driven by hand: what a node would claim, and what it would settle."""

from datetime import UTC, datetime
from typing import Any

from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.domain.runs.retry import RetryPolicy
from corral.domain.runs.run import Lease
from corral.domain.workflows.new import NewWorkflow
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.parse import parse_workflow
from corral.engine.worker.attempt import settlement_of
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store.builders import ME

BROKEN = Failed(FailureCode.POLICY, "broken on purpose", "test")


async def create(store: Store, document: dict[str, Any], **changed: Any) -> str:
    workflow_id, _ = await store.workflows.add(NewWorkflow(new_id(), parse_workflow(document), **changed))
    return workflow_id


async def claim_all(store: Store) -> dict[str, Lease]:
    """The child runs that a node would start now, by step."""
    leases = await store.runs.claim(ME, 100, 10)
    return {await step_of(store, lease): lease for lease in leases}


async def step_of(store: Store, lease: Lease) -> str:
    [created, *_] = await store.events.of_run(lease.run_id, 0, 1)
    item = created.meta.get("item")
    return created.meta["step"] if item is None else f"{created.meta['step']}[{item}]"


async def settle(store: Store, lease: Lease, outcome: Fetched | Failed | None = None) -> bool:
    told = outcome or Fetched(records=({"of": lease.run_id},))
    settlement = settlement_of(lease, told, RetryPolicy(), now=datetime.now(UTC), took_s=0.1)
    [landed] = await store.runs.settle_all([settlement])
    return landed


def states(now: WorkflowNow) -> dict[str, str]:
    return {step.spec.key: step.now.state.value for step in now.steps}
