"""Turn the ends of child runs into the ends of steps, in the transaction that settles the runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.runs.run import CRAWL, CRAWL_HELPER, HoldReason, Lease, RunAction, RunState
from corral.domain.runs.settlement import Settlement
from corral.domain.workflows.graph import ALONE, ItemEnd, gather
from corral.domain.workflows.kinds.registry import STEP_KINDS
from corral.domain.workflows.kinds.spec import MAX_OUTPUT_RECORDS, EndedChild, StepOutput
from corral.domain.workflows.spec import StepSpec
from corral.domain.workflows.states import STEP_STATE_AFTER, SUCCEEDED, StepState
from corral.store.queries.runs import runs as run_queries
from corral.store.queries.workflows import advance, rows
from corral.store.queries.workflows.rows import WorkflowRow
from corral.store.rows import from_json, storable, to_json
from corral.store.tables import records, runs
from corral.store.tx import Tx, first, is_state, param, values
from corral.store.workflow_tables import workflow_steps as steps

_STARTED = is_state(steps.c.state, StepState.STARTED)
_RUN = sa.select(
    runs.c.state, runs.c.attempt, runs.c.stats, runs.c.failure_code, runs.c.error_message, runs.c.kind
).where(runs.c.id == param("id"))
_STEP_OF_RUN = sa.select(steps.c.step_key, steps.c.item).where(
    steps.c.run_id == param("run_id"), steps.c.workflow_id == param("id"), _STARTED
)
_END = (
    sa.update(steps)
    .where(steps.c.run_id == param("run_id"), steps.c.workflow_id == param("id"), _STARTED)
    .values(
        state=param("state"),
        reason=param("reason"),
        output=param("output"),
        attempts=param("attempts"),
        ended_at=param("wall"),
    )
)
_OPEN_ITEM = (
    sa.select(steps.c.item)
    .where(steps.c.workflow_id == param("id"), steps.c.step_key == param("key"), steps.c.item != ALONE, _STARTED)
    .limit(1)
)
_ITEMS = (
    sa.select(steps.c.state, steps.c.output, steps.c.reason, steps.c.run_id)
    .where(steps.c.workflow_id == param("id"), steps.c.step_key == param("key"), steps.c.item != ALONE)
    .order_by(steps.c.item)
)
_RECORDS = sa.select(records.c.data).where(records.c.run_id == param("id")).order_by(records.c.id).limit(param("limit"))
_COUNT_RECORDS = sa.select(sa.func.count()).select_from(records).where(records.c.run_id == param("id"))
_IS_PAUSED = sa.select(runs.c.id).where(
    runs.c.id == param("id"), is_state(runs.c.state, RunState.HELD), runs.c.hold_reason == HoldReason.PAUSED.value
)

Locked = Mapping[str, WorkflowRow]


class _ChildNow(NamedTuple):
    state: RunState
    attempt: int
    stats: dict[str, Any]
    failure_code: str | None
    error_message: str | None
    kind: str


def lock_parents(tx: Tx, leases: Iterable[Lease]) -> Locked:
    """Lock the workflows of these runs, in the same order for every caller. Most runs have none."""
    parents = {
        lease.run.parent_id for lease in leases if lease.run.parent_id is not None and lease.run.kind != CRAWL_HELPER
    }
    found = {parent: rows.lock_by_run(tx, parent) for parent in sorted(parents)}
    return {parent: workflow for parent, workflow in found.items() if workflow is not None}


def note_settled(tx: Tx, settlements: Sequence[Settlement], landed: Sequence[bool], locked: Locked) -> None:
    """Write the ends of steps and start the steps they release.

    A repeated settlement finds its step ended and does nothing.
    """
    if not locked:
        return
    changed: dict[str, WorkflowRow] = {}
    for settlement, is_ours in zip(settlements, landed, strict=True):
        run = settlement.lease.run
        workflow = locked.get(run.parent_id or "")
        if workflow is None or not is_ours:
            continue
        now = _child_after(tx, settlement)
        if now.state.is_terminal:
            if end_child(tx, workflow, run.id, now, settlement.transition.records):
                changed[workflow.id] = workflow
        else:
            _hold_if_paused(tx, workflow, run.id, now.state)
    for workflow in changed.values():
        advance.advance_workflow(tx, workflow)


def note_requeued(tx: Tx, leases: Iterable[Lease], locked: Locked) -> None:
    """Hold requeued runs while their workflow is paused."""
    for lease in leases if locked else ():
        workflow = locked.get(lease.run.parent_id or "")
        if workflow is not None:
            _hold_if_paused(tx, workflow, lease.run_id, _read_child(tx, lease.run_id).state)


def _hold_if_paused(tx: Tx, workflow: WorkflowRow, run_id: str, state: RunState) -> None:
    if state is RunState.QUEUED and tx.all(_IS_PAUSED, values(id=workflow.run_id)):
        run_queries.apply_action(tx, run_id, RunAction.PAUSE)


def note_cancelled(tx: Tx, workflow: WorkflowRow, run_id: str) -> None:
    """Record that a person cancelled one child run."""
    if end_child(tx, workflow, run_id, _read_child(tx, run_id), ()):
        advance.advance_workflow(tx, workflow)


def _read_child(tx: Tx, run_id: str) -> _ChildNow:
    [(state, attempt, stats, code, message, kind)] = tx.all(_RUN, values(id=run_id))
    return _ChildNow(RunState(state), attempt, from_json(stats), code, message, kind)


def _child_after(tx: Tx, settlement: Settlement) -> _ChildNow:
    """Return the child after its settlement, read again only if a verdict on its data may have changed it."""
    run, transition = settlement.lease.run, settlement.transition
    if settlement.data is not None or run.job_id is not None or not transition.to.is_terminal:
        return _read_child(tx, run.id)
    failure = transition.failure
    code, message = (None, None) if failure is None else (failure.code.value, failure.message)
    return _ChildNow(transition.to, run.attempt, transition.stats, code, message, run.kind)


def end_child(tx: Tx, workflow: WorkflowRow, run_id: str, now: _ChildNow, found: Sequence[Any]) -> bool:
    """Write the end of this run's step or item. False if it had ended before."""
    key = values(id=workflow.id, run_id=run_id)
    row = first(tx.all(_STEP_OF_RUN, key))
    if row is None:
        return False
    step = rows.spec_of(tx, workflow).by_key[row[0]]
    state, output, reason = _judge(tx, step, run_id, now, found)
    written = {
        "state": state.value,
        "reason": None if reason is None else storable(reason[:4000]),
        "output": None if output is None else to_json(output),
        "attempts": now.attempt,
        "wall": tx.wall_ms,
    }
    tx.run(_END, {**key, **written})
    if row[1] != ALONE:
        _gather_items(tx, workflow, step)
    return True


def _judge(
    tx: Tx, step: StepSpec, run_id: str, now: _ChildNow, found: Sequence[Any]
) -> tuple[StepState, dict[str, Any] | None, str | None]:
    state = STEP_STATE_AFTER[now.state]
    reason = now.error_message or now.failure_code
    if state not in SUCCEEDED:
        return state, None, reason
    total = len(found)
    if now.kind == CRAWL:
        total = int(tx.all(_COUNT_RECORDS, values(id=run_id))[0][0])
        found = [from_json(row[0]) for row in tx.all(_RECORDS, values(id=run_id, limit=MAX_OUTPUT_RECORDS))]
    result = _make_output(step, EndedChild(run_id, now.state, now.stats, found, total))
    if result.flaw is not None:
        return StepState.PARTIAL, result.value, result.flaw
    if state is StepState.PARTIAL and reason is None:
        reason = "its run ended partial"
    return state, result.value, reason


def _make_output(step: StepSpec, ended: EndedChild) -> StepOutput:
    make = STEP_KINDS[step.kind].make_output
    try:
        return make(ended)
    except TypeError:
        # Records can contain values that JSON lacks, such as integers of 30 digits: use them as they are stored.
        return make(ended._replace(records=from_json(to_json(list(ended.records)))))


def _gather_items(tx: Tx, workflow: WorkflowRow, step: StepSpec) -> None:
    """End a step when its last item has ended; open items are read from the rows, never from a counter."""
    key = values(id=workflow.id, key=step.key)
    if tx.all(_OPEN_ITEM, key):
        return
    ends = [
        ItemEnd(StepState(state), from_json(output), reason, run_id)
        for state, output, reason, run_id in tx.all(_ITEMS, key)
    ]
    advance.write_end(tx, workflow.id, gather(step, ends))
