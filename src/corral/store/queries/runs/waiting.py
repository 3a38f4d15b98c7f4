"""Runs that wait for their host: they are set aside, so that no claim reads them, and woken when the host has room."""

import math
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.hosts.claiming import HostRoom, LaneRoom, WaitingRun
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.outcome import WaitReason
from corral.domain.runs.queues import Lane
from corral.domain.runs.run import Lanes, RunState
from corral.store.indexes import IN_LANE
from corral.store.queries import events
from corral.store.tables import runs
from corral.store.tx import Tx, is_state, param, values

_QUEUED = is_state(runs.c.state, RunState.QUEUED)
_WAITS_FOR = (_QUEUED, runs.c.waiting_host == param("host_key"))
_SET_ASIDE = (
    sa.update(runs)
    .where(runs.c.id == param("id"), _QUEUED)
    .values(waiting_host=param("host_key"), waiting_reason=param("reason"), seq=runs.c.seq + param("event_count"))
    .returning(runs.c.id, runs.c.seq)
)
# Only runs that this claim can take: others would use up the host's room and stay in the queue.
_IN_CLAIMED_LANE = sa.or_(
    *(sa.and_(param(lane.value) == 1, sa.text(IN_LANE[lane.value])) for lane in Lane),
)
_IS_CLAIMABLE = sa.or_(runs.c.suspect == sa.literal_column("0"), param("suspects") == 1)
_next = (
    sa.select(runs.c.id)
    .where(*_WAITS_FOR, runs.c.due_at <= param("now"), _IN_CLAIMED_LANE, _IS_CLAIMABLE)
    .order_by(runs.c.priority, runs.c.due_at, runs.c.id)
    .limit(param("limit"))
    .with_for_update(skip_locked=True)
    # A CTE runs once; a subquery may run again for each row and skip the rows that it has locked itself.
    .cte("next_waiting")
)
# The due time is unchanged, so a run that waited for its host keeps its position in the queue.
_WAKE = (
    sa.update(runs).where(runs.c.id.in_(sa.select(_next.c.id))).values(waiting_host=sa.null(), waiting_reason=sa.null())
)
# Skips from host to host along the index: the cost grows with the number of hosts, not of runs. Ordered like the index,
# with a limit: for MIN(waiting_host), PostgreSQL reads every waiting run if its statistics expect few.
WAITED_FOR = sa.text("""
    WITH RECURSIVE next_host (host) AS (
        SELECT (
            SELECT waiting_host FROM runs WHERE state = 'queued' AND waiting_host IS NOT NULL
            ORDER BY waiting_host, priority, due_at, id LIMIT 1
        )
        UNION ALL
        SELECT (
            SELECT waiting_host FROM runs WHERE state = 'queued' AND waiting_host > next_host.host
            ORDER BY waiting_host, priority, due_at, id LIMIT 1
        )
        FROM next_host WHERE next_host.host IS NOT NULL
    )
    SELECT host FROM next_host WHERE host IS NOT NULL
""")


def set_aside(tx: Tx, waiting: Sequence[WaitingRun]) -> None:
    """Set runs aside. A host without a free slot is normal and adds no event; a host that defers requests does."""
    drafts = [_describe(each) for each in waiting]
    rows = tx.many_returning(
        _SET_ASIDE,
        [
            values(id=each.id, host_key=each.host_key, reason=each.wait.reason.value, event_count=len(draft))
            for each, draft in zip(waiting, drafts, strict=True)
        ],
    )
    history: list[dict[str, Any]] = []
    for draft, row in zip(drafts, rows, strict=True):
        if row is not None:
            history += events.rows_for(row[0], row[1], draft, tx.wall_ms)
    events.insert(tx, history)


def _describe(waiting: WaitingRun) -> list[EventDraft]:
    reason, seconds = waiting.wait
    if reason is WaitReason.BUSY:
        return []
    meta: dict[str, Any] = {"waiting_reason": reason.value, "host": waiting.host_key}
    if math.isfinite(seconds):
        meta["wait_s"] = round(seconds, 3)
    return [EventDraft(EventKind.HOST_DEFERRED, meta)]


def wake_all(tx: Tx, hosts: HostRoom, lanes: Lanes) -> None:
    """Make as many runs claimable as their hosts have room for: oldest first, in lanes with room.

    Each claim reads the hosts that runs wait for: another node may just have set runs aside, and a claim without that
    knowledge would take younger runs of the same host.
    """
    waited_for = [row[0] for row in tx.all(WAITED_FOR)]
    room_of = LaneRoom(1, lanes)
    flags = {lane.value: int(room_of.of(lane) > 0) for lane in Lane} | {"suspects": int(lanes.suspects != 0)}
    for host_key, room in hosts.find_room(waited_for).items():
        tx.run(_WAKE, values(host_key=host_key, limit=room, now=tx.now_ms, **flags))
