"""Workflows as users see them."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.runs.run import HoldReason, RunState
from corral.domain.workflows.graph import ALONE
from corral.domain.workflows.now import ItemCounts, StepDetail, WorkflowNow
from corral.domain.workflows.states import StepNow, StepState
from corral.store.queries.workflows import rows
from corral.store.queries.workflows.rows import WorkflowRow
from corral.store.rows import at, from_json, maybe_at, run_of
from corral.store.tables import runs
from corral.store.tx import LAST_ID, Row, Tx, first, param, values
from corral.store.workflow_tables import workflow_steps as steps
from corral.store.workflow_tables import workflows

_STEPS = (
    sa.select(
        steps.c.step_key, steps.c.state, steps.c.reason, steps.c.run_id, steps.c.runs, steps.c.output,
        steps.c.attempts, steps.c.started_at, steps.c.ended_at, runs.c.state, runs.c.hold_reason, runs.c.attempt,
        runs.c.error_message,
    )
    .select_from(steps.outerjoin(runs, runs.c.id == steps.c.run_id))
    .where(steps.c.workflow_id == param("id"), steps.c.item == ALONE)
)  # fmt: skip
_ITEMS = (
    sa.select(steps.c.step_key, steps.c.state, runs.c.state, sa.func.count())
    .select_from(steps.outerjoin(runs, runs.c.id == steps.c.run_id))
    .where(steps.c.workflow_id == param("id"), steps.c.item != ALONE)
    .group_by(steps.c.step_key, steps.c.state, runs.c.state)
)
_ITEM_ROWS = (
    sa.select(steps.c.item, steps.c.state, steps.c.reason, steps.c.run_id, steps.c.output)
    .where(steps.c.workflow_id == param("id"), steps.c.step_key == param("key"), steps.c.item != ALONE)
    .order_by(steps.c.item)
    .limit(param("limit"))
)
_RUN = sa.select(runs).where(runs.c.id == param("id"))
_STARTED_AT = sa.select(runs.c.started_at).where(runs.c.id == param("id"))


def _listing(*filters: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(workflows)
        .select_from(workflows.join(runs, runs.c.id == workflows.c.run_id))
        .where(workflows.c.id < param("before"), *filters)
        .order_by(workflows.c.id.desc())
        .limit(param("limit"))
    )


_LIST = _listing()
_LIST_STATE = {state: _listing(runs.c.state == state.value) for state in RunState}
_RECOVERABLE = _listing(runs.c.state == RunState.FAILED.value, workflows.c.recoveries < workflows.c.max_recoveries)
_OF_JOB = workflows.c.job_id == param("job_id")
_LIST_JOB = _listing(_OF_JOB)
_LIST_JOB_STATE = {state: _listing(_OF_JOB, runs.c.state == state.value) for state in RunState}
_BY_RUN = sa.select(workflows.c.id).where(workflows.c.run_id == param("run_id"))


def get(tx: Tx, workflow_id: str) -> WorkflowNow:
    """Return a workflow by its id, or by the id of its latest run."""
    found = first(tx.all(_BY_RUN, values(run_id=workflow_id)))
    return _read(tx, rows.get(tx, workflow_id if found is None else found[0]))


def newest(
    tx: Tx, states: Sequence[RunState] | None, before: str | None, limit: int, *, job_id: str | None = None
) -> list[WorkflowNow]:
    """Return workflows, newest first. Several states are read one by one and merged."""
    params = values(before=before or LAST_ID, limit=limit, job_id=job_id)
    everywhere, by_state = (_LIST, _LIST_STATE) if job_id is None else (_LIST_JOB, _LIST_JOB_STATE)
    if states is None:
        found = tx.all(everywhere, params)
    else:
        found = [row for state in states for row in tx.all(by_state[state], params)]
        found.sort(key=lambda row: row[0], reverse=True)
    return [_read(tx, rows.workflow_of(row)) for row in found[:limit]]


def recoverable(tx: Tx, limit: int) -> list[WorkflowNow]:
    found = tx.all(_RECOVERABLE, values(before=LAST_ID, limit=limit))
    return [_read(tx, rows.workflow_of(row)) for row in found]


def _read(tx: Tx, row: WorkflowRow) -> WorkflowNow:
    spec = rows.spec_of(tx, row)
    by_key = {each[0]: each for each in tx.all(_STEPS, values(id=row.id))}
    items = _count_items(tx, row.id) if any(step.for_each for step in spec.steps) else {}
    run = run_of(tx.all(_RUN, values(id=row.run_id))[0])
    started = first(tx.all(_STARTED_AT, values(id=row.id)))
    return WorkflowNow(
        id=row.id,
        run=run,
        spec=spec,
        version=row.version,
        job_id=row.job_id,
        recoveries=row.recoveries,
        max_recoveries=row.max_recoveries,
        created_at=at(row.created_at),
        started_at=run.started_at if started is None else maybe_at(started[0]),
        steps=tuple(_detail(step, by_key[step.key], items.get(step.key)) for step in spec.steps),
    )


def _detail(spec: Any, row: Row, items: ItemCounts | None) -> StepDetail:
    _, state, reason, run_id, count, output, attempts, started, ended, run_state, hold, attempt, error = row
    return StepDetail(
        spec=spec,
        now=StepNow(StepState(state), reason),
        run_id=run_id,
        run_state=None if run_state is None else RunState(run_state),
        hold_reason=None if hold is None else HoldReason(hold),
        attempt=attempts or attempt or 0,
        runs=count,
        output=from_json(output),
        started_at=maybe_at(started),
        ended_at=maybe_at(ended),
        items=items,
        error=error,
    )


def _count_items(tx: Tx, workflow_id: str) -> dict[str, ItemCounts]:
    found: dict[str, ItemCounts] = {}
    for key, state, run_state, count in tx.all(_ITEMS, values(id=workflow_id)):
        now = found.get(key, ItemCounts())
        found[key] = ItemCounts(
            now.total + count,
            now.succeeded + (count if state in ("completed", "partial") else 0),
            now.failed + (count if state in ("failed", "cancelled") else 0),
            now.running + (count if state == "started" and run_state == "running" else 0),
        )
    return found


def items_of(tx: Tx, workflow_id: str, key: str, limit: int) -> list[dict[str, Any]]:
    """Return the children of a for_each, in order."""
    rows_found = tx.all(_ITEM_ROWS, values(id=workflow_id, key=key, limit=limit))
    return [
        {"item": item, "state": state, "error_message": reason, "run_id": run_id, "result": from_json(output)}
        for item, state, reason, run_id, output in rows_found
    ]
