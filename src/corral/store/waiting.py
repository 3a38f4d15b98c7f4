"""Runs that wait for their host: set aside, so that no claim meets them, and woken when the host has room."""

from collections.abc import Sequence

import sqlalchemy as sa

from corral.domain.claiming import HostRoom, Waiting
from corral.domain.event import EventDraft, EventKind
from corral.domain.gate import WaitReason
from corral.domain.run import RunState
from corral.store import events
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
_next = (
    sa.select(runs.c.id)
    .where(*_WAITS_FOR, runs.c.due_at <= param("now"))
    .order_by(runs.c.priority, runs.c.due_at, runs.c.id)
    .limit(param("limit"))
    .with_for_update(skip_locked=True)
    # A CTE runs once; a subquery may run again for each row and skip what it has locked itself.
    .cte("next_waiting")
)
# The due time stays as it was: a run that waited for its host has not lost its place in the queue.
_WAKE = (
    sa.update(runs).where(runs.c.id.in_(sa.select(_next.c.id))).values(waiting_host=sa.null(), waiting_reason=sa.null())
)


def set_aside(tx: Tx, waiting: Sequence[Waiting]) -> None:
    """Full slots are ordinary and leave no event; a host that refuses to be asked does."""
    rows = tx.many_returning(
        _SET_ASIDE,
        [
            values(id=each.id, host_key=each.host_key, reason=each.reason.value, event_count=int(_is_told(each.reason)))
            for each in waiting
        ],
    )
    history = []
    for each, row in zip(waiting, rows, strict=True):
        if row is not None and _is_told(each.reason):
            draft = EventDraft(EventKind.HOST_WAITS, {"waiting_reason": each.reason.value, "host": each.host_key})
            history += events.rows_for(row[0], row[1], [draft], tx.wall_ms)
    events.insert(tx, history)


def _is_told(reason: WaitReason) -> bool:
    return reason is not WaitReason.BUSY


def wake_all(tx: Tx, hosts: HostRoom) -> None:
    """Let as many runs be claimed again as their hosts have room for; the oldest first."""
    for host_key, room in hosts.waiting().items():
        hosts.note_woken(host_key, tx.run(_WAKE, values(host_key=host_key, limit=room, now=tx.now_ms)))
