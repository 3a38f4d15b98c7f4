"""Who works on a run: claim, renew, settle, release, lose, reap. Every write is fenced by epoch and owner."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from corral.domain.event import EventDraft, EventKind
from corral.domain.ids import Owner, new_id
from corral.domain.job import Priority, Strategy
from corral.domain.queues import Hint, Lane, queue_of
from corral.domain.run import CRAWL, EVERY_LANE, SHARE, HoldReason, Lanes, Lease, Move, Run, RunState, target
from corral.domain.session import SealedSession
from corral.domain.settlement import Settlement
from corral.store import artifacts, events, interventions, sessions
from corral.store.rows import run_of, storable, to_json
from corral.store.tables import records, runs
from corral.store.tx import Row, Tx, insert_all, is_state, param, values

_QUEUED = is_state(runs.c.state, RunState.QUEUED)
RUNNING = is_state(runs.c.state, RunState.RUNNING)
HELD_BY_ME = (
    runs.c.id == param("id"),
    runs.c.epoch == param("epoch"),
    runs.c.owner == param("owner"),
    RUNNING,
)

TAKEN = {
    "state": target(Move.CLAIM).value,
    "epoch": runs.c.epoch + 1,
    "owner": param("owner"),
    "lease_until": param("lease_until"),
    "started_at": sa.func.coalesce(runs.c.started_at, param("wall")),
    "seq": runs.c.seq + 1,
    "waiting_reason": sa.null(),
    "waiting_host": sa.null(),
}

_IS_BROWSER = is_state(runs.c.resolved_strategy, Strategy.BROWSER)
_IS_CRAWL = is_state(runs.c.kind, CRAWL)
_IS_LIGHT = sa.and_(
    runs.c.resolved_strategy != sa.literal_column(f"'{Strategy.BROWSER.value}'"),
    runs.c.kind != sa.literal_column(f"'{CRAWL}'"),
    runs.c.kind != sa.literal_column(f"'{SHARE}'"),  # see share_claims
)


def claim_in(lane: sa.ColumnElement[bool]) -> sa.Update:
    """The oldest due runs of one band; a future due time ends the range instead of being skipped row by row."""
    next_in_band = (
        sa.select(runs.c.id)
        .where(_QUEUED, lane, runs.c.priority == param("band"), runs.c.due_at <= param("now"))
        .order_by(runs.c.priority, runs.c.due_at, runs.c.id)
        .limit(param("limit"))
        .with_for_update(skip_locked=True)
        # Apart from the UPDATE, so that it runs once: a subquery may be run again for each row it is joined to,
        # and then skips what it has locked itself and takes more than the limit.
        .cte("next_in_band")
    )
    return sa.update(runs).where(runs.c.id.in_(sa.select(next_in_band.c.id))).values(TAKEN).returning(runs)


# Lanes with an index each: a queue of pages for the browser, or of crawls, does not stand in the way of the others.
_IN_LANE = {
    Lane.LIGHT: _IS_LIGHT,
    Lane.BROWSER: sa.and_(_IS_BROWSER, runs.c.kind != sa.literal_column(f"'{CRAWL}'")),
    Lane.CRAWL: _IS_CRAWL,
}
_CLAIM_IN = {lane: claim_in(condition) for lane, condition in _IN_LANE.items()}
# One named run, for whoever was asked to execute just this one.
_CLAIM_ONE = (
    sa.update(runs)
    .where(runs.c.id == param("id"), _QUEUED, runs.c.due_at <= param("now"))
    .values(TAKEN)
    .returning(runs)
)
# Whose lane has changed since it was asked for is not taken: the room was for another one.
_CLAIM_ASKED = {lane: _CLAIM_ONE.where(condition) for lane, condition in _IN_LANE.items()}


def _due_again_in(lane: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Runs that were claimed before and wait for a new time: nobody has told anybody that it has come."""
    return (
        sa.select(runs.c.id, runs.c.kind, runs.c.resolved_strategy, runs.c.epoch)
        .where(_QUEUED, lane, runs.c.priority == param("band"), runs.c.due_at.between(param("since"), param("now")))
        .where(runs.c.epoch > 0)
        .order_by(runs.c.due_at)
        .limit(param("limit"))
    )


_DUE_AGAIN = {lane: _due_again_in(condition) for lane, condition in _IN_LANE.items()}
_RENEW = sa.update(runs).where(*HELD_BY_ME).values(lease_until=param("lease_until")).returning(runs.c.id, runs.c.epoch)
# The owner stays on the row: a repeated settle whose answer was lost can tell that it was its own.
_SETTLED = (
    sa.update(runs)
    .where(*HELD_BY_ME)
    .values(
        state=param("state"),
        attempt=runs.c.attempt + param("more_attempts"),
        due_at=sa.case((param("is_retry") == 1, param("due_at")), else_=runs.c.due_at),
        resolved_strategy=sa.func.coalesce(param("strategy"), runs.c.resolved_strategy),
        hold_reason=param("hold_reason"),
        lease_until=sa.null(),
        suspect=0,
        finished_at=param("finished_at"),
        failure_code=param("failure_code"),
        failure_detail=param("failure_detail"),
        error_message=param("error_message"),
        stats=param("stats"),
        attempts=param("attempts"),
        seq=runs.c.seq + param("event_count"),
    )
)
_SETTLE = _SETTLED.returning(runs.c.seq)
# Nothing was added to its history since the claim: then the numbers of its next events are known without asking.
_SETTLE_UNTOUCHED = _SETTLED.where(runs.c.seq == param("seq"))
_RELEASE = (
    sa.update(runs)
    .where(*HELD_BY_ME)
    .values(state=target(Move.RELEASE).value, owner=sa.null(), lease_until=sa.null(), seq=runs.c.seq + 1)
    .returning(runs.c.seq)
)
_STATE_NOW = sa.select(runs.c.state, runs.c.epoch, runs.c.owner).where(runs.c.id == param("id"))
_NUMBER_STALE = sa.update(runs).where(runs.c.id == param("id")).values(seq=runs.c.seq + 1).returning(runs.c.seq)
_INSERT_RECORD = insert_all(records)
_IN_ORDER = itemgetter(*(runs.columns.keys().index(name) for name in ("priority", "due_at", "id")))


def claim(
    tx: Tx, owner: Owner, limit: int, lease_s: float, lanes: Lanes = EVERY_LANE, *, overdue_s: float = 0.0
) -> list[Lease]:
    """Up to `limit` due runs, strictly by band, oldest first inside a band; of each lane at most so many.

    With `overdue_s` only those that should have been claimed so long ago.
    """
    rows: list[Row] = []
    most = [(Lane.LIGHT, lanes.light), (Lane.BROWSER, lanes.browsers), (Lane.CRAWL, lanes.crawls)]
    due_by = tx.now_ms - round(overdue_s * 1000)
    room = {lane: limit if count is None else count for lane, count in most}
    taken = taken_values(tx, owner, lease_s)
    for band in Priority:
        for lane, left in room.items():
            wanted = min(limit - len(rows), left)
            if wanted > 0:
                found = tx.all(_CLAIM_IN[lane], {**taken, **values(band=int(band), now=due_by, limit=wanted)})
                rows += found
                room[lane] -= len(found)
        if len(rows) >= limit:
            break
    return started(tx, rows, owner)


def claim_one(tx: Tx, run_id: str, owner: Owner, lease_s: float) -> list[Lease]:
    taken = taken_values(tx, owner, lease_s)
    return started(tx, tx.all(_CLAIM_ONE, {**taken, **values(id=run_id, now=tx.now_ms)}), owner)


def claim_asked(tx: Tx, asked: Sequence[tuple[str, Lane]], owner: Owner, lease_s: float) -> list[Lease]:
    """Those of these runs that are due and nobody's."""
    taken = {**taken_values(tx, owner, lease_s), **values(now=tx.now_ms)}
    rows: list[Row] = []
    for lane, statement in _CLAIM_ASKED.items():
        # In one order for everybody, so that two claims of the same rows cannot block each other.
        ids = sorted({run_id for run_id, in_lane in asked if in_lane is lane})
        if ids:
            found = tx.many_returning(statement, [{**taken, **values(id=run_id)} for run_id in ids])
            rows += [row for row in found if row is not None]
    return started(tx, rows, owner)


def due_again(tx: Tx, within_s: float, limit: int) -> list[Hint]:
    """Runs that wait anew and have become due a moment ago."""
    window = values(since=tx.now_ms - round(within_s * 1000), now=tx.now_ms, limit=limit)
    found = [
        Hint(row[0], queue_of(row[1], Strategy(row[2])), lane, band, row[3])
        for band in list(Priority)
        for lane, statement in _DUE_AGAIN.items()
        for row in tx.all(statement, {**window, **values(band=int(band))})
    ]
    return found[:limit]


def taken_values(tx: Tx, owner: Owner, lease_s: float) -> dict[str, Any]:
    return values(owner=owner, lease_until=tx.now_ms + round(lease_s * 1000), wall=tx.wall_ms)


def started(tx: Tx, rows: list[Row], owner: Owner) -> list[Lease]:
    # RETURNING promises no order; the caller starts them in the order they were due.
    rows.sort(key=_IN_ORDER)
    leases: list[Lease] = []
    history: list[dict[str, Any]] = []
    for row in rows:
        run, seq = run_of(row), row[-1]
        meta = {"attempt": run.attempt, "strategy": run.resolved_strategy.value, "epoch": run.epoch}
        history += events.rows_for(run.id, seq, [EventDraft(EventKind.STARTED, meta)], tx.wall_ms)
        leases.append(Lease(run, owner, _session(tx, run), seq))
    events.insert(tx, history)
    return leases


def _session(tx: Tx, run: Run) -> SealedSession | None:
    """The login a run needs is read with its claim: whoever executes it never asks the database."""
    if run.job_id is None or not run.payload.get("requires_auth"):
        return None
    return sessions.newest_sealed(tx, run.job_id)


def renew(tx: Tx, leases: Sequence[tuple[str, int]], owner: Owner, lease_s: float) -> set[tuple[str, int]]:
    """Prolong what is still mine; what is missing from the answer was taken away."""
    until = tx.now_ms + round(lease_s * 1000)
    # In one order for everybody, so that two renewals of the same rows cannot block each other.
    wanted = [values(id=id_, epoch=epoch, owner=owner, lease_until=until) for id_, epoch in sorted(leases)]
    rows = tx.many_returning(_RENEW, wanted)
    return {(row[0], row[1]) for row in rows if row is not None}


def settle(tx: Tx, settlement: Settlement) -> bool:
    """Write the transition, its events and its records; False where the lease was lost: nothing is written."""
    return settle_all(tx, [settlement])[0]


def settle_all(tx: Tx, settlements: Sequence[Settlement]) -> list[bool]:
    """The same for many, each for itself: one that lost its lease does not keep the others from being written."""
    given = [_settle_values(tx, settlement) for settlement in settlements]
    if tx.every(_SETTLE_UNTOUCHED, given):
        ends = [settlement.lease.seq + len(settlement.transition.events) for settlement in settlements]
        _write_beside(tx, settlements, ends)
        return [True] * len(settlements)
    rows = tx.many_returning(_SETTLE, given)
    landed = [(settlement, row[0]) for settlement, row in zip(settlements, rows, strict=True) if row is not None]
    _write_beside(tx, [settlement for settlement, _ in landed], [seq for _, seq in landed])
    return [
        row is not None or _was_mine_already(tx, settlement) or _refused(tx, settlement.lease)
        for settlement, row in zip(settlements, rows, strict=True)
    ]


def _write_beside(tx: Tx, settlements: Sequence[Settlement], last_seqs: Sequence[int]) -> None:
    """What belongs to settled runs: events up to these numbers, records, what a person has to do."""
    history: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for settlement, last_seq in zip(settlements, last_seqs, strict=True):
        history += events.rows_for(settlement.lease.run_id, last_seq, settlement.transition.events, tx.wall_ms)
        results += _record_rows(tx, settlement)
    events.insert(tx, history)
    if results:
        tx.many(_INSERT_RECORD, results)
    artifacts.name_all(tx, settlements)
    interventions.open_for(tx, settlements)


def _settle_values(tx: Tx, settlement: Settlement) -> dict[str, Any]:
    lease, transition = settlement.lease, settlement.transition
    failure = transition.failure
    is_retry = transition.move is Move.RETRY
    return values(
        id=lease.run_id,
        epoch=lease.epoch,
        owner=lease.owner,
        seq=lease.seq,
        state=transition.to.value,
        more_attempts=1 if is_retry else 0,
        is_retry=1 if is_retry else 0,
        due_at=tx.now_ms + round(transition.due_in_s * 1000),
        strategy=transition.strategy.value if transition.strategy else None,
        hold_reason=HoldReason.WAITING_FOR_HUMAN.value if transition.move is Move.HOLD else None,
        finished_at=tx.wall_ms if transition.to.is_terminal else None,
        failure_code=failure.code.value if failure else None,
        failure_detail=storable(failure.detail) if failure and failure.detail else None,
        error_message=storable(failure.message[:8192]) if failure else None,
        stats=to_json(transition.stats),
        attempts=to_json([*lease.run.attempts, settlement.attempt_entry]),
        event_count=len(transition.events),
    )


def _record_rows(tx: Tx, settlement: Settlement) -> list[dict[str, Any]]:
    run = settlement.lease.run
    return [
        values(
            id=new_id(),
            run_id=run.id,
            job_id=run.job_id,
            item_key=str(number),
            data=to_json(data),
            created_at=tx.wall_ms,
        )
        for number, data in enumerate(settlement.transition.records)
    ]


def _was_mine_already(tx: Tx, settlement: Settlement) -> bool:
    """True where this very settle was committed before and only its answer was lost."""
    lease = settlement.lease
    rows = tx.all(_STATE_NOW, values(id=lease.run_id))
    expected = (settlement.transition.to.value, lease.epoch, lease.owner)
    return bool(rows) and tuple(rows[0]) == expected


def _refused(tx: Tx, lease: Lease) -> bool:
    """Put on record that somebody without the lease tried to write; always False."""
    [row] = tx.many_returning(_NUMBER_STALE, [values(id=lease.run_id)])
    if row is not None:
        draft = EventDraft(EventKind.STALE_WRITE_REFUSED, {"epoch": lease.epoch})
        events.insert(tx, events.rows_for(lease.run_id, row[0], [draft], tx.wall_ms))
    return False


def release(tx: Tx, leases: Sequence[Lease], reason: str) -> int:
    """Give runs back untouched: queued where they stood, the attempt not counted."""
    rows = tx.many_returning(_RELEASE, [held(lease) for lease in leases])
    history: list[dict[str, Any]] = []
    for lease, row in zip(leases, rows, strict=True):
        if row is not None:
            draft = EventDraft(EventKind.RELEASED, {"reason": reason})
            history += events.rows_for(lease.run_id, row[0], [draft], tx.wall_ms)
    events.insert(tx, history)
    return len(history)


def held(lease: Lease) -> dict[str, Any]:
    return values(id=lease.run_id, epoch=lease.epoch, owner=lease.owner)
