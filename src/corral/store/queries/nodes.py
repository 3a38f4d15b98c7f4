"""The registered nodes and the runs they hold, by the clock of the database alone."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.ids import Owner
from corral.domain.runs.event import EventKind
from corral.domain.runs.node import FORGOTTEN_AFTER_S, LOST_AFTER_S, HeldRun, NodeInfo, NodeRole, NodeStatus
from corral.domain.runs.run import RunState
from corral.store.queries.hosts import quotas
from corral.store.rows import at, maybe_at
from corral.store.tables import events, nodes, runs
from corral.store.tx import Row, Tx, insert_params, is_state, param, values

_MAX_LISTED = 20

_INSERT = insert(nodes).values(insert_params(nodes))
# A node that was removed while it could not write gets its row back.
_SAVE = _INSERT.on_conflict_do_update(
    index_elements=["owner"],
    set_={name: _INSERT.excluded[name] for name in ("processes", "stopping", "seen_at")},
)
_DELETE = sa.delete(nodes).where(nodes.c.owner == param("owner"))
_FORGET = sa.delete(nodes).where(nodes.c.seen_at < param("before"))
_LISTED = sa.select(nodes).where(nodes.c.owner > param("after")).order_by(nodes.c.owner).limit(param("limit"))
_LIVE_QUEUES = sa.select(nodes.c.queues).where(nodes.c.seen_at >= param("since"), nodes.c.stopping == 0).distinct()
_RUNNING = is_state(runs.c.state, RunState.RUNNING)
# `started_at` of the run is the time of its first attempt.
_CLAIMED_AT = (
    sa.select(events.c.created_at)
    .where(events.c.run_id == runs.c.id, is_state(events.c.kind, EventKind.STARTED))
    .order_by(events.c.seq.desc())
    .limit(1)
    .scalar_subquery()
)
_HELD_COLUMNS = (runs.c.owner, runs.c.id, runs.c.kind, runs.c.job_id, _CLAIMED_AT.label("since"), runs.c.lease_until)
_COUNT_HELD = sa.select(runs.c.owner, sa.func.count()).where(_RUNNING).group_by(runs.c.owner)
_NUMBERED = (
    sa.select(runs.c.id, sa.func.row_number().over(partition_by=runs.c.owner, order_by=runs.c.id).label("number"))
    .where(_RUNNING)
    .subquery()
)
_FIRST_HELD = (
    sa.select(*_HELD_COLUMNS)
    .join(_NUMBERED, _NUMBERED.c.id == runs.c.id)
    .where(_NUMBERED.c.number <= _MAX_LISTED)
    .order_by(runs.c.id)
)
_HELD_BY = (
    sa.select(*_HELD_COLUMNS)
    .where(_RUNNING, runs.c.owner == param("owner"), runs.c.id > param("after"))
    .order_by(runs.c.id)
    .limit(param("limit"))
)


def save_heartbeat(tx: Tx, info: NodeInfo, processes: int, *, is_stopping: bool) -> None:
    """Insert or refresh the row of a node, and delete nodes that were not seen for an hour."""
    row = values(
        owner=info.owner,
        host=info.host,
        pid=info.pid,
        role=info.role.value,
        transport=info.transport,
        queues=",".join(info.queues),
        concurrency=info.concurrency,
        processes=processes,
        version=info.version,
        started_at=tx.now_ms,
        seen_at=tx.now_ms,
        stopping=int(is_stopping),
    )
    tx.run(_SAVE, row)
    tx.run(_FORGET, values(before=tx.now_ms - round(FORGOTTEN_AFTER_S * 1000)))


def remove(tx: Tx, owner: Owner) -> None:
    """Delete the row of a node, and its quotas at all hosts."""
    tx.run(_DELETE, values(owner=owner))
    quotas.drop_all(tx, owner)


def list_all(tx: Tx, after: str, limit: int) -> list[NodeStatus]:
    rows = tx.all(_LISTED, values(after=after, limit=limit))
    if not rows:
        return []
    counts = {row[0]: int(row[1]) for row in tx.all(_COUNT_HELD)}
    held: dict[str, list[HeldRun]] = {}
    for row in tx.all(_FIRST_HELD):
        held.setdefault(row[0], []).append(_to_held_run(tx, row))
    # A run may be claimed between the two queries.
    listed = {owner: tuple(runs_held) for owner, runs_held in held.items()}
    return [
        _status(tx, row, max(counts.get(row[0], 0), len(listed.get(row[0], ()))), listed.get(row[0], ()))
        for row in rows
    ]


def runs_of(tx: Tx, owner: str, after: str, limit: int) -> list[HeldRun]:
    return [_to_held_run(tx, row) for row in tx.all(_HELD_BY, values(owner=owner, after=after, limit=limit))]


def live_queues(tx: Tx) -> frozenset[str]:
    """Return the queues that live nodes serve."""
    rows = tx.all(_LIVE_QUEUES, values(since=tx.now_ms - round(LOST_AFTER_S * 1000)))
    return frozenset(name for row in rows for name in row[0].split(",") if name)


def _status(tx: Tx, row: Row, holding: int, held: tuple[HeldRun, ...]) -> NodeStatus:
    owner, host, pid, role, transport, queues, concurrency, processes, version, started_at, seen_at, stopping = row
    names = tuple(name for name in queues.split(",") if name)
    info = NodeInfo(Owner(owner), host, pid, NodeRole(role), transport, names, concurrency, version)
    seen_s = max(0.0, (tx.now_ms - seen_at) / 1000)
    return NodeStatus(info, processes, bool(stopping), at(started_at), seen_s, holding, held)


def _to_held_run(tx: Tx, row: Row) -> HeldRun:
    _, run_id, kind, job_id, since, lease_until = row
    return HeldRun(run_id, kind, job_id, maybe_at(since), ((lease_until or 0) - tx.now_ms) / 1000)
