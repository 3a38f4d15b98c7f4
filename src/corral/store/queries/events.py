"""The history of runs: written in the transaction it describes, numbered per run without gaps."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.runs.event import Event, EventDraft
from corral.store.rows import event_of, to_json
from corral.store.tables import events
from corral.store.tx import Tx, insert_all, param, values

_COLUMNS = [events.c[name] for name in ("position", "run_id", "seq", "kind", "meta", "created_at")]
_INSERT = insert_all(events, without=("position",))
_OF_RUN = (
    sa.select(*_COLUMNS)
    .where(events.c.run_id == param("run_id"), events.c.seq > param("after"))
    .order_by(events.c.seq)
    .limit(param("limit"))
)
# The size limit of one event; the error text of a page must not fill the database.
_MAX_META_BYTES = 64 * 1024 + 8 * 1024
_SMALL_BYTES = 1024
# The maximum bytes of one character, written as an escape.
_ESCAPED_BYTES = 6


def rows_for(run_id: str, last_seq: int, drafts: Sequence[EventDraft], wall_ms: int) -> list[dict[str, Any]]:
    """Return the rows for events that end at `last_seq`, the new number of the run's last event."""
    first = last_seq - len(drafts) + 1
    return [
        values(run_id=run_id, seq=number, kind=draft.kind.value, meta=_limit_meta(draft.meta), created_at=wall_ms)
        for number, draft in enumerate(drafts, start=first)
    ]


def _limit_meta(meta: dict[str, Any]) -> str:
    text = to_json(meta)
    if len(text) <= _MAX_META_BYTES:
        return text
    large = {key for key, value in meta.items() if len(to_json(value)) > _SMALL_BYTES}
    room = _MAX_META_BYTES // _ESCAPED_BYTES // max(1, len(large))
    small = {key: value for key, value in meta.items() if key not in large}
    # The end of a long text matters most: the last output of a process, or the end of a traceback.
    cut = {key: meta[key][-room:] for key in large if isinstance(meta[key], str)}
    return to_json({**small, **cut, "truncated": True})


def insert(tx: Tx, rows: list[dict[str, Any]]) -> None:
    if rows:
        tx.many(_INSERT, rows)


def of_run(tx: Tx, run_id: str, after: int, limit: int) -> list[Event]:
    return [event_of(row) for row in tx.all(_OF_RUN, values(run_id=run_id, after=after, limit=limit))]
