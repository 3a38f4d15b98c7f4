"""Turn ready tasks into runs, and record the end of those runs. One transaction, under the lock of the queue."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from corral.domain.jobs.job import Priority
from corral.domain.queue.feed import FeedResult, FeedRules, ReadyTask, RunningTask, TaskScope, choose_tasks
from corral.domain.queue.task import QueueTask, StoredTask, TaskState
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import TERMINAL, NewRun, RunState
from corral.store.queries.queue.tasks import lock, task_of, tasks
from corral.store.queries.runs import runs as run_queries
from corral.store.rows import storable, to_json
from corral.store.tables import queue_scrapers, runs
from corral.store.tx import Row, Tx, insert_all, is_state, param, values

# Returns the run of a task, or the reason why the task cannot be executed.
MakeRun = Callable[[QueueTask], NewRun | str]

_MAX_ENDED = 1000
_PAGE = 500
_STARTED = is_state(tasks.c.state, TaskState.STARTED)
_READY = is_state(tasks.c.state, TaskState.READY)
_STATE_AFTER = {
    RunState.COMPLETED: TaskState.COMPLETED,
    RunState.PARTIAL: TaskState.PARTIAL,
    RunState.FAILED: TaskState.DEAD,
    RunState.CANCELLED: TaskState.CANCELLED,
}
# A held run uses no slot: other tasks of its scraper must not wait until a person has decided about it.
_IDLE = TERMINAL | {RunState.HELD}
_ENDED_RUNS = (
    sa.select(
        tasks, runs.c.state, runs.c.hold_reason, runs.c.finished_at, runs.c.failure_code, runs.c.failure_detail,
        runs.c.error_message, runs.c.attempt,
    )
    .select_from(tasks.outerjoin(runs, runs.c.id == tasks.c.run_id))
    .where(_STARTED, sa.or_(runs.c.id.is_(None), runs.c.state.in_(sorted(state.value for state in TERMINAL))))
    .limit(_MAX_ENDED)
)  # fmt: skip
_END = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), _STARTED, tasks.c.run_id == param("run_id"))
    .values(state=param("state"), reason=param("reason"), ended_at=param("ended_at"), history=param("history"))
)
_RUNNING = (
    sa.select(tasks.c.scraper, tasks.c.priority, runs.c.state, runs.c.due_at, runs.c.epoch)
    .select_from(tasks.join(runs, runs.c.id == tasks.c.run_id))
    .where(_STARTED, runs.c.state.in_(sorted(state.value for state in RunState if state not in _IDLE)))
)
_DUE = sa.select(queue_scrapers.c.name, queue_scrapers.c.next_due)
_NEXT_SCRAPER = sa.select(sa.func.min(tasks.c.scraper)).where(
    _READY, tasks.c.registry == param("registry"), tasks.c.priority == param("band"), tasks.c.scraper > param("after")
)
_FIRST_OF_SCRAPER = (
    sa.select(tasks, sa.null(), sa.null())
    .where(
        _READY,
        tasks.c.registry == param("registry"),
        tasks.c.priority == param("band"),
        tasks.c.scraper == param("scraper"),
        tasks.c.seq > param("seq"),
    )
    .order_by(tasks.c.seq)
    .limit(param("limit"))
)
_START = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), _READY)
    .values(
        state=TaskState.STARTED.value,
        run_id=param("run_id"),
        starts=tasks.c.starts + 1,
        started_at=param("wall"),
        ended_at=sa.null(),
        reason=sa.null(),
    )
)
_REFUSE = (
    sa.update(tasks)
    .where(tasks.c.id == param("id"), _READY)
    .values(state=TaskState.DEAD.value, reason=param("reason"), ended_at=param("wall"))
)
_ANY_STARTED = sa.select(tasks.c.id).where(_STARTED).limit(1)
_ANY_READY = sa.select(tasks.c.id).where(_READY, tasks.c.registry == param("registry")).limit(1)
_FORGET_DUE = sa.delete(queue_scrapers).where(queue_scrapers.c.name == param("name"))
_NOTE_DUE = insert_all(queue_scrapers)


def feed(tx: Tx, registry: str, rules: FeedRules, make_run: MakeRun, scope: TaskScope | None = None) -> FeedResult:
    """Record which runs of tasks have ended, then start as many ready tasks as the rules allow."""
    lock(tx)
    result = FeedResult(ended=note_ends(tx))
    running = [_running_task(tx, row) for row in tx.all(_RUNNING)]
    free = rules.max_concurrent - sum(1 for each in running if not each.is_waiting)
    if free <= 0:
        result.is_waiting = bool(tx.all(_ANY_READY, values(registry=registry)))
        return result
    ready = _find_ready(tx, registry, rules, scope, free)
    due_s = {row[0]: row[1] / 1000 for row in tx.all(_DUE)}
    choice = choose_tasks(ready, running, due_s, rules, tx.wall_ms / 1000)
    for each in choice.tasks:
        _start(tx, ready[each].task, make_run, result)
    result.is_waiting, result.wait_s = len(choice.tasks) < len(ready), choice.wait_s
    for scraper, next_s in choice.next_due_s.items():
        tx.run(_FORGET_DUE, values(name=scraper))
        tx.run(_NOTE_DUE, values(name=scraper, next_due=round(next_s * 1000)))
    return result


def has_work(tx: Tx, registry: str) -> bool:
    """Return whether a feed could start a task or record the end of one."""
    return bool(tx.all(_ANY_STARTED) or tx.all(_ANY_READY, values(registry=registry)))


def _start(tx: Tx, task: QueueTask, make_run: MakeRun, result: FeedResult) -> None:
    run = make_run(task)
    if isinstance(run, str):
        tx.run(_REFUSE, values(id=task.id, reason=storable(run), wall=tx.wall_ms))
        result.refused.append(task.id)
        return
    drafts = [EventDraft(EventKind.CREATED, {"task_id": task.id, "scraper": task.scraper})]
    run_queries.add(tx, [(run, drafts)])
    tx.run(_START, values(id=task.id, run_id=run.id, wall=tx.wall_ms))
    result.started[task.id] = run


def _find_ready(
    tx: Tx, registry: str, rules: FeedRules, scope: TaskScope | None, free: int
) -> dict[ReadyTask, StoredTask]:
    """Return the first tasks of each scraper in each band. A scraper at its limit must not hide the tasks of others."""
    found: dict[ReadyTask, StoredTask] = {}
    limit = rules.max_concurrent + 1
    for band in Priority:
        if len(found) > free and not rules.lower_slots:
            break  # a higher band still has ready tasks, so this band cannot start any
        where = values(registry=registry, band=int(band))
        for name in _list_scrapers(tx, where, rules):
            for stored in _read_ready(tx, {**where, **values(scraper=name)}, limit, scope):
                found[ReadyTask(band, stored.seq, stored.task.id, name)] = stored
    return found


def _list_scrapers(tx: Tx, where: dict[str, Any], rules: FeedRules) -> list[str]:
    """Return the scrapers with ready tasks in a band.

    A file may have any number of names that the rules do not know.
    """
    names: list[str] = []
    unknown = 0
    while unknown <= rules.max_concurrent:
        after = names[-1] if names else ""
        name = tx.all(_NEXT_SCRAPER, {**where, **values(after=after)})[0][0]
        if name is None:
            return names
        names.append(name)
        unknown += name not in rules.scrapers
    return [*names, *sorted(rules.scrapers.keys() - set(names))]


def _read_ready(tx: Tx, where: dict[str, Any], limit: int, scope: TaskScope | None) -> list[StoredTask]:
    """Return the first ready tasks of one scraper in one band."""
    found: list[StoredTask] = []
    last, page_size = 0 if scope is None else scope.first_seq - 1, limit
    while len(found) < limit:
        rows = tx.all(_FIRST_OF_SCRAPER, {**where, **values(seq=last, limit=page_size)})
        read = [task_of(row) for row in rows]
        found += [each for each in read if scope is None or each.task.id in scope.ids]
        if len(rows) < page_size:
            break
        last, page_size = read[-1].seq, _PAGE
    return found[:limit]


def _running_task(tx: Tx, row: Row) -> RunningTask:
    scraper, priority, state, due_at, epoch = row
    # A new run is due when it was added, which may be after the start of a transaction that waited for the lock.
    is_waiting = state == RunState.QUEUED.value and epoch > 0 and due_at > tx.now_ms
    return RunningTask(scraper, Priority(priority), is_waiting)


def note_ends(tx: Tx) -> int:
    """Write the ends of runs to their tasks; return how many there were."""
    rows = tx.all(_ENDED_RUNS)
    for row in rows:
        tx.run(_END, _end_values(tx, row))
    return len(rows)


def _end_values(tx: Tx, row: Row) -> dict[str, Any]:
    *of_task, state, hold, finished_at, code, detail, message, attempts = row
    stored = task_of((*of_task, state, hold))
    task_state = TaskState.DEAD if state is None else _STATE_AFTER[RunState(state)]
    reason: str | None = None
    if state is None:
        reason = "retention removed its run before the end was noted"
    elif task_state is not TaskState.COMPLETED:
        named = f"{code}:{detail}" if detail else str(code)
        reason = storable((f"{named}: {message}" if message else named)[:2000])
    ended_ms = finished_at or tx.wall_ms
    entry = {
        "run_id": stored.run_id,
        "state": state or task_state.value,
        "attempts": attempts,
        "started_at": None if stored.started_at is None else stored.started_at.isoformat(),
        "duration_s": None if stored.started_at is None else ended_ms / 1000 - stored.started_at.timestamp(),
        "reason": reason,
    }
    history = to_json([*stored.history, entry][-20:])
    return values(
        id=stored.task.id,
        run_id=stored.run_id,
        state=task_state.value,
        reason=reason,
        ended_at=ended_ms,
        history=history,
    )
