"""Tasks as users see them: import, list, requeue, cancel, count."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.jobs.job import Priority
from corral.domain.queue.task import (
    REQUEUED,
    ImportReport,
    QueueTask,
    StoredTask,
    TaskNotFound,
    TaskState,
    WrongTaskState,
)
from corral.domain.runs.run import spoken
from corral.store.rows import at, from_json, maybe_at, to_json
from corral.store.tables import queue_tasks, runs
from corral.store.tx import Row, Tx, insert_all, is_state, param, values

tasks = queue_tasks
# Held by a transaction that imports or starts tasks: it keeps numbers in order and limits exact.
_LOCK: Any = sa.select(sa.text("pg_advisory_xact_lock(7381240917)"))
_MAX_SEQ = sa.select(sa.func.coalesce(sa.func.max(tasks.c.seq), 0))
# By dialect (`is_postgres`). A range of ids would depend on the server's collation.
_IS_LISTED: dict[bool, sa.ColumnElement[bool]] = {
    True: tasks.c.id == sa.any_(param("ids")),
    False: tasks.c.id.in_(sa.select(sa.func.json_each(param("ids")).table_valued("value").c.value)),
}
_KNOWN = {
    is_postgres: sa.select(tasks.c.id, tasks.c.digest, tasks.c.state, tasks.c.priority, tasks.c.registry).where(listed)
    for is_postgres, listed in _IS_LISTED.items()
}
_LATER = ("run_id", "starts", "reason", "started_at", "ended_at", "history")
_INSERT = insert_all(tasks, without=_LATER)
_REPLACE = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), tasks.c.state != TaskState.STARTED.value)
    .values(
        priority=param("priority"),
        scraper=param("scraper"),
        registry=param("registry"),
        digest=param("digest"),
        document=param("document"),
        state=TaskState.READY.value,
        reason=sa.null(),
        ended_at=sa.null(),
    )
)
_RANK = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), tasks.c.state != TaskState.STARTED.value)
    .values(priority=param("priority"), document=param("document"), registry=param("registry"))
)
_REQUEUE = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), tasks.c.state.in_(sorted(state.value for state in REQUEUED)))
    .values(state=TaskState.READY.value, reason=sa.null(), ended_at=sa.null())
    .returning(tasks.c.id)
)
_REQUEUE_DEAD = (
    sa.update(tasks)
    .where(is_state(tasks.c.state, TaskState.DEAD))
    .values(state=TaskState.READY.value, reason=sa.null(), ended_at=sa.null())
)
_REQUEUE_ONE_DEAD = _REQUEUE_DEAD.where(tasks.c.id == param("id"))
_CANCEL = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), is_state(tasks.c.state, TaskState.READY))
    .values(state=TaskState.CANCELLED.value, reason="cancelled by a person", ended_at=param("wall"))
    .returning(tasks.c.id)
)
_READ = sa.select(tasks, runs.c.state, runs.c.hold_reason).select_from(
    tasks.outerjoin(runs, runs.c.id == tasks.c.run_id)
)
_GET = _READ.where(tasks.c.id == param("id"))
_SELECT = {is_postgres: _READ.where(listed) for is_postgres, listed in _IS_LISTED.items()}
_LIST_FROM = 200
_COUNT = sa.select(tasks.c.state, tasks.c.priority, tasks.c.scraper, sa.func.count()).group_by(
    tasks.c.state, tasks.c.priority, tasks.c.scraper
)
_LISTINGS: dict[tuple[TaskState | None, bool, bool], sa.Select[Any]] = {}


class TaskFilter(NamedTuple):
    state: TaskState | None = None
    priority: Priority | None = None
    scraper: str | None = None


class TaskCount(NamedTuple):
    state: TaskState
    priority: Priority
    scraper: str
    tasks: int


def lock(tx: Tx) -> None:
    if tx.is_postgres:
        tx.all(_LOCK)


def add(tx: Tx, imported: Sequence[QueueTask], registry: str) -> ImportReport:
    """Import tasks by id: new and changed tasks become ready, the others stay unchanged."""
    if not imported:
        return ImportReport()
    lock(tx)
    known = _find_known(tx, imported)
    new = [task for task in imported if task.id not in known]
    _insert(tx, new, registry)
    updated, busy = 0, []
    for task in imported:
        if task.id not in known:
            continue
        _, digest, state, *ranking = known[task.id]
        if digest != task.digest and state == TaskState.STARTED.value:
            busy.append(task.id)
        elif digest != task.digest:
            updated += tx.run(_REPLACE, _row(task, registry))
        elif ranking != [int(task.priority), registry] and state != TaskState.STARTED.value:
            # Also for an ended task: it may be requeued.
            changed = tx.run(_RANK, _row(task, registry))
            updated += changed if state == TaskState.READY.value else 0
    unchanged = len(imported) - len(new) - updated - len(busy)
    return ImportReport(len(new), updated, unchanged, tuple(busy))


def _find_known(tx: Tx, imported: Sequence[QueueTask]) -> dict[str, Row]:
    rows = tx.all(_KNOWN[tx.is_postgres], _bind_ids(tx, [task.id for task in imported]))
    return {row[0]: row for row in rows}


def _bind_ids(tx: Tx, ids: Sequence[str]) -> dict[str, Any]:
    return values(ids=list(ids) if tx.is_postgres else to_json(list(ids)))


def _insert(tx: Tx, new: Sequence[QueueTask], registry: str) -> None:
    if not new:
        return
    last = int(tx.all(_MAX_SEQ)[0][0])
    common = values(state=TaskState.READY.value, imported_at=tx.wall_ms)
    rows = [{**_row(task, registry), **common, "seq": last + number} for number, task in enumerate(new, 1)]
    tx.many(_INSERT, rows)


def _row(task: QueueTask, registry: str) -> dict[str, Any]:
    return values(
        id=task.id,
        registry=registry,
        priority=int(task.priority),
        scraper=task.scraper,
        digest=task.digest,
        document=to_json(task.document),
    )


def get(tx: Tx, task_id: str) -> StoredTask:
    rows = tx.all(_GET, values(id=task_id))
    if not rows:
        raise TaskNotFound(task_id)
    return task_of(rows[0])


def newest(tx: Tx, wanted: TaskFilter, before: int | None, limit: int) -> list[StoredTask]:
    """Return tasks, those imported last first."""
    shape = (wanted.state, wanted.priority is not None, wanted.scraper is not None)
    if shape not in _LISTINGS:
        _LISTINGS[shape] = _listing(wanted)
    priority = None if wanted.priority is None else int(wanted.priority)
    params = values(before=before or 2**62, limit=limit, priority=priority, scraper=wanted.scraper)
    return [task_of(row) for row in tx.all(_LISTINGS[shape], params)]


def _listing(wanted: TaskFilter) -> sa.Select[Any]:
    found = _READ.where(tasks.c.seq < param("before"))
    if wanted.state is not None:
        found = found.where(is_state(tasks.c.state, wanted.state))
    if wanted.priority is not None:
        found = found.where(tasks.c.priority == param("priority"))
    if wanted.scraper is not None:
        found = found.where(tasks.c.scraper == param("scraper"))
    return found.order_by(tasks.c.seq.desc()).limit(param("limit"))


def select(tx: Tx, ids: Sequence[str]) -> list[StoredTask]:
    """Return the tasks with these ids that exist."""
    if len(ids) > _LIST_FROM:
        return [task_of(row) for row in tx.all(_SELECT[tx.is_postgres], _bind_ids(tx, ids))]
    return [task_of(row) for task_id in ids for row in tx.all(_GET, values(id=task_id))]


def count(tx: Tx) -> list[TaskCount]:
    return [TaskCount(TaskState(row[0]), Priority(row[1]), row[2], int(row[3])) for row in tx.all(_COUNT)]


def requeue(tx: Tx, task_id: str) -> StoredTask:
    """Requeue a task that ended badly; raise WrongTaskState for any other."""
    [row] = tx.many_returning(_REQUEUE, [values(id=task_id)])
    found = get(tx, task_id)
    if row is None:
        raise WrongTaskState("requeue", task_id, found.public_state)
    return found


def requeue_dead(tx: Tx, ids: Sequence[str] | None) -> int:
    """Requeue these dead tasks, or all dead tasks; return how many there were."""
    if ids is None:
        return tx.run(_REQUEUE_DEAD)
    return tx.many(_REQUEUE_ONE_DEAD, [values(id=task_id) for task_id in ids])


def cancel(tx: Tx, task_id: str) -> StoredTask:
    """Cancel a waiting task. If it has started, the caller cancels its run."""
    [row] = tx.many_returning(_CANCEL, [values(id=task_id, wall=tx.wall_ms)])
    found = get(tx, task_id)
    if row is None and found.state is not TaskState.STARTED:
        raise WrongTaskState("cancel", task_id, found.public_state)
    return found


def task_of(row: Row) -> StoredTask:
    (
        id_, seq, _, priority, scraper, digest, document, state, imported_at, run_id, starts, reason, started_at,
        ended_at, history, run_state, hold,
    ) = row  # fmt: skip
    task = QueueTask(id_, Priority(priority), scraper, from_json(document), digest)
    return StoredTask(
        task=task,
        state=TaskState(state),
        imported_at=at(imported_at),
        run_id=run_id,
        run_state=None if run_state is None else spoken(run_state, hold),
        starts=starts,
        reason=reason,
        started_at=maybe_at(started_at),
        ended_at=maybe_at(ended_at),
        history=tuple(from_json(history)),
        seq=seq,
    )
