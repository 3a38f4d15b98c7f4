"""Which task closes which gap, permanent absences, and coverage reports."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from corral.domain.coverage.absence import Absence, AbsenceNote, read_absences
from corral.domain.coverage.task_plan import GapTask, GapTaskState
from corral.domain.queue.task import TaskState
from corral.domain.runs.run import TERMINAL
from corral.runtime.new_ids import new_id
from corral.store.coverage_tables import coverage_absences, coverage_reports, coverage_tasks
from corral.store.rows import from_json, storable, to_json
from corral.store.tables import queue_tasks, runs
from corral.store.tx import Row, Tx, first, insert_all, param, values

_MAX_REPORTS = 200
_TASKS = sa.select(coverage_tasks).where(coverage_tasks.c.source == param("source")).order_by(coverage_tasks.c.id)
_TASK = sa.select(coverage_tasks.c.source, coverage_tasks.c.gap_keys).where(coverage_tasks.c.id == param("id"))
_FORGET_TASKS = sa.delete(coverage_tasks).where(coverage_tasks.c.source == param("source"))
_ADD_TASK = insert_all(coverage_tasks)
_QUEUED = sa.select(queue_tasks.c.state).where(queue_tasks.c.id == param("id"))

_ABSENCES = sa.select(coverage_absences).where(coverage_absences.c.source == param("source"))
_new = postgresql.insert(coverage_absences).values(
    source=param("source"),
    key=param("key"),
    confirmations=1,
    first_at=param("now"),
    last_at=param("now"),
    run_id=param("run_id"),
    evidence=param("evidence"),
)
# Two notes of one run, or of an attempt repeated after a crash, are one observation.
_NOTE = _new.on_conflict_do_update(
    index_elements=["source", "key"],
    set_={
        "confirmations": coverage_absences.c.confirmations + 1,
        "last_at": param("now"),
        "run_id": param("run_id"),
        "evidence": param("evidence"),
    },
    where=sa.or_(coverage_absences.c.run_id.is_(None), coverage_absences.c.run_id != param("run_id")),
).returning(coverage_absences.c.key)
_NOTE_WITHOUT_RUN = _new.on_conflict_do_update(
    index_elements=["source", "key"],
    set_={
        "confirmations": coverage_absences.c.confirmations + 1,
        "last_at": param("now"),
        "evidence": param("evidence"),
    },
).returning(coverage_absences.c.key)
# Ended runs of gap tasks: the absences they reported are noted before the next comparison.
_ENDED = (
    sa.select(coverage_tasks.c.id, runs.c.id, runs.c.stats)
    .select_from(
        coverage_tasks.join(queue_tasks, queue_tasks.c.id == coverage_tasks.c.id).join(
            runs, runs.c.id == queue_tasks.c.run_id
        )
    )
    .where(runs.c.state.in_(sorted(state.value for state in TERMINAL)))
)
_FORGET_ABSENCE = sa.delete(coverage_absences).where(
    coverage_absences.c.source == param("source"), coverage_absences.c.key == param("key")
)

_ADD_REPORT = insert_all(coverage_reports)
_LATEST: sa.Select[Any] = sa.select(coverage_reports).order_by(coverage_reports.c.id.desc()).limit(1)
_OF_RUN = (
    sa.select(coverage_reports)
    .where(coverage_reports.c.run_id == param("run_id"))
    .order_by(coverage_reports.c.id.desc())
    .limit(1)
)
_NEWEST_EXCESS = sa.select(coverage_reports.c.id).order_by(coverage_reports.c.id.desc()).offset(_MAX_REPORTS).limit(1)
_FORGET_REPORTS = sa.delete(coverage_reports).where(coverage_reports.c.id <= param("id"))


class StoredReport(NamedTuple):
    run_id: str | None
    document: dict[str, Any]


def gap_tasks(tx: Tx, source: str) -> list[GapTask]:
    return [
        GapTask(row[0], row[1], row[2], tuple((pair[0], pair[1]) for pair in from_json(row[3])), row[4] / 1000)
        for row in tx.all(_TASKS, values(source=source))
    ]


def replace_gap_tasks(tx: Tx, source: str, tasks: Sequence[GapTask]) -> None:
    # A task may have ended since the absences were read; its report would be lost with its row.
    note_reported_absences(tx)
    tx.run(_FORGET_TASKS, values(source=source))
    if tasks:
        tx.many(_ADD_TASK, [_task_row(task) for task in tasks])


def _task_row(task: GapTask) -> dict[str, Any]:
    return values(
        id=task.id,
        source=task.source,
        attempt=task.attempt,
        gap_keys=to_json(task.keys),
        created_at=round(task.created_at * 1000),
    )


def task_states(tx: Tx, task_ids: Sequence[str]) -> dict[str, GapTaskState]:
    return {task_id: _state_of(first(tx.all(_QUEUED, values(id=task_id)))) for task_id in task_ids}


def _state_of(row: Row | None) -> GapTaskState:
    if row is None:
        return GapTaskState.UNKNOWN
    return GapTaskState.ENDED if TaskState(row[0]).has_ended else GapTaskState.OPEN


def absences(tx: Tx, source: str) -> list[Absence]:
    rows = tx.all(_ABSENCES, values(source=source))
    return [Absence(row[1], row[2], row[4] / 1000, from_json(row[6])) for row in rows]


def note_absences(tx: Tx, notes: Sequence[AbsenceNote], source: str, task_id: str) -> int:
    by_value: dict[str, str] = {}
    if task_id and (row := first(tx.all(_TASK, values(id=task_id)))) is not None:
        source = row[0]
        pairs = from_json(row[1])
        by_value = {value: key for key, value in pairs} | {key: key for key, _ in pairs}
    if not source:
        return 0
    new = 0
    for note in notes:
        params = values(
            source=source,
            key=storable(by_value.get(note.key, note.key)),
            now=tx.wall_ms,
            run_id=note.run_id,
            evidence=to_json(dict(note.evidence)),
        )
        new += len(tx.all(_NOTE_WITHOUT_RUN if note.run_id is None else _NOTE, params))
    return new


def note_reported_absences(tx: Tx) -> int:
    """Note the absences that the scripts of gap tasks reported; a repeated call adds nothing."""
    new = 0
    for task_id, run_id, stats in tx.all(_ENDED):
        notes, _ = read_absences([{"absent": from_json(stats).get("absent") or []}], run_id)
        if notes:
            new += note_absences(tx, notes, "", task_id)
    return new


def forget_absences(tx: Tx, source: str, keys: Sequence[str]) -> None:
    if keys:
        tx.many(_FORGET_ABSENCE, [values(source=source, key=key) for key in keys])


def add_report(tx: Tx, report: Mapping[str, Any], run_id: str | None) -> None:
    tx.run(_ADD_REPORT, values(id=new_id(), run_id=run_id, created_at=tx.wall_ms, document=to_json(report)))
    excess = first(tx.all(_NEWEST_EXCESS))
    if excess is not None:
        tx.run(_FORGET_REPORTS, values(id=excess[0]))


def read_report(tx: Tx, run_id: str | None = None) -> StoredReport | None:
    """Return the latest report, or that of a run."""
    row = first(tx.all(_LATEST) if run_id is None else tx.all(_OF_RUN, values(run_id=run_id)))
    return None if row is None else StoredReport(row[1], from_json(row[3]))
