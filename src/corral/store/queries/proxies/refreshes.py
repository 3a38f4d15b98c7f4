"""Refreshes of the pool, and the runs that check chunks of it."""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import RunNotFound
from corral.domain.proxies.pooled import ProxyState
from corral.domain.proxies.refresh import RefreshProgress, StoredRefresh, progress_of
from corral.domain.runs.event import EventDraft
from corral.domain.runs.run import NewRun, RunState
from corral.store.proxy_tables import proxies, proxy_refreshes
from corral.store.queries.proxies import pool
from corral.store.queries.runs import runs as run_queries
from corral.store.rows import from_json, to_json
from corral.store.tables import runs
from corral.store.tx import Row, Tx, param, values

MakeCheck = Callable[[Sequence[int]], tuple[NewRun, Sequence[EventDraft]]]

refreshes = proxy_refreshes
_MAX_STORED = 100
_RECHECK_CLAIM_S = 600.0
# After this many failed checks in a row, only the next refresh checks a proxy again.
_MAX_RECHECKS = 8
_READ = sa.select(
    refreshes.c.id, refreshes.c.created_at, refreshes.c.chunk_runs, refreshes.c.completed_at, refreshes.c.result_count,
    runs.c.state, runs.c.error_message,
).select_from(refreshes.outerjoin(runs, runs.c.id == refreshes.c.id))  # fmt: skip
_GET = _READ.where(refreshes.c.id == param("id"))
_NEWEST = _READ.order_by(refreshes.c.id.desc()).limit(param("limit"))
_OPEN = _READ.where(refreshes.c.completed_at.is_(None)).order_by(refreshes.c.id)
_INSERT = sa.insert(refreshes).values(id=param("id"), created_at=param("created_at"))
_SET_CHUNKS = (
    sa.update(refreshes)
    .where(refreshes.c.id == param("id"), refreshes.c.chunk_runs.is_(None))
    .values(chunk_runs=param("chunk_runs"))
)
_END = (
    sa.update(refreshes)
    .where(refreshes.c.id == param("id"), refreshes.c.completed_at.is_(None))
    .values(completed_at=param("completed_at"), result_count=param("result_count"))
)
_PURGE = sa.delete(refreshes).where(
    refreshes.c.completed_at.is_not(None),
    refreshes.c.id.not_in(sa.select(refreshes.c.id).order_by(refreshes.c.id.desc()).limit(_MAX_STORED)),
)
_STATE: sa.Select[Any] = sa.select(runs.c.state).where(runs.c.id == param("id"))
_USABLE = sa.select(sa.func.count()).select_from(proxies).where(proxies.c.state == ProxyState.ALIVE.value)
_DUE = (
    sa.select(proxies.c.id)
    .where(
        proxies.c.state.in_([ProxyState.COOLING.value, ProxyState.DEAD.value]),
        proxies.c.cooled_until <= param("wall"),
        proxies.c.cools < _MAX_RECHECKS,
    )
    .order_by(proxies.c.cooled_until)
    .limit(param("limit"))
)
_CLAIM_CHECK = sa.update(proxies).where(proxies.c.id == param("id")).values(cooled_until=param("until"))


def start(tx: Tx, run: NewRun, drafts: Sequence[EventDraft], not_before_s: float | None = None) -> tuple[str, bool]:
    """Add the run of a refresh and return its id and True, or the id of the active refresh and False.

    With `not_before_s`, a refresh that began less than that ago also counts as active.
    """
    pool.lock(tx)
    note_ends(tx)
    newest = tx.all(_NEWEST, values(limit=1))
    if newest:
        is_recent = not_before_s is not None and newest[0][1] > tx.wall_ms - round(not_before_s * 1000)
        if newest[0][3] is None or is_recent:
            return newest[0][0], False
    tx.run(_PURGE)
    tx.run(_INSERT, values(id=run.id, created_at=tx.wall_ms))
    run_queries.add(tx, [(run, drafts)])
    return run.id, True


def add_chunks(tx: Tx, refresh_id: str, chunks: Sequence[tuple[NewRun, Sequence[EventDraft]]]) -> bool:
    """Add the runs that check; False if the refresh already has them because its run was repeated."""
    ids = to_json([run.id for run, _ in chunks])
    if tx.run(_SET_CHUNKS, values(id=refresh_id, chunk_runs=ids)) == 0:
        return False
    run_queries.add(tx, chunks)
    return True


def get(tx: Tx, refresh_id: str) -> RefreshProgress:
    rows = tx.all(_GET, values(id=refresh_id))
    if not rows:
        raise RunNotFound(refresh_id)
    return progress_of(_refresh_of(tx, rows[0]))


def newest(tx: Tx, limit: int) -> list[RefreshProgress]:
    return [progress_of(_refresh_of(tx, row)) for row in tx.all(_NEWEST, values(limit=limit))]


def note_ends(tx: Tx) -> list[RefreshProgress]:
    """Record the ends of refreshes with the number of usable proxies; return the progress of active ones."""
    found = []
    for row in tx.all(_OPEN):
        progress = progress_of(_refresh_of(tx, row))
        if progress.status.is_final:
            ended = values(id=progress.job_id, completed_at=tx.wall_ms, result_count=int(tx.all(_USABLE)[0][0]))
            tx.run(_END, ended)
            progress = get(tx, progress.job_id)
        found.append(progress)
    return found


def open_runs(tx: Tx) -> list[str]:
    """Return the runs of active refreshes that have not ended."""
    found = []
    for row in tx.all(_OPEN):
        found += [row[0], *(from_json(row[2]) if row[2] is not None else ())]
    return [run_id for run_id in found if not _state_of(tx, run_id).is_terminal]


def start_rechecks(tx: Tx, limit: int, make_run: MakeCheck) -> list[NewRun]:
    """Start checks of proxies whose cool-down is over. Only one of several nodes starts them."""
    pool.lock(tx)
    due = [row[0] for row in tx.all(_DUE, values(wall=tx.wall_ms, limit=limit))]
    if not due:
        return []
    until = tx.wall_ms + round(_RECHECK_CLAIM_S * 1000)
    tx.many(_CLAIM_CHECK, [values(id=proxy_id, until=until) for proxy_id in due])
    new = make_run(due)
    run_queries.add(tx, [new])
    return [new[0]]


def _refresh_of(tx: Tx, row: Row) -> StoredRefresh:
    id_, created_at, chunk_runs, completed_at, result_count, state, error = row
    chunks = None if chunk_runs is None else tuple(_state_of(tx, run_id) for run_id in from_json(chunk_runs))
    return StoredRefresh(
        id=id_,
        started_at=created_at / 1000,
        state=RunState.COMPLETED if state is None else RunState(state),  # retention has deleted its run
        chunks=chunks,
        error=error,
        completed_at=None if completed_at is None else completed_at / 1000,
        result_count=result_count,
    )


def _state_of(tx: Tx, run_id: str) -> RunState:
    rows = tx.all(_STATE, values(id=run_id))
    return RunState(rows[0][0]) if rows else RunState.COMPLETED
