"""The history of runs: written in the transaction it describes, numbered per run without gaps."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.event import Event, EventDraft
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
_FEED = (
    sa.select(*_COLUMNS)
    .where(events.c.position > param("after"))
    .order_by(events.c.position)
    .limit(param("limit"))
)
# Rows of a transaction that began before the oldest one still open cannot be followed by an earlier position.
_FEED_POSTGRES = _FEED.where(
    sa.literal_column("transaction_id") < sa.text("pg_snapshot_xmin(pg_current_snapshot())::text::bigint")
)
_LAST_POSITION = sa.select(sa.func.coalesce(sa.func.max(events.c.position), 0))

# What one history line may carry; a page's error text must not fill the database.
_MAX_META_BYTES = 64 * 1024 + 8 * 1024


def rows_for(
    run_id: str, last_seq: int, drafts: Sequence[EventDraft], wall_ms: int
) -> Iterable[dict[str, Any]]:
    """Rows for events that end at `last_seq`, which the run's own row has just been raised to."""
    first = last_seq - len(drafts) + 1
    for number, draft in enumerate(drafts, start=first):
        yield values(
            run_id=run_id, seq=number, kind=draft.kind.value, meta=_bounded(draft.meta), created_at=wall_ms
        )


def _bounded(meta: dict[str, Any]) -> str:
    text = to_json(meta)
    if len(text) <= _MAX_META_BYTES:
        return text
    kept = {key: value for key, value in meta.items() if len(to_json(value)) <= 1024}
    return to_json({**kept, "truncated": True})


def insert(tx: Tx, rows: list[dict[str, Any]]) -> None:
    tx.many(_INSERT, rows)


def of_run(tx: Tx, run_id: str, after: int, limit: int) -> list[Event]:
    return [event_of(row) for row in tx.all(_OF_RUN, values(run_id=run_id, after=after, limit=limit))]


def feed(tx: Tx, after: int, limit: int) -> list[Event]:
    """Events of all runs in the order they were committed."""
    statement = _FEED_POSTGRES if tx.is_postgres else _FEED
    return [event_of(row) for row in tx.all(statement, values(after=after, limit=limit))]


def last_position(tx: Tx) -> int:
    return int(tx.all(_LAST_POSITION)[0][0])
