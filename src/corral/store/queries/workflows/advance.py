"""The effects of ended steps: others start or are skipped, and the workflow ends. Always under its lock."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import BadInput
from corral.domain.ids import RunId
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import WORKFLOW, NewRun, RunState
from corral.domain.workflows.graph import ALONE, StepChild, StepEnd, advance
from corral.domain.workflows.inputs import StepResult
from corral.domain.workflows.kinds.registry import STEP_KINDS
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext
from corral.domain.workflows.progress import StepCounts, summarize_steps
from corral.domain.workflows.spec import StepSpec, WorkflowSpec
from corral.domain.workflows.states import StepState
from corral.runtime.new_ids import new_id
from corral.store.queries import events
from corral.store.queries.crawl import frontier
from corral.store.queries.runs import runs as run_queries
from corral.store.queries.workflows import rows
from corral.store.queries.workflows.rows import WorkflowRow
from corral.store.rows import from_json, storable, to_json
from corral.store.tables import runs
from corral.store.tx import Tx, insert_all, is_state, param, values
from corral.store.workflow_tables import workflow_steps as steps

_RUN_STATE = sa.select(runs.c.state).where(runs.c.id == param("id"))
_RESULT = sa.select(steps.c.state, steps.c.output, steps.c.run_id).where(
    steps.c.workflow_id == param("id"), steps.c.step_key == param("key"), steps.c.item == ALONE
)
_THIS = (
    steps.c.workflow_id == param("id"),
    steps.c.step_key == param("key"),
    steps.c.item == param("item"),
)
_WAITING = is_state(steps.c.state, StepState.WAITING)
_END = (
    sa.update(steps)
    .where(*_THIS, steps.c.state.in_([StepState.WAITING.value, StepState.STARTED.value]))
    .values(
        state=param("state"),
        reason=param("reason"),
        output=param("output"),
        ended_at=param("wall"),
        started_at=sa.func.coalesce(steps.c.started_at, param("wall")),
    )
)
_START = (
    sa.update(steps)
    .where(*_THIS, _WAITING)
    .values(
        state=StepState.STARTED.value,
        run_id=param("run_id"),
        runs=steps.c.runs + param("more_runs"),
        reason=sa.null(),
        attempts=0,
        started_at=sa.func.coalesce(steps.c.started_at, param("wall")),
        ended_at=sa.null(),
    )
)
INSERT_STEPS = insert_all(steps)
_ITEMS = sa.select(steps.c.item, steps.c.state).where(
    steps.c.workflow_id == param("id"), steps.c.step_key == param("key"), steps.c.item != ALONE
)
_FINISH = (
    sa.update(runs)
    .where(runs.c.id == param("id"), is_state(runs.c.state, RunState.RUNNING), is_state(runs.c.kind, WORKFLOW))
    .values(
        state=param("state"),
        finished_at=param("wall"),
        lease_until=sa.null(),
        stats=param("stats"),
        failure_code=param("code"),
        failure_detail=param("detail"),
        error_message=param("message"),
        seq=runs.c.seq + 1,
    )
    .returning(runs.c.seq)
)
_END_EVENTS = {
    RunState.COMPLETED: EventKind.COMPLETED,
    RunState.PARTIAL: EventKind.PARTIAL,
    RunState.FAILED: EventKind.FAILED,
}


def advance_workflow(tx: Tx, workflow: WorkflowRow) -> None:
    """Start the steps that can start and end those that have ended. Nothing starts unless the workflow is running."""
    if tx.all(_RUN_STATE, values(id=workflow.run_id))[0][0] != RunState.RUNNING.value:
        return
    spec = rows.spec_of(tx, workflow)
    now = rows.read_states(tx, workflow.id)
    while True:
        decided = advance(spec, now, lambda key: _read_result(tx, workflow.id, key))
        for end in decided.ends:
            write_end(tx, workflow.id, end)
        refused = _start_children(tx, workflow, spec, decided.children)
        if not refused:
            break
        # A step with an invalid configuration also ends the steps that depend on it.
        for end in refused:
            write_end(tx, workflow.id, end)
        now = rows.read_states(tx, workflow.id)
    if decided.end is not None:
        _finish(tx, workflow, decided.end)


def _read_result(tx: Tx, workflow_id: str, key: str) -> StepResult:
    [(state, output, run_id)] = tx.all(_RESULT, values(id=workflow_id, key=key))
    return StepResult(state, from_json(output), run_id)


def write_end(tx: Tx, workflow_id: str, end: StepEnd) -> None:
    tx.run(
        _END,
        values(
            id=workflow_id,
            key=end.key,
            item=ALONE,
            state=end.state.value,
            reason=None if end.reason is None else storable(end.reason[:4000]),
            output=None if end.output is None else to_json(end.output),
            wall=tx.wall_ms,
        ),
    )


def _start_children(tx: Tx, workflow: WorkflowRow, spec: WorkflowSpec, children: Sequence[StepChild]) -> list[StepEnd]:
    """Write a child run for each; return the ends of steps with an invalid configuration."""
    refused: list[StepEnd] = []
    grouped: dict[str, list[StepChild]] = {}
    for child in children:
        grouped.setdefault(child.key, []).append(child)
    for key, of_step in grouped.items():
        step = spec.by_key[key]
        try:
            drafts = [(child, _draft(workflow, step, child)) for child in of_step]
        except (BadInput, ValueError, KeyError, TypeError) as error:
            message = error.message if isinstance(error, BadInput) else str(error)
            refused.append(StepEnd(key, StepState.FAILED, f"its configuration cannot be executed: {message}"))
            continue
        _write_step(tx, workflow, step, drafts)
    return refused


def _draft(workflow: WorkflowRow, step: StepSpec, child: StepChild) -> ChildDraft:
    context = StepContext(
        workflow.id,
        step.key,
        child.item,
        child.inputs,
        step.timeout_s,
        tuple(workflow.setup.get("trusted_hosts") or ()),
        workflow.setup,
    )
    return STEP_KINDS[step.kind].make_child(child.config, context)


def _write_step(tx: Tx, workflow: WorkflowRow, step: StepSpec, drafts: Sequence[tuple[StepChild, ChildDraft]]) -> None:
    is_alone = step.for_each is None
    first = _add_run(tx, workflow, step, *drafts[0]) if is_alone else None
    row = values(id=workflow.id, key=step.key, item=ALONE, run_id=first, more_runs=int(is_alone), wall=tx.wall_ms)
    tx.run(_START, row)
    if is_alone:
        return
    # After a recovery some items exist already, and successful ones are not executed again.
    states: dict[int, str] = dict(tx.all(_ITEMS, values(id=workflow.id, key=step.key)))
    new = []
    for child, draft in drafts:
        known = states.get(child.item)
        if known not in (None, StepState.WAITING.value):
            continue
        run_id = _add_run(tx, workflow, step, child, draft)
        if known is None:
            new.append(_item_row(tx, workflow.id, step, child.item, run_id))
        else:
            start = values(id=workflow.id, key=step.key, item=child.item, run_id=run_id, more_runs=1, wall=tx.wall_ms)
            tx.run(_START, start)
    if new:
        tx.many(INSERT_STEPS, new)


def _item_row(tx: Tx, workflow_id: str, step: StepSpec, item: int, run_id: str) -> dict[str, Any]:
    return values(
        workflow_id=workflow_id,
        step_key=step.key,
        item=item,
        position=0,
        state=StepState.STARTED.value,
        run_id=run_id,
        runs=1,
        reason=None,
        output=None,
        attempts=0,
        started_at=tx.wall_ms,
        ended_at=None,
    )


def _add_run(tx: Tx, workflow: WorkflowRow, step: StepSpec, child: StepChild, draft: ChildDraft) -> str:
    run = NewRun(
        id=RunId(new_id()),
        job_id=None,
        kind=draft.kind,
        priority=workflow.priority,
        max_attempts=1 + step.max_retries if draft.is_retried else 1,
        requested_strategy=draft.strategy,
        resolved_strategy=draft.strategy,
        payload=Payload.of(draft.payload),
        parent_id=RunId(workflow.run_id),
    )
    about = {"workflow_id": workflow.id, "step": step.key, **({} if child.item == ALONE else {"item": child.item})}
    created = EventDraft(EventKind.CREATED, {"resolved_strategy": draft.strategy.value, **about})
    if draft.seeds:
        frontier.add_crawl(tx, run, [created], draft.seeds, None)
    else:
        run_queries.add(tx, [(run, [created])])
    return run.id


def _finish(tx: Tx, workflow: WorkflowRow, state: RunState) -> None:
    now = rows.read_states(tx, workflow.id)
    counts = StepCounts.of(now.values())
    problems = summarize_steps(now)
    message = "; ".join(problems)[:2000] or None
    stats: dict[str, Any] = {"steps": counts.document(), **({"problems": problems} if problems else {})}
    params = values(
        id=workflow.run_id,
        state=state.value,
        wall=tx.wall_ms,
        stats=to_json(stats),
        code=None if state is RunState.COMPLETED else _code_of(tx, workflow.id),
        detail=None if state is RunState.COMPLETED else "steps",
        message=None if message is None else storable(message),
    )
    [row] = tx.many_returning(_FINISH, [params])
    if row is None:
        return
    meta: dict[str, Any] = {"stats": stats}
    if state is not RunState.COMPLETED:
        meta |= {"failure_code": params["code"], "error_message": message}
    draft = EventDraft(_END_EVENTS[state], meta)
    events.insert(tx, events.rows_for(workflow.run_id, row[0], [draft], tx.wall_ms))


_CODE = (
    sa.select(runs.c.failure_code)
    .select_from(steps.join(runs, runs.c.id == steps.c.run_id))
    .where(
        steps.c.workflow_id == param("id"),
        steps.c.state.in_([StepState.FAILED.value, StepState.PARTIAL.value, StepState.CANCELLED.value]),
        runs.c.failure_code.is_not(None),
    )
    .order_by(steps.c.position, steps.c.item)
    .limit(1)
)


def _code_of(tx: Tx, workflow_id: str) -> str:
    """Return the failure code of the first step that did not succeed; `policy` for a step that never had a run."""
    found = tx.all(_CODE, values(id=workflow_id))
    return str(found[0][0]) if found else "policy"
