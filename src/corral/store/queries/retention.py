"""Retention: delete finished runs by age and by count, in small batches."""

import sqlalchemy as sa

from corral.domain.runs.retention import Retention
from corral.domain.runs.run import TERMINAL
from corral.store.queries import artifacts, dataset_retention, idempotency, purge
from corral.store.queries.crawl import frontier
from corral.store.queries.runs import data_verdicts, pinned_runs
from corral.store.queries.runs import runs as runs_queries
from corral.store.queries.sites import site_statistics
from corral.store.queries.workflows import rows as workflow_rows
from corral.store.tables import crawls, events, interventions, records, runs, slots
from corral.store.tables import pinned_runs as pinned_rows
from corral.store.tx import Tx, param, values
from corral.store.workflow_tables import workflow_steps

_FINISHED = runs.c.state.in_([state.value for state in sorted(TERMINAL)])
# The runs of steps go after their workflow: an export may still need their records, also after a recovery.
_IS_FREE = ~sa.exists().where(workflow_steps.c.run_id == runs.c.id)
# Ids sort by age, so the primary key suffices as an index.
_OLD = (
    sa.select(runs.c.id)
    .where(_FINISHED, runs.c.finished_at < param("before"), runs.c.id < param("before_id"), _IS_FREE)
    .order_by(runs.c.id)
    .limit(param("limit"))
)
# Reads the crawls, which are few, not all runs.
_OLD_CRAWLS = (
    sa.select(runs.c.id)
    .select_from(crawls.join(runs, runs.c.id == crawls.c.run_id))
    .where(
        _FINISHED,
        runs.c.finished_at < param("before"),
        crawls.c.run_id < param("before_id"),
        _IS_FREE,
        ~sa.exists().where(pinned_rows.c.run_id == crawls.c.run_id),
    )
    .order_by(crawls.c.run_id)
    .limit(param("limit"))
)
_COUNT = sa.select(sa.func.count()).select_from(runs)
_OLDEST = sa.select(runs.c.id).where(_FINISHED, _IS_FREE).order_by(runs.c.id).limit(param("limit"))
_DELETE_EVENTS = sa.delete(events).where(events.c.run_id == param("id"))
_DELETE_RECORDS = sa.delete(records).where(records.c.run_id == param("id"))
_DELETE_INTERVENTIONS = sa.delete(interventions).where(interventions.c.run_id == param("id"))
_DELETE_RUN = sa.delete(runs).where(runs.c.id == param("id"), _FINISHED)
_FORGET_SLOTS = sa.delete(slots).where(slots.c.slot < param("before"))

_HOUR_MS = 3600 * 1000
_DAY_MS = 24 * _HOUR_MS
# Keep slots longer than an accidental clock change can reach back.
_SLOT_MEMORY_MS = 30 * _DAY_MS
_KEY_MEMORY_MS = _DAY_MS
# How long to keep statistics of a site after its last crawl was deleted.
_STATISTICS_MEMORY_MS = 90 * _DAY_MS
# The same for data profiles of crawls without a job: such a crawl may be repeated once a year.
_PROFILE_MEMORY_MS = 400 * _DAY_MS


def _id_at(millis: int) -> str:
    """Return the smallest id of a run created at this moment."""
    text = f"{max(millis, 0):012x}"
    return f"{text[:8]}-{text[8:]}"


def prune(tx: Tx, retention: Retention, batch: int) -> int:
    """Delete up to `batch` runs beyond the age or count limit, and rows of old dataset builds; return how many."""
    idempotency.forget(tx, tx.wall_ms - _KEY_MEMORY_MS)
    tx.run(_FORGET_SLOTS, values(before=tx.wall_ms - _SLOT_MEMORY_MS))
    site_statistics.forget(tx, tx.wall_ms - _STATISTICS_MEMORY_MS)
    data_verdicts.forget_old(tx, tx.wall_ms - _PROFILE_MEMORY_MS)
    expired_crawls = _find_expired_crawls(tx, retention, batch)
    others = [run_id for run_id in _find_expired(tx, retention, batch) if run_id not in set(expired_crawls)]
    for run_id in expired_crawls:
        _forget(tx, run_id, keep_records=False)
    for run_id in others[: batch - len(expired_crawls)]:
        _forget(tx, run_id, keep_records=retention.keep_records)
    return len(expired_crawls) + len(others[: batch - len(expired_crawls)]) + _prune_datasets(tx, retention, batch)


def _prune_datasets(tx: Tx, retention: Retention, batch: int) -> int:
    if retention.max_dataset_age_days is None:
        return 0
    return dataset_retention.prune(tx, tx.wall_ms - round(retention.max_dataset_age_days * _DAY_MS), batch)


def _find_expired_crawls(tx: Tx, retention: Retention, batch: int) -> list[str]:
    if retention.max_crawl_age_hours is None:
        return []
    before = tx.wall_ms - round(retention.max_crawl_age_hours * _HOUR_MS)
    return [row[0] for row in tx.all(_OLD_CRAWLS, values(before=before, before_id=_id_at(before), limit=batch))]


def _find_expired(tx: Tx, retention: Retention, batch: int) -> list[str]:
    expired: list[str] = []
    if retention.max_age_days is not None:
        before = tx.wall_ms - round(retention.max_age_days * _DAY_MS)
        rows = tx.all(_OLD, values(before=before, before_id=_id_at(before), limit=batch))
        expired += [row[0] for row in rows]
    if retention.max_finished_runs is not None and len(expired) < batch:
        finished = int(tx.all(_COUNT)[0][0]) - sum(runs_queries.count_live(tx).values())
        excess = finished - retention.max_finished_runs - len(expired)
        if excess > 0:
            rows = tx.all(_OLDEST, values(limit=min(batch, excess + len(expired))))
            expired += [row[0] for row in rows if row[0] not in set(expired)]
    return expired


def _forget(tx: Tx, run_id: str, *, keep_records: bool) -> None:
    keep_records = keep_records or pinned_runs.is_pinned(tx, run_id)
    tx.run(_DELETE_EVENTS, values(id=run_id))
    tx.run(_DELETE_INTERVENTIONS, values(id=run_id))
    artifacts.forget_of_run(tx, run_id)
    pinned_runs.unpin(tx, run_id)
    if frontier.close(tx, run_id):
        purge.enqueue(tx, run_id, with_records=not keep_records)
    elif not keep_records:
        tx.run(_DELETE_RECORDS, values(id=run_id))
        # Records that stay remain withheld.
        data_verdicts.release(tx, run_id)
    workflow_rows.forget(tx, run_id)
    tx.run(_DELETE_RUN, values(id=run_id))
