"""Runs as users see them: submit, read, list, cancel, pause, resume."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import RunNotFound
from corral.domain.hosts.limiter import host_key_of_url
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import InterventionStatus
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.page import with_login
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.retry import CAPTCHA
from corral.domain.runs.run import (
    CRAWL_HELPER,
    LIVE,
    WITH_ITEMS,
    HoldReason,
    NewRun,
    Run,
    RunAction,
    RunState,
    advance,
    sources,
    target,
)
from corral.store.queries import events, idempotency
from corral.store.queries.runs import interventions
from corral.store.queries.sites import sessions
from corral.store.rows import run_of, to_json
from corral.store.tables import runs
from corral.store.tx import LAST_ID, Tx, insert_all, is_state, param, values

# In a new run, these columns have their defaults.
_LATER = (
    *("epoch", "losses", "suspect", "hold_reason", "owner", "lease_until", "started_at", "finished_at"),
    *("failure_code", "failure_detail", "error_message", "stats", "attempts", "waiting_reason", "waiting_host"),
    "interruptions",
)
_INSERT = insert_all(runs, without=_LATER)
_GET = sa.select(runs).where(runs.c.id == param("id"))


def _count(*filters: sa.ColumnElement[bool]) -> sa.ScalarSelect[int]:
    return sa.select(sa.func.count()).select_from(runs).where(*filters).scalar_subquery()


# One statement counts all states at the same moment, so that a run that changes its state is counted once. Crawl
# helpers are subtracted, so that the index alone can count all other runs.
_COUNT_LIVE = sa.select(
    *(
        _count(is_state(runs.c.state, state))
        - _count(is_state(runs.c.state, state), is_state(runs.c.kind, CRAWL_HELPER))
        for state in sorted(LIVE)
    )
)


def _listing(*filters: sa.ColumnElement[bool]) -> sa.Select[Any]:
    # Crawl helpers are not submitted by users; the crawl's own history mentions them.
    is_no_helper = runs.c.kind != sa.literal_column(f"'{CRAWL_HELPER}'")
    found = sa.select(runs).where(runs.c.id < param("before"), is_no_helper, *filters)
    return found.order_by(runs.c.id.desc()).limit(param("limit"))


_OF_JOB = runs.c.job_id == param("job_id")
_LIST_STATE = {state: _listing(is_state(runs.c.state, state)) for state in RunState}
_LIST_JOB_STATE = {state: _listing(_OF_JOB, is_state(runs.c.state, state)) for state in RunState}
_LIST_JOB = _listing(_OF_JOB)
_LIST = _listing()

# For each action of a person: its event, and its hold reason if it holds the run.
_BY_PERSON = {
    RunAction.CANCEL: (EventKind.CANCELLED, None),
    RunAction.PAUSE: (EventKind.PAUSED, HoldReason.PAUSED),
    RunAction.RESUME: (EventKind.RESUMED, None),
}
# The status of an open intervention after a person resumes or cancels its run directly.
_CLOSES = {RunAction.CANCEL: InterventionStatus.CANCELLED, RunAction.RESUME: InterventionStatus.RESOLVED}
_REPLACE_PAYLOAD = (
    sa.update(runs).where(runs.c.id == param("id"), runs.c.state == "held").values(payload=param("payload"))
)
_APPLY = {
    action: sa.update(runs)
    .where(runs.c.id == param("id"), runs.c.state.in_([state.value for state in sorted(sources(action))]))
    .values(
        state=target(action).value,
        hold_reason=param("hold_reason"),
        owner=sa.null(),
        lease_until=sa.null(),
        finished_at=param("finished_at"),
        # The failure of an earlier attempt stays in the history; it is not a failure of the run.
        failure_code=param("failure_code"),
        failure_detail=param("failure_detail"),
        error_message=sa.null(),
        waiting_reason=sa.null(),
        waiting_host=sa.null(),
        losses=0 if action is RunAction.RESUME else runs.c.losses,
        seq=runs.c.seq + 1,
    )
    .returning(runs)
    for action in _BY_PERSON
}


def add(
    tx: Tx, new: Sequence[tuple[NewRun, Sequence[EventDraft]]], key: IdempotencyKey | None = None
) -> tuple[list[str], bool]:
    """Write runs with their first events. For a key used before, return the earlier ids and True."""
    ids = [run.id for run, _ in new]
    if key is not None:
        found = idempotency.find_or_add(tx, key, " ".join(ids))
        if found is not None:
            # The same ids mean that this request was committed before and only its answer was lost.
            return found.split(), found.split() != ids
    if tx.is_repeat:
        new = [(run, drafts) for run, drafts in new if not tx.all(_GET, values(id=run.id))]
    rows: list[dict[str, Any]] = []
    history: list[dict[str, Any]] = []
    for run, drafts in new:
        rows.append(_row(tx, run, len(drafts)))
        history += events.rows_for(run.id, len(drafts), drafts, tx.wall_ms)
    tx.many(_INSERT, rows)
    events.insert(tx, history)
    return list(ids), False


def _row(tx: Tx, run: NewRun, event_count: int) -> dict[str, Any]:
    return values(
        id=run.id,
        job_id=run.job_id,
        kind=run.kind,
        state=RunState.QUEUED.value,
        priority=int(run.priority),
        attempt=1,
        max_attempts=run.max_attempts,
        requested_strategy=run.requested_strategy.value,
        resolved_strategy=run.resolved_strategy.value,
        payload=to_json(run.payload.document()),
        due_at=tx.now_ms,
        created_at=tx.wall_ms,
        retry_of=run.retry_of,
        parent_id=run.parent_id,
        host_key=None if run.kind in WITH_ITEMS else host_key_of_url(run.payload.read(CommonPayload).url),
        seq=event_count,
    )


def get(tx: Tx, run_id: str) -> Run:
    rows = tx.all(_GET, values(id=run_id))
    if not rows:
        raise RunNotFound(run_id)
    return run_of(rows[0])


def newest(tx: Tx, job_id: str | None, state: RunState | None, before: str | None, limit: int) -> list[Run]:
    """Return runs older than the id `before`, newest first."""
    params = values(before=before or LAST_ID, limit=limit)
    if job_id is not None:
        params |= values(job_id=job_id)
        statement = _LIST_JOB if state is None else _LIST_JOB_STATE[state]
    else:
        statement = _LIST if state is None else _LIST_STATE[state]
    return [run_of(row) for row in tx.all(statement, params)]


def apply_action(tx: Tx, run_id: str, action: RunAction, detail: str | None = None) -> Run:
    """Apply the action of a person as a compare-and-set; WrongState names the actual state.

    `detail` is the signal for the script of a run that is cancelled.
    """
    kind, hold = _BY_PERSON[action]
    ends = target(action).is_terminal
    params = values(
        id=run_id,
        hold_reason=hold.value if hold else None,
        finished_at=tx.wall_ms if ends else None,
        failure_code="cancelled" if ends else None,
        failure_detail=detail if ends else None,
    )
    [row] = tx.many_returning(_APPLY[action], [params])
    if row is None:
        found = get(tx, run_id)
        advance(found.state, action, found.hold_reason)  # raises, because the update matched no allowed state
        raise AssertionError(f"{action} of {run_id} matched no row although its state allows it")
    meta = {"signal": detail} if detail else {}
    events.insert(tx, events.rows_for(run_id, row[-1], [EventDraft(kind, meta)], tx.wall_ms))
    if action in _CLOSES:
        interventions.close_of_run(tx, run_id, _CLOSES[action])
    return run_of(row)


def replace_held_payload(tx: Tx, run_id: str, payload: Payload) -> None:
    """Replace the payload of a held run; the payload of a running one never changes.

    A run held for a captcha continues with the session of its job, if there is one.
    """
    held = get(tx, run_id)
    if held.failure_detail == CAPTCHA and held.job_id and sessions.newest_sealed(tx, held.job_id) is not None:
        payload = with_login(payload)
    tx.run(_REPLACE_PAYLOAD, values(id=run_id, payload=to_json(payload.document())))


def count_live(tx: Tx) -> dict[str, int]:
    """Return the number of queued, running and held runs, each read from its own partial index."""
    counts = tx.all(_COUNT_LIVE)[0]
    return {state.value: int(count) for state, count in zip(sorted(LIVE), counts, strict=True)}
