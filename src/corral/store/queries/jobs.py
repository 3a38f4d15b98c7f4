"""Jobs, and the schedule slots they have fired for."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.crawl.item import DiscoveredLink
from corral.domain.errors import JobNotFound, WrongState
from corral.domain.jobs.job import DueJob, Job, StoredJob
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import LIVE, NewRun, spoken
from corral.store.queries import idempotency
from corral.store.queries.crawl import frontier
from corral.store.queries.runs import data_verdicts, pinned_runs
from corral.store.queries.runs import runs as run_queries
from corral.store.queries.sites import sessions
from corral.store.rows import job_document, job_of, to_json
from corral.store.tables import jobs, runs, slots
from corral.store.tx import LAST_ID, Row, Tx, insert_all, param, values

_latest = runs.alias("latest")
_STATUS = (
    sa.select(_latest.c.state)
    .where(_latest.c.job_id == jobs.c.id)
    .order_by(_latest.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_HOLD = (
    sa.select(_latest.c.hold_reason)
    .where(_latest.c.job_id == jobs.c.id)
    .order_by(_latest.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
_COLUMNS = (jobs.c.id, jobs.c.document, jobs.c.frequency, jobs.c.created_at)
_READ = sa.select(*_COLUMNS, _STATUS, _HOLD)
_GET = _READ.where(jobs.c.id == param("id"))
_LIST = _READ.where(jobs.c.id < param("before")).order_by(jobs.c.id.desc()).limit(param("limit"))
_INSERT = insert_all(jobs)
# Matches only if the job still equals the document that the change was based on. The slot changes only with the
# schedule: another change must not lose a due slot.
_UPDATE = (
    sa.update(jobs)
    .where(
        jobs.c.id == param("id"), jobs.c.document == param("old_document"), jobs.c.frequency == param("old_frequency")
    )
    .values(
        document=param("document"),
        frequency=param("frequency"),
        next_slot=sa.case((jobs.c.frequency == param("frequency"), jobs.c.next_slot), else_=param("next_slot")),
        updated_at=param("updated_at"),
        proxy_kid=param("proxy_kid"),
    )
)
_KIDS = sa.select(jobs.c.proxy_kid, sa.func.count()).where(jobs.c.proxy_kid.is_not(None)).group_by(jobs.c.proxy_kid)
_UNDER_OTHER_KEYS = (
    sa.select(*_COLUMNS)
    .where(jobs.c.proxy_kid.is_not(None), jobs.c.proxy_kid != param("kid"), jobs.c.id > param("after"))
    .order_by(jobs.c.id)
    .limit(param("limit"))
)
_LIVE_RUNS = (
    sa.select(runs.c.state, runs.c.hold_reason)
    .where(runs.c.job_id == param("id"), runs.c.state.in_([state.value for state in sorted(LIVE)]))
    .limit(1)
)
_DELETE = sa.delete(jobs).where(jobs.c.id == param("id"))

_DUE = (
    sa.select(*_COLUMNS, jobs.c.next_slot)
    .where(jobs.c.next_slot.is_not(None), jobs.c.next_slot <= param("wall"))
    .order_by(jobs.c.next_slot)
    .limit(param("limit"))
)
_ADVANCE = (
    sa.update(jobs)
    .where(jobs.c.id == param("id"), jobs.c.next_slot == param("due_slot"))
    .values(next_slot=param("next_slot"))
)
_FIND_SLOT = sa.select(slots.c.run_id).where(slots.c.job_id == param("id"), slots.c.slot == param("slot"))
_TAKE_SLOT = insert_all(slots)


def _to_job(row: Row) -> StoredJob:
    id_, document, frequency, created_at, state, hold = row
    return StoredJob(job_of(id_, document, frequency, created_at), state, hold)


def add(tx: Tx, job: Job, next_slot_ms: int | None, key: IdempotencyKey | None) -> tuple[str, bool]:
    """Write a job. For a key used before, return the earlier id and True."""
    if key is not None:
        found = idempotency.find_or_add(tx, key, job.id)
        if found is not None:
            return found, found != job.id
    if tx.is_repeat and tx.all(_GET, values(id=job.id)):
        return job.id, False
    tx.run(_INSERT, {**_document_values(tx, job, next_slot_ms), **values(created_at=tx.wall_ms)})
    return job.id, False


def _document_values(tx: Tx, job: Job, next_slot_ms: int | None) -> dict[str, Any]:
    return values(
        id=job.id,
        document=to_json(job_document(job)),
        frequency=job.frequency,
        next_slot=next_slot_ms,
        updated_at=tx.wall_ms,
        proxy_kid=job.proxy.kid if job.proxy else None,
    )


def get(tx: Tx, job_id: str) -> StoredJob:
    rows = tx.all(_GET, values(id=job_id))
    if not rows:
        raise JobNotFound(job_id)
    return _to_job(rows[0])


def newest(tx: Tx, before: str | None, limit: int) -> list[StoredJob]:
    return [_to_job(row) for row in tx.all(_LIST, values(before=before or LAST_ID, limit=limit))]


def update(tx: Tx, before: Job, after: Job, next_slot_ms: int | None) -> bool:
    """Write the changed job; False if it was changed concurrently."""
    old = values(old_document=to_json(job_document(before)), old_frequency=before.frequency)
    if tx.run(_UPDATE, _document_values(tx, after, next_slot_ms) | old) > 0:
        return True
    get(tx, after.id)  # raises if the job was deleted
    return False


def delete(tx: Tx, job_id: str) -> None:
    """Delete a job without active runs, with its sessions; its finished runs and records stay."""
    live = tx.all(_LIVE_RUNS, values(id=job_id))
    if live:
        raise WrongState("delete the job while one of its runs has not ended", spoken(*live[0]), terminal=False)
    if tx.run(_DELETE, values(id=job_id)) == 0:
        raise JobNotFound(job_id)
    sessions.delete_of_job(tx, job_id)
    data_verdicts.forget_job(tx, job_id)


def kids(tx: Tx) -> dict[str, int]:
    """Return the number of job proxies sealed under each key."""
    return {row[0]: int(row[1]) for row in tx.all(_KIDS)}


def under_other_keys(tx: Tx, kid: str, after: str, limit: int) -> list[Job]:
    return [job_of(*row) for row in tx.all(_UNDER_OTHER_KEYS, values(kid=kid, after=after, limit=limit))]


def due(tx: Tx, limit: int) -> list[DueJob]:
    """Return scheduled jobs whose slot has come."""
    rows = tx.all(_DUE, values(wall=tx.wall_ms, limit=limit))
    return [DueJob(job_of(*row[:4]), row[4]) for row in rows]


def fire(
    tx: Tx,
    due_job: DueJob,
    slots_ms: tuple[int, int],
    run: NewRun,
    drafts: Sequence[EventDraft],
    *,
    seeds: Sequence[DiscoveredLink] = (),
) -> bool:
    """Start the run of a slot once; False if another node has done so, or the job has changed."""
    slot_ms, next_slot_ms = slots_ms
    job_id = due_job.job.id
    advanced = values(id=job_id, due_slot=due_job.slot_ms, next_slot=next_slot_ms)
    if tx.run(_ADVANCE, advanced) == 0:
        return False
    # A clock that is set back can reach a slot twice, so the row of a slot outlives the schedule.
    if tx.all(_FIND_SLOT, values(id=job_id, slot=slot_ms)):
        return False
    tx.run(_TAKE_SLOT, values(job_id=job_id, slot=slot_ms, run_id=run.id))
    if seeds:
        frontier.add_crawl(tx, run, drafts, seeds, None)
        pinned_runs.pin(tx, run.id)
    else:
        run_queries.add(tx, [(run, drafts)])
    return True
