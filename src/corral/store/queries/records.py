"""Records: the extracted results."""

from typing import Any

import sqlalchemy as sa

from corral.domain.errors import RecordNotFound
from corral.domain.runs.record import Record, RecordFilter
from corral.store.queries.runs.data_verdicts import IS_ORDINARY, VERDICT_OF_RECORD
from corral.store.rows import record_of
from corral.store.tables import records
from corral.store.tx import LAST_ID, Tx, param, values

_WITH_VERDICT = sa.select(*records.c, VERDICT_OF_RECORD)
_OLDEST_FIRST = (
    _WITH_VERDICT.where(records.c.run_id == param("run_id"), records.c.id > param("after"))
    .order_by(records.c.id)
    .limit(param("limit"))
)
_DELETE = sa.delete(records).where(records.c.id == param("id"))


def _conditions(wanted: RecordFilter) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = []
    if wanted.job_id is not None:
        found.append(records.c.job_id == param("job_id"))
    if wanted.run_id is not None:
        found.append(records.c.run_id == param("run_id"))
    if wanted.from_ms is not None:
        found.append(records.c.created_at >= param("from_ms"))
    if wanted.to_ms is not None:
        found.append(records.c.created_at < param("to_ms"))
    if wanted.is_only_ordinary:
        found.append(IS_ORDINARY)
    return found


def _filter_values(wanted: RecordFilter) -> dict[str, Any]:
    return values(job_id=wanted.job_id, run_id=wanted.run_id, from_ms=wanted.from_ms, to_ms=wanted.to_ms)


_LISTINGS: dict[tuple[bool, ...], tuple[sa.Select[Any], Any]] = {}


def _statements(wanted: RecordFilter) -> tuple[sa.Select[Any], Any]:
    """Return the listing and the statistics statements for this combination of filters, built once each."""
    has_value = (value is not None for value in (wanted.job_id, wanted.run_id, wanted.from_ms, wanted.to_ms))
    shape = (*has_value, wanted.is_only_ordinary)
    if shape not in _LISTINGS:
        conditions = _conditions(wanted)
        listing: sa.Select[Any] = (
            _WITH_VERDICT.where(records.c.id < param("before"), *conditions)
            .order_by(records.c.id.desc())
            .limit(param("limit"))
        )
        counted: Any = sa.select(
            sa.func.count(),
            sa.func.count(sa.distinct(records.c.run_id)),
            sa.func.count(sa.distinct(records.c.job_id)),
            sa.func.min(records.c.created_at),
            sa.func.max(records.c.created_at),
        ).where(*conditions)
        _LISTINGS[shape] = (listing, counted)
    return _LISTINGS[shape]


def of_run(tx: Tx, run_id: str, after: str, limit: int) -> list[Record]:
    """Return a run's records in the order of writing."""
    return [record_of(row) for row in tx.all(_OLDEST_FIRST, values(run_id=run_id, after=after, limit=limit))]


def newest(tx: Tx, wanted: RecordFilter, before: str | None, limit: int) -> list[Record]:
    listing, _ = _statements(wanted)
    params = {**_filter_values(wanted), **values(before=before or LAST_ID, limit=limit)}
    return [record_of(row) for row in tx.all(listing, params)]


def statistics(tx: Tx, wanted: RecordFilter) -> tuple[int, int, int, int | None, int | None]:
    """Return the number of records, runs and jobs, and the times of the first and last record."""
    _, counted = _statements(wanted)
    total, run_count, job_count, first, last = tx.all(counted, _filter_values(wanted))[0]
    return total, run_count, job_count, first, last


def delete(tx: Tx, record_id: str) -> None:
    if tx.run(_DELETE, values(id=record_id)) == 0:
        raise RecordNotFound(record_id)
