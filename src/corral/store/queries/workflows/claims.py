"""Claim the child runs of one workflow: for a command or a program that executes it."""

import sqlalchemy as sa

from corral.domain.ids import Owner
from corral.domain.runs.run import CRAWL_HELPER, LOCAL, Lease, RunState
from corral.domain.workflows.states import StepState
from corral.store.queries.runs import claims
from corral.store.tables import runs
from corral.store.tx import Tx, is_state, param, values
from corral.store.workflow_tables import workflow_steps as steps

_DUE = (
    sa.select(runs.c.id)
    .select_from(steps.join(runs, runs.c.id == steps.c.run_id))
    .where(
        steps.c.workflow_id == param("id"),
        is_state(steps.c.state, StepState.STARTED),
        is_state(runs.c.state, RunState.QUEUED),
        runs.c.waiting_host.is_(None),
        runs.c.due_at <= param("now"),
        runs.c.kind != sa.literal_column(f"'{CRAWL_HELPER}'"),
        (is_state(runs.c.kind, LOCAL)) == (param("is_local") == 1),
    )
    .order_by(runs.c.id)
    .limit(param("limit"))
)


def claim_children(
    tx: Tx, workflow_id: str, owner: Owner, limit: int, lease_s: float, *, is_local: bool
) -> list[Lease]:
    """Lease due children: those with handlers in this process, or those that a worker executes."""
    params = values(id=workflow_id, now=tx.now_ms, limit=limit, is_local=int(is_local))
    found = [row[0] for row in tx.all(_DUE, params)]
    return [lease for run_id in found for lease in claims.claim_one(tx, run_id, owner, lease_s)]
