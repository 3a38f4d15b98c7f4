"""Records as an inventory: which keys a job or a run has collected."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from corral.domain.coverage.gap import Entry
from corral.domain.coverage.spec import RecordRows
from corral.domain.ports.coverage import RecordPage
from corral.store.rows import from_json
from corral.store.tables import records
from corral.store.tx import Tx, param, values

_BATCH_ROWS = 1000
_COLUMNS = (records.c.id, records.c.data, records.c.created_at)
_OF_RUN = (
    sa.select(*_COLUMNS)
    .where(records.c.run_id == param("owner"), records.c.id > param("after"))
    .order_by(records.c.id)
    .limit(_BATCH_ROWS)
)
_OF_JOB = (
    sa.select(*_COLUMNS)
    .where(records.c.job_id == param("owner"), records.c.id > param("after"))
    .order_by(records.c.id)
    .limit(_BATCH_ROWS)
)


def record_page(tx: Tx, wanted: RecordRows, after: str) -> RecordPage:
    statement, owner = (_OF_RUN, wanted.run_id) if wanted.job_id is None else (_OF_JOB, wanted.job_id)
    rows = tx.all(statement, values(owner=owner, after=after))
    found = [_entry(from_json(data), created_at, wanted.fields) for _, data, created_at in rows]
    entries = [entry for entry in found if entry is not None]
    return RecordPage(entries, len(found) - len(entries), rows[-1][0] if len(rows) == _BATCH_ROWS else None)


def _entry(data: Any, created_at: int, fields: Mapping[str, str]) -> Entry | None:
    found = [value for path in fields.values() if (value := _find(data, path)) is not None]
    return Entry(tuple(found), modified=created_at / 1000) if len(found) == len(fields) else None


def _find(data: Any, path: str) -> str | int | None:
    """Return the value of a field, or of a nested field: `game.id`."""
    value = data
    if isinstance(data, Mapping) and path in data:
        value = data[path]
    else:
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None
