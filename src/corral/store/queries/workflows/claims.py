"""Claim the child runs of one workflow: for a command or a program that executes it."""

from typing import Any

import sqlalchemy as sa

from corral.domain.hosts.claiming import Candidate, HostRoom, LaneRoom, choose
from corral.domain.ids import Owner
from corral.domain.jobs.job import Strategy
from corral.domain.runs.queues import lane_of
from corral.domain.runs.run import LOCAL, Lanes, Lease, RunState
from corral.domain.workflows.states import StepState
from corral.store.queries.runs import claims, waiting
from corral.store.tables import runs
from corral.store.tx import Tx, is_state, param, values
from corral.store.workflow_tables import workflow_steps as steps


def _due(*filters: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(runs.c.due_at, runs.c.id, runs.c.host_key, runs.c.kind, runs.c.resolved_strategy)
        .select_from(steps.join(runs, runs.c.id == steps.c.run_id))
        .where(
            steps.c.workflow_id == param("id"),
            is_state(steps.c.state, StepState.STARTED),
            is_state(runs.c.state, RunState.QUEUED),
            runs.c.waiting_host.is_(None),
            runs.c.due_at <= param("now"),
            *filters,
        )
        .order_by(runs.c.due_at, runs.c.id)
        .limit(param("limit"))
    )


_DUE_LOCAL = _due(is_state(runs.c.kind, LOCAL))
_DUE = _due(runs.c.kind != sa.literal_column(f"'{LOCAL}'"))


def claim_children(  # noqa: PLR0917 - who claims, how much, and within which limits
    tx: Tx, workflow_id: str, owner: Owner, limit: int, lease_s: float, lanes: Lanes, hosts: HostRoom
) -> list[Lease]:
    """Lease due children that a worker executes, within the limits of lanes and hosts."""
    waiting.wake_all(tx, hosts, lanes)
    params = values(id=workflow_id, now=tx.now_ms, limit=limit)
    found = [
        Candidate(due_at, run_id, lane_of(kind, Strategy(strategy)), host)
        for due_at, run_id, host, kind, strategy in tx.all(_DUE, params)
    ]
    chosen, busy = choose(found, LaneRoom(limit, lanes), hosts)
    waiting.set_aside(tx, busy)
    return _lease(tx, chosen, owner, lease_s)


def claim_local(tx: Tx, workflow_id: str, owner: Owner, limit: int, lease_s: float) -> list[Lease]:
    """Lease due children whose handlers are in the calling process."""
    rows = tx.all(_DUE_LOCAL, values(id=workflow_id, now=tx.now_ms, limit=limit))
    chosen = [
        Candidate(due_at, run_id, lane_of(kind, Strategy(strategy)), host)
        for due_at, run_id, host, kind, strategy in rows
    ]
    return _lease(tx, chosen, owner, lease_s)


def _lease(tx: Tx, chosen: list[Candidate], owner: Owner, lease_s: float) -> list[Lease]:
    params = {**claims.claim_params(tx, owner, lease_s), **values(now=tx.now_ms)}
    return claims.start_leases(tx, claims.take(tx, chosen, params), owner)
