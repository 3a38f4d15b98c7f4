"""The lengths of the queues, counted in the indexes that claims use, so that a long queue costs little."""

import sqlalchemy as sa

from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.node import Band, Neglect, QueueNow, find_neglected
from corral.domain.runs.queues import Queue, queue_of
from corral.domain.runs.run import CRAWL_HELPER, RunState
from corral.store.indexes import LANES
from corral.store.queries import nodes
from corral.store.tables import runs
from corral.store.tx import Tx, is_state, param, values

_QUEUED = is_state(runs.c.state, RunState.QUEUED)
# Crawls use the HTTP queue.
_QUEUE_OF_LANE = {"light": Queue.HTTP, "browser": Queue.BROWSER, "crawl": Queue.HTTP, "script": Queue.SCRIPT}
_IS_DUE = runs.c.due_at <= param("now")
_COUNT_LANE = {
    lane: sa.select(
        runs.c.priority,
        sa.func.coalesce(sa.func.sum(sa.case((_IS_DUE, 1), else_=0)), 0),
        sa.func.count(),
        sa.func.min(runs.c.due_at),
    )
    .where(_QUEUED, sa.text(what))
    .group_by(runs.c.priority)
    for lane, what in LANES.items()
}
_OLDEST_IN_LANE = {
    lane: sa.select(sa.func.min(runs.c.due_at)).where(_QUEUED, sa.text(what), runs.c.priority == param("band"))
    for lane, what in LANES.items()
}
_BY_QUEUE = (runs.c.priority, runs.c.kind, runs.c.resolved_strategy)
_COUNT_WAITING = (
    sa.select(*_BY_QUEUE, sa.func.count()).where(_QUEUED, runs.c.waiting_host.is_not(None)).group_by(*_BY_QUEUE)
)
_COUNT_SUSPECTS = (
    sa.select(*_BY_QUEUE, sa.func.count())
    .where(_QUEUED, runs.c.waiting_host.is_(None), runs.c.suspect > sa.literal_column("0"))
    .group_by(*_BY_QUEUE)
)
_COUNT_IN = {
    state: sa.select(*_BY_QUEUE, sa.func.count())
    .where(is_state(runs.c.state, state), runs.c.kind != sa.literal_column(f"'{CRAWL_HELPER}'"))
    .group_by(*_BY_QUEUE)
    for state in (RunState.HELD, RunState.RUNNING)
}

_BandKey = tuple[Queue, int]


class _Tally(dict[_BandKey, int]):
    def add(self, queue: Queue, priority: int, count: int) -> None:
        self[queue, priority] = self.get((queue, priority), 0) + count


def now(tx: Tx) -> list[QueueNow]:
    """Return every queue, with every band."""
    due, later, held, running = _Tally(), _Tally(), _Tally(), _Tally()
    oldest: dict[Queue, int] = {}
    for lane, statement in _COUNT_LANE.items():
        queue = _QUEUE_OF_LANE[lane]
        for priority, due_count, count, due_at in tx.all(statement, values(now=tx.now_ms)):
            due.add(queue, priority, int(due_count))
            later.add(queue, priority, int(count) - int(due_count))
            oldest[queue] = min(oldest.get(queue, due_at), due_at)
    for priority, kind, strategy, count in tx.all(_COUNT_WAITING):
        held.add(queue_of(kind, Strategy(strategy)), priority, int(count))
    for priority, kind, strategy, count in tx.all(_COUNT_SUSPECTS):
        due.add(queue_of(kind, Strategy(strategy)), priority, int(count))
    for state, tally in ((RunState.HELD, held), (RunState.RUNNING, running)):
        for priority, kind, strategy, count in tx.all(_COUNT_IN[state]):
            tally.add(queue_of(kind, Strategy(strategy)), priority, int(count))
    return [
        QueueNow(
            queue,
            tuple(_band(band, queue, due, later, held) for band in Priority),
            sum(running.get((queue, band), 0) for band in Priority),
            _wait_s(tx, oldest.get(queue)),
        )
        for queue in Queue
    ]


def _band(band: Priority, queue: Queue, *tallies: _Tally) -> Band:
    return Band(band, *(tally.get((queue, int(band)), 0) for tally in tallies))


def _wait_s(tx: Tx, due_at: int | None) -> float | None:
    return None if due_at is None or due_at > tx.now_ms else (tx.now_ms - due_at) / 1000


def neglect(tx: Tx, after_s: float) -> list[Neglect]:
    """Return queues with runs due for at least this time that no live node serves. Fast, however long the queue is."""
    served = nodes.live_queues(tx)
    oldest_s: dict[Queue, float] = {}
    for lane, statement in _OLDEST_IN_LANE.items():
        queue = _QUEUE_OF_LANE[lane]
        for band in Priority if queue.value not in served else ():
            waited_s = _wait_s(tx, tx.all(statement, values(band=int(band)))[0][0])
            if waited_s is not None:
                oldest_s[queue] = max(oldest_s.get(queue, 0.0), waited_s)
    return find_neglected(oldest_s, served, after_s)
