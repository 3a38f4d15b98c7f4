"""Leases on runs: claim, renew, settle, release. Every write is fenced by epoch and owner."""

from collections.abc import Sequence
from itertools import zip_longest
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from corral.domain.hosts.claiming import (
    ANY_HOST,
    MAX_SET_ASIDE,
    Candidate,
    HostRoom,
    LaneRoom,
    choose,
    choose_suspects,
)
from corral.domain.ids import Owner
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.records.changes import fields_to_ignore
from corral.domain.records.key_problems import report_key_problems
from corral.domain.records.row_key import ROW_KEYS, RowKeys, choose_row_keys, digest_of
from corral.domain.redaction import redact
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.loss import Suspicion
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.queues import Hint, Lane, lane_of, queue_of
from corral.domain.runs.run import CRAWL_HELPER, EVERY_LANE, HoldReason, Lanes, Lease, Run, RunAction, RunState, target
from corral.domain.runs.settlement import Settlement
from corral.domain.sites.session import SealedSession
from corral.runtime.new_ids import new_id
from corral.store.indexes import LANES
from corral.store.queries import artifacts, events
from corral.store.queries.runs import data_verdicts, interventions, waiting
from corral.store.queries.sites import sessions
from corral.store.rows import from_json, run_of, storable, to_json
from corral.store.tables import records, runs
from corral.store.tx import Row, Tx, insert_all, is_state, param, values

_Keys = dict[tuple[str, int], RowKeys]  # by the key of the lease
_NO_KEYS = RowKeys(())

_QUEUED = is_state(runs.c.state, RunState.QUEUED)
RUNNING = is_state(runs.c.state, RunState.RUNNING)
HELD_BY_ME = (
    runs.c.id == param("id"),
    runs.c.epoch == param("epoch"),
    runs.c.owner == param("owner"),
    RUNNING,
)

CLAIM_VALUES = {
    "state": target(RunAction.CLAIM).value,
    "epoch": runs.c.epoch + 1,
    "owner": param("owner"),
    "lease_until": param("lease_until"),
    "started_at": sa.func.coalesce(runs.c.started_at, param("wall")),
    "seq": runs.c.seq + 1,
    "waiting_reason": sa.null(),
    "waiting_host": sa.null(),
}

_IS_QUEUED_NOW = (_QUEUED, runs.c.waiting_host.is_(None), runs.c.due_at <= param("now"))
_NOT_SUSPECT = runs.c.suspect == sa.literal_column("0")
_ORDER = (runs.c.priority, runs.c.due_at, runs.c.id)
# Each lane has its own index, so that a long queue of browser pages or crawls does not slow down the others.
_IN_LANE = {lane: sa.text(LANES[lane.value]) for lane in Lane}
_CANDIDATES = {
    lane: sa.select(runs.c.due_at, runs.c.id, runs.c.host_key)
    .where(*_IS_QUEUED_NOW, _NOT_SUSPECT, condition, runs.c.priority == param("band"))
    .order_by(*_ORDER)
    .limit(param("limit"))
    .with_for_update(skip_locked=True)
    for lane, condition in _IN_LANE.items()
}
_IS_NO_HELPER = runs.c.kind != sa.literal_column(f"'{CRAWL_HELPER}'")
_SUSPECTS = (
    sa.select(runs.c.due_at, runs.c.id, runs.c.host_key, runs.c.suspect, runs.c.kind, runs.c.resolved_strategy)
    .where(
        *_IS_QUEUED_NOW, runs.c.suspect > sa.literal_column("0"), runs.c.kind != sa.literal_column(f"'{CRAWL_HELPER}'")
    )
    .order_by(*_ORDER)
    .limit(param("limit"))
    .with_for_update(skip_locked=True)
)
_CLAIM_ONE = sa.update(runs).where(runs.c.id == param("id"), *_IS_QUEUED_NOW).values(CLAIM_VALUES).returning(runs)
# Candidates per statement, once some of them had to wait for a host.
_LOOK_AHEAD = 500


def _due_again_in(lane: sa.TextClause) -> sa.Select[Any]:
    """Select runs that were claimed before and requeued for a later time, which no message announces."""
    return (
        sa.select(runs.c.id, runs.c.kind, runs.c.resolved_strategy, runs.c.epoch)
        .where(_QUEUED, lane, runs.c.priority == param("band"), runs.c.due_at.between(param("since"), param("now")))
        .where(runs.c.epoch > 0)
        .order_by(runs.c.due_at)
        .limit(param("limit"))
    )


_DUE_AGAIN = {lane: _due_again_in(condition) for lane, condition in _IN_LANE.items()}
_RENEW = sa.update(runs).where(*HELD_BY_ME).values(lease_until=param("lease_until")).returning(runs.c.id, runs.c.epoch)
# The owner stays in the row, so that a repeated settle whose answer was lost recognizes its own write.
_SETTLED = (
    sa.update(runs)
    .where(*HELD_BY_ME)
    .values(
        state=param("state"),
        attempt=runs.c.attempt + param("more_attempts"),
        due_at=sa.case((param("has_pause") == 1, param("due_at")), else_=runs.c.due_at),
        resolved_strategy=sa.func.coalesce(param("strategy"), runs.c.resolved_strategy),
        hold_reason=param("hold_reason"),
        lease_until=sa.null(),
        suspect=0,
        interruptions=0,
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
# If no event was added since the claim, the numbers of the next events are known without a read.
_SETTLE_UNTOUCHED = _SETTLED.where(runs.c.seq == param("seq"))
_NOTE_PROGRESS = sa.update(runs).where(*HELD_BY_ME).values(stats=param("stats"))
_RELEASE = (
    sa.update(runs)
    .where(*HELD_BY_ME)
    .values(state=target(RunAction.RELEASE).value, owner=sa.null(), lease_until=sa.null(), seq=runs.c.seq + 1)
    .returning(runs.c.seq)
)
_STATE_NOW = sa.select(runs.c.state, runs.c.epoch, runs.c.owner).where(runs.c.id == param("id"))
_NUMBER_STALE = sa.update(runs).where(runs.c.id == param("id")).values(seq=runs.c.seq + 1).returning(runs.c.seq)
_INSERT_RECORD = insert_all(records)
_IN_ORDER = itemgetter(*(runs.columns.keys().index(name) for name in ("priority", "due_at", "id")))


def claim(  # noqa: PLR0917 - who claims, how much, and within which limits
    tx: Tx, owner: Owner, limit: int, lease_s: float, lanes: Lanes = EVERY_LANE, hosts: HostRoom = ANY_HOST
) -> list[Lease]:
    """Lease up to `limit` due runs: strictly by band, oldest first within a band, within the limits of lanes and hosts.

    Suspects are extra: as many as one isolation worker takes.
    """
    waiting.wake_all(tx, hosts, lanes)
    params = {**claim_params(tx, owner, lease_s), **values(now=tx.now_ms)}
    room = LaneRoom(limit, lanes)
    rows = take(tx, _suspects(tx, lanes, hosts), params)
    for band in Priority:
        if room.total > 0:
            rows += _claim_in(tx, band, room, hosts, params)
    return start_leases(tx, rows, owner)


def _claim_in(tx: Tx, band: Priority, room: LaneRoom, hosts: HostRoom, params: dict[str, Any]) -> list[Row]:
    """Claim from one band. Runs whose host has no room are set aside, so that the next claim skips them."""
    rows: list[Row] = []
    look_ahead, set_aside = 0, 0
    while room.total > 0 and set_aside < MAX_SET_ASIDE:
        chosen, busy = choose(_candidates(tx, band, room, look_ahead), room, hosts)
        rows += take(tx, chosen, params)
        if not busy:
            break
        waiting.set_aside(tx, busy)
        set_aside += len(busy)
        look_ahead = _LOOK_AHEAD
    return rows


def take(tx: Tx, chosen: Sequence[Candidate], params: dict[str, Any]) -> list[Row]:
    # In the same order for every caller, so that two claims of the same rows cannot deadlock.
    ids = sorted(each.id for each in chosen)
    rows = tx.many_returning(_CLAIM_ONE, [{**params, **values(id=run_id)} for run_id in ids])
    return [row for row in rows if row is not None]


def _candidates(tx: Tx, band: Priority, room: LaneRoom, at_least: int) -> list[Candidate]:
    """Return candidates of every lane with room, by age: no lane is served before an older run of another one."""
    params = values(band=int(band), now=tx.now_ms)
    return sorted(
        Candidate(row[0], row[1], lane, row[2])
        for lane, statement in _CANDIDATES.items()
        if room.of(lane) > 0
        for row in tx.all(statement, {**params, **values(limit=max(at_least, room.of(lane)))})
    )


def _suspects(tx: Tx, lanes: Lanes, hosts: HostRoom) -> list[Candidate]:
    if lanes.suspects == 0:
        return []
    found = [
        Candidate(row[0], row[1], lane_of(row[4], Strategy(row[5])), row[2], Suspicion(row[3]))
        for row in tx.all(_SUSPECTS, values(now=tx.now_ms, limit=_LOOK_AHEAD))
    ]
    chosen, busy = choose(choose_suspects(found, lanes), LaneRoom(len(found), lanes), hosts)
    waiting.set_aside(tx, busy)
    return chosen


def claim_one(tx: Tx, run_id: str, owner: Owner, lease_s: float, hosts: HostRoom = ANY_HOST) -> list[Lease]:
    """Lease one run by id, for a caller that executes only this one."""
    waiting.wake_all(tx, hosts, EVERY_LANE)
    params = claim_params(tx, owner, lease_s)
    return start_leases(tx, tx.all(_CLAIM_ONE, {**params, **values(id=run_id, now=tx.now_ms)}), owner)


def due_again(tx: Tx, within_s: float, limit: int) -> list[Hint]:
    """Return requeued runs that became due within this time."""
    window = values(since=tx.now_ms - round(within_s * 1000), now=tx.now_ms, limit=limit)
    found = [
        Hint(row[0], queue_of(row[1], Strategy(row[2])), lane, band, row[3])
        for band in list(Priority)
        for lane, statement in _DUE_AGAIN.items()
        for row in tx.all(statement, {**window, **values(band=int(band))})
    ]
    return found[:limit]


def claim_params(tx: Tx, owner: Owner, lease_s: float) -> dict[str, Any]:
    return values(owner=owner, lease_until=tx.now_ms + round(lease_s * 1000), wall=tx.wall_ms)


def start_leases(tx: Tx, rows: list[Row], owner: Owner) -> list[Lease]:
    # RETURNING has no order; the caller starts the runs in the order of their due times.
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
    """Return the session a run needs. It is read with the claim, because workers have no access to the database."""
    if run.job_id is None or not run.payload.read(CommonPayload).requires_auth:
        return None
    return sessions.newest_sealed(tx, run.job_id)


def renew(tx: Tx, leases: Sequence[tuple[str, int]], owner: Owner, lease_s: float) -> set[tuple[str, int]]:
    """Renew the leases that are still held; a lease missing from the result was lost."""
    until = tx.now_ms + round(lease_s * 1000)
    # In the same order for every caller, so that two renewals of the same rows cannot deadlock.
    wanted = [values(id=id_, epoch=epoch, owner=owner, lease_until=until) for id_, epoch in sorted(leases)]
    rows = tx.many_returning(_RENEW, wanted)
    return {(row[0], row[1]) for row in rows if row is not None}


def settle_all(tx: Tx, settlements: Sequence[Settlement]) -> list[bool]:
    """Write transitions with their events and records; False for a settlement whose lease was lost: nothing is written.

    One lost lease does not keep the others from being written.
    """
    keys = {each.lease.key: _row_keys(each) for each in settlements}
    settlements, judging = data_verdicts.judge_all(tx, [_report_keys(each, keys) for each in settlements])
    params = [_settle_values(tx, settlement, keys) for settlement in settlements]
    if tx.every(_SETTLE_UNTOUCHED, params):
        ends = [settlement.lease.seq + len(settlement.transition.events) for settlement in settlements]
        _write_results(tx, settlements, ends, keys)
        judging.write(tx, settlements)
        return [True] * len(settlements)
    rows = tx.many_returning(_SETTLE, params)
    landed = [(settlement, row[0]) for settlement, row in zip(settlements, rows, strict=True) if row is not None]
    _write_results(tx, [settlement for settlement, _ in landed], [seq for _, seq in landed], keys)
    # Only settlements written now count: the data of a repeated settle was learned before.
    judging.write(tx, [settlement for settlement, _ in landed])
    return [
        row is not None or _was_settled_before(tx, settlement) or _record_stale_write(tx, settlement.lease)
        for settlement, row in zip(settlements, rows, strict=True)
    ]


def _write_results(tx: Tx, settlements: Sequence[Settlement], last_seqs: Sequence[int], keys: _Keys) -> None:
    """Write the events up to these numbers, the records, artifacts and interventions of settled runs."""
    history: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for settlement, last_seq in zip(settlements, last_seqs, strict=True):
        history += events.rows_for(settlement.lease.run_id, last_seq, settlement.transition.events, tx.wall_ms)
        if settlement.transition.records or settlement.transition.details:
            results += _record_rows(tx, settlement, keys[settlement.lease.key])
    events.insert(tx, history)
    if results:
        tx.many(_INSERT_RECORD, results)
    artifacts.add_all(tx, settlements)
    interventions.open_for(tx, settlements)


def _settle_values(tx: Tx, settlement: Settlement, keys: _Keys) -> dict[str, Any]:
    lease, transition = settlement.lease, settlement.transition
    failure = transition.failure
    is_retry = transition.action is RunAction.RETRY
    return values(
        id=lease.run_id,
        epoch=lease.epoch,
        owner=lease.owner,
        seq=lease.seq,
        state=transition.to.value,
        more_attempts=1 if is_retry else 0,
        has_pause=1 if is_retry or transition.due_in_s > 0 else 0,
        due_at=tx.now_ms + round(transition.due_in_s * 1000),
        strategy=transition.strategy.value if transition.strategy else None,
        hold_reason=HoldReason.WAITING_FOR_HUMAN.value if transition.action is RunAction.HOLD else None,
        finished_at=tx.wall_ms if transition.to.is_terminal else None,
        failure_code=failure.code.value if failure else None,
        failure_detail=storable(failure.detail) if failure and failure.detail else None,
        error_message=storable(failure.message[:8192]) if failure else None,
        stats=to_json({**transition.stats, **keys[lease.key].stats}),
        attempts=to_json([*lease.run.attempts, settlement.attempt_entry]),
        event_count=len(transition.events),
    )


def _record_rows(tx: Tx, settlement: Settlement, keys: RowKeys) -> list[dict[str, Any]]:
    run, transition = settlement.lease.run, settlement.transition
    ignored = fields_to_ignore(run) if run.job_id is not None else ()
    rows = []
    for number, (data, details) in enumerate(zip_longest(transition.records, transition.details)):
        text = to_json(data)
        rows.append(
            values(
                id=new_id(),
                run_id=run.id,
                job_id=run.job_id,
                item_key=str(number),
                data=text,
                created_at=tx.wall_ms,
                details=to_json(details) if details else None,
                row_key=keys.keys[number] if number < len(keys.keys) else None,
                digest=None if run.job_id is None or data is None else digest_of(from_json(text), ignored),
            )
        )
    return rows


def _report_keys(settlement: Settlement, keys: _Keys) -> Settlement:
    stats = {**settlement.transition.stats, **keys[settlement.lease.key].stats}
    if not stats.get(ROW_KEYS):
        return settlement
    return settlement._replace(transition=report_key_problems(settlement.transition, stats))


def _row_keys(settlement: Settlement) -> RowKeys:
    run = settlement.lease.run
    if run.job_id is None or not settlement.transition.records:
        return _NO_KEYS
    page = run.payload.read(PagePayload)
    # The URL may contain a secret, which only the record itself may show.
    return choose_row_keys(settlement.transition.records, page.record_key, redact(page.url))


def _was_settled_before(tx: Tx, settlement: Settlement) -> bool:
    """Return whether this settlement was committed before and only the answer was lost."""
    lease = settlement.lease
    rows = tx.all(_STATE_NOW, values(id=lease.run_id))
    # A repetition is judged again by a history that may have grown, so it can end in either state.
    states = {settlement.transition.to.value} | ({"completed", "partial"} if settlement.data is not None else set())
    return bool(rows) and rows[0][0] in states and tuple(rows[0][1:]) == (lease.epoch, lease.owner)


def _record_stale_write(tx: Tx, lease: Lease) -> bool:
    """Record a write attempt without the lease; return False."""
    [row] = tx.many_returning(_NUMBER_STALE, [values(id=lease.run_id)])
    if row is not None:
        draft = EventDraft(EventKind.STALE_WRITE_REFUSED, {"epoch": lease.epoch})
        events.insert(tx, events.rows_for(lease.run_id, row[0], [draft], tx.wall_ms))
    return False


def note_progress(tx: Tx, lease: Lease, stats: dict[str, Any]) -> None:
    tx.run(_NOTE_PROGRESS, {**lease_params(lease), **values(stats=to_json(stats))})


def release(tx: Tx, leases: Sequence[Lease], reason: str) -> int:
    """Requeue runs at their old position, without counting the attempt."""
    rows = tx.many_returning(_RELEASE, [lease_params(lease) for lease in leases])
    history: list[dict[str, Any]] = []
    for lease, row in zip(leases, rows, strict=True):
        if row is not None:
            draft = EventDraft(EventKind.RELEASED, {"reason": reason})
            history += events.rows_for(lease.run_id, row[0], [draft], tx.wall_ms)
    events.insert(tx, history)
    return len(history)


def lease_params(lease: Lease) -> dict[str, Any]:
    return values(id=lease.run_id, epoch=lease.epoch, owner=lease.owner)
