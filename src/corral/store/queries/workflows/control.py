"""Create workflows, and apply actions of people: start, pause, resume, cancel, recover."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from corral.domain.errors import BadInput, WrongState
from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.payload.workflow import WorkflowPayload
from corral.domain.runs.run import (
    CRAWL_HELPER,
    LIVE,
    LOCAL,
    WORKFLOW,
    HoldReason,
    NewRun,
    Run,
    RunAction,
    RunState,
    spoken,
)
from corral.domain.workflows.graph import ALONE, NothingToRecover, choose_recovery
from corral.domain.workflows.new import NewWorkflow
from corral.domain.workflows.spec import WorkflowSpec
from corral.domain.workflows.states import StepState
from corral.runtime.new_ids import new_id
from corral.store.queries import events, idempotency
from corral.store.queries.runs import runs as run_queries
from corral.store.queries.workflows import advance, ends, rows
from corral.store.queries.workflows.rows import WorkflowRow
from corral.store.rows import run_of, to_json
from corral.store.tables import runs
from corral.store.tx import Tx, first, insert_all, insert_params, is_state, param, values
from corral.store.workflow_tables import workflow_definitions as definitions
from corral.store.workflow_tables import workflow_steps as steps
from corral.store.workflow_tables import workflows

_OWNER = "workflow"
_FOREVER = 253_402_300_799_000  # the end of the year 9999
_KNOWN_VERSION = sa.select(definitions.c.version).where(
    definitions.c.name == param("name"), definitions.c.digest == param("digest")
)
_LAST_VERSION = sa.select(sa.func.max(definitions.c.version)).where(definitions.c.name == param("name"))
_ADD_VERSION = postgresql.insert(definitions).values(insert_params(definitions)).on_conflict_do_nothing()
_LOCK_VERSION = (
    sa.select(definitions.c.version)
    .where(definitions.c.name == param("name"), definitions.c.version == param("version"))
    .with_for_update()
)
_LIVE_OF_JOB = (
    sa.select(workflows.c.id)
    .select_from(workflows.join(runs, runs.c.id == workflows.c.run_id))
    .where(
        workflows.c.job_id == param("job_id"),
        workflows.c.digest == param("digest"),
        runs.c.state.in_([state.value for state in sorted(LIVE)]),
    )
    .order_by(workflows.c.id.desc())
    .limit(1)
)
_ADD = insert_all(workflows)
_SET_STATE = (
    sa.update(runs)
    .where(runs.c.id == param("id"), is_state(runs.c.state, RunState.QUEUED))
    .values(
        state=param("state"),
        hold_reason=param("hold_reason"),
        owner=param("owner"),
        lease_until=param("lease_until"),
        epoch=runs.c.epoch + param("claims"),
        started_at=sa.func.coalesce(runs.c.started_at, param("started_at")),
        seq=runs.c.seq + 1,
    )
    .returning(runs.c.seq, runs.c.epoch)
)
_RUN_OF = sa.select(runs.c.kind, runs.c.parent_id).where(runs.c.id == param("id"))
_CHILDREN = (
    sa.select(runs.c.id, runs.c.state, runs.c.hold_reason)
    .select_from(steps.join(runs, runs.c.id == steps.c.run_id))
    .where(steps.c.workflow_id == param("id"), is_state(steps.c.state, StepState.STARTED))
    .order_by(runs.c.id)
)
_CANCEL_STEPS = (
    sa.update(steps)
    .where(steps.c.workflow_id == param("id"), steps.c.state.in_([StepState.WAITING.value, StepState.STARTED.value]))
    .values(state=StepState.CANCELLED.value, reason="the workflow was cancelled", ended_at=param("wall"))
)
_RECOVER = (
    sa.update(workflows)
    .where(
        workflows.c.id == param("id"),
        workflows.c.run_id == param("old_run"),
        workflows.c.recoveries == param("recoveries"),
        workflows.c.recoveries < workflows.c.max_recoveries,
    )
    .values(run_id=param("new_run"), recoveries=workflows.c.recoveries + 1)
)
_NOT_SUCCEEDED = steps.c.state.in_([StepState.FAILED.value, StepState.SKIPPED.value, StepState.CANCELLED.value])
_RESET = (
    sa.update(steps)
    .where(steps.c.workflow_id == param("id"), steps.c.step_key == param("key"), _NOT_SUCCEEDED)
    .values(
        state=StepState.WAITING.value,
        reason=sa.null(),
        output=sa.null(),
        started_at=sa.null(),
        ended_at=sa.null(),
    )
)


def add(tx: Tx, new: NewWorkflow, key: IdempotencyKey | None = None) -> tuple[str, bool]:
    """Write a workflow with its run and its steps, and start it.

    For a key used before, or a workflow that it joins, return the earlier id and True.
    """
    if key is not None and (found := idempotency.find_or_add(tx, key, new.id)) is not None:
        return found, found != new.id
    version = _find_version(tx, new.spec)
    if new.joins and (live := _find_live(tx, new, version)) is not None:
        return live, True
    _add_run(tx, new.id, new.spec, version, new.id, new.priority)
    row = WorkflowRow(
        new.id, new.id, new.spec.name, version, new.spec.digest, new.job_id, new.priority, 0,
        new.spec.max_recovery_attempts, new.setup, tx.wall_ms,
    )  # fmt: skip
    tx.run(_ADD, values(**{**row._asdict(), "priority": int(new.priority), "setup": to_json(new.setup)}))
    tx.many(advance.INSERT_STEPS, _step_rows(new.id, new.spec))
    if new.starts:
        _set_running(tx, new.id)
        advance.advance_workflow(tx, row)
    else:
        _set_state(
            tx, new.id, RunState.HELD, HoldReason.PAUSED, EventDraft(EventKind.PAUSED, {"reason": "not started"})
        )
    return new.id, False


def _find_live(tx: Tx, new: NewWorkflow, version: int) -> str | None:
    """Return the workflow to join. Creators of one definition wait for each other, so two never create it twice."""
    tx.all(_LOCK_VERSION, values(name=new.spec.name, version=version))
    found = first(tx.all(_LIVE_OF_JOB, values(job_id=new.job_id, digest=new.spec.digest)))
    return None if found is None else str(found[0])


def _find_version(tx: Tx, spec: WorkflowSpec) -> int:
    """Return the version number of this content under its name; the next number for new content."""
    key = values(name=spec.name, digest=spec.digest)
    known = first(tx.all(_KNOWN_VERSION, key))
    while known is None:
        last = tx.all(_LAST_VERSION, key)[0][0] or 0
        row = {**key, **values(version=last + 1, document=to_json(spec.document()), created_at=tx.wall_ms)}
        # Another transaction may take the number, or add the same content, at the same time: then read again.
        tx.run(_ADD_VERSION, row)
        known = first(tx.all(_KNOWN_VERSION, key))
    return int(known[0])


def _step_rows(workflow_id: str, spec: WorkflowSpec) -> list[dict[str, Any]]:
    return [
        values(
            workflow_id=workflow_id,
            step_key=step.key,
            item=ALONE,
            position=number,
            state=StepState.WAITING.value,
            run_id=None,
            runs=0,
            reason=None,
            output=None,
            attempts=0,
            started_at=None,
            ended_at=None,
        )
        for number, step in enumerate(spec.steps)
    ]


def _add_run(  # noqa: PLR0917 - the parts of a run
    tx: Tx,
    run_id: str,
    spec: WorkflowSpec,
    version: int,
    workflow_id: str,
    priority: Priority,
    recovers: str | None = None,
    **meta: Any,
) -> None:
    run = NewRun(
        id=RunId(run_id),
        job_id=None,
        kind=WORKFLOW,
        priority=priority,
        max_attempts=1,
        requested_strategy=Strategy.HTTP,
        resolved_strategy=Strategy.HTTP,
        payload=Payload.of(WorkflowPayload(workflow_id, spec.name, version)),
        retry_of=None if recovers is None else RunId(recovers),
    )
    about = {"workflow_id": workflow_id, "name": spec.name, "version": version, "steps": len(spec.steps), **meta}
    run_queries.add(tx, [(run, [EventDraft(EventKind.CREATED, about)])])


def _set_running(tx: Tx, run_id: str) -> None:
    """Mark the run as running. No process holds it, and its lease never expires: only its steps are executed."""
    _set_state(tx, run_id, RunState.RUNNING, None, EventDraft(EventKind.STARTED, {"attempt": 1}))


def _set_state(tx: Tx, run_id: str, state: RunState, hold: HoldReason | None, draft: EventDraft) -> None:
    params = values(
        id=run_id,
        state=state.value,
        hold_reason=None if hold is None else hold.value,
        owner=_OWNER if state is RunState.RUNNING else None,
        lease_until=_FOREVER if state is RunState.RUNNING else None,
        claims=int(state is RunState.RUNNING),
        started_at=tx.wall_ms if state is RunState.RUNNING else None,
    )
    [row] = tx.many_returning(_SET_STATE, [params])
    if row is not None:
        started = EventDraft(draft.kind, {**draft.meta, "epoch": row[1]})
        events.insert(tx, events.rows_for(run_id, row[0], [started], tx.wall_ms))


def lock_for(tx: Tx, run_id: str) -> WorkflowRow | None:
    """Lock the workflow that this run is, or is a step of, before the run itself is changed."""
    found = first(tx.all(_RUN_OF, values(id=run_id)))
    if found is None or found[0] == CRAWL_HELPER:
        return None
    kind, parent_id = found
    of_workflow = run_id if kind == WORKFLOW else parent_id
    return None if of_workflow is None else rows.lock_by_run(tx, of_workflow)


def follow_action(tx: Tx, workflow: WorkflowRow, run: Run, action: RunAction) -> Run:
    """Apply a person's action on the run of a workflow, or on one of its children, to the steps."""
    if run.kind != WORKFLOW:
        if action is RunAction.CANCEL:
            ends.note_cancelled(tx, workflow, run.id)
        return run
    for child, state, hold in tx.all(_CHILDREN, values(id=workflow.id)):
        if _concerns(action, RunState(state), hold):
            run_queries.apply_action(tx, child, action)
    if action is RunAction.CANCEL:
        tx.run(_CANCEL_STEPS, values(id=workflow.id, wall=tx.wall_ms))
    if action is not RunAction.RESUME:
        return run
    _set_running(tx, run.id)
    advance.advance_workflow(tx, workflow)
    return run_queries.get(tx, run.id)


def _concerns(action: RunAction, state: RunState, hold: str | None) -> bool:
    """Return whether an action on a workflow changes a child in this state. A pause lets running children finish."""
    if action is RunAction.CANCEL:
        return not state.is_terminal
    if action is RunAction.PAUSE:
        return state is RunState.QUEUED
    return state is RunState.HELD and hold == HoldReason.PAUSED.value


def recover(tx: Tx, workflow_id: str, from_step: str | None = None) -> str:
    """Execute unsuccessful steps again, as a new run of the workflow; return its id.

    Only one of two callers succeeds.
    """
    workflow = rows.lock(tx, workflow_id)
    run = run_queries.get(tx, workflow.run_id)
    if run.state is not RunState.FAILED:
        raise WrongState("recover the workflow", spoken(run.state, run.hold_reason), terminal=run.state.is_terminal)
    if workflow.recoveries >= workflow.max_recoveries:
        action = f"recover the workflow: all {workflow.max_recoveries} recovery attempts are used"
        raise WrongState(action, run.state.value, terminal=True)
    spec = rows.spec_of(tx, workflow)
    try:
        again = choose_recovery(spec, rows.read_states(tx, workflow_id), from_step)
    except NothingToRecover as error:
        raise BadInput(str(error), field="from_step", hint="see `corral workflow show ID`") from None
    new_run = new_id()
    swap = values(id=workflow_id, old_run=run.id, new_run=new_run, recoveries=workflow.recoveries)
    if tx.run(_RECOVER, swap) != 1:
        raise WrongState("recover the workflow", "recovering", terminal=False)
    for key in again:
        tx.run(_RESET, values(id=workflow_id, key=key))
    about = {"recovery": workflow.recoveries + 1, "again": again}
    _add_run(tx, new_run, spec, workflow.version, workflow_id, workflow.priority, run.id, **about)
    _set_running(tx, new_run)
    advance.advance_workflow(tx, workflow._replace(run_id=new_run, recoveries=workflow.recoveries + 1))
    return new_run


_CLAIMABLE_CHILDREN = (
    sa.select(runs)
    .select_from(steps.join(runs, runs.c.id == steps.c.run_id))
    .where(
        steps.c.workflow_id == param("id"),
        is_state(steps.c.state, StepState.STARTED),
        is_state(runs.c.state, RunState.QUEUED),
        runs.c.kind != sa.literal_column(f"'{LOCAL}'"),
    )
)


def find_claimable(tx: Tx, workflow_id: str) -> list[Run]:
    """Return the child runs that a node may claim."""
    return [run_of(row) for row in tx.all(_CLAIMABLE_CHILDREN, values(id=workflow_id))]


def find_children(tx: Tx, workflow_id: str) -> Sequence[str]:
    """Return the child runs of started steps."""
    return [row[0] for row in tx.all(_CHILDREN, values(id=workflow_id))]
