"""The events of all runs in one order, which never skips an event that is still being written.

SQLite has one writer, so positions appear in order. PostgreSQL assigns positions before the commit: a missing one may
still appear, or never (its transaction was rolled back, or the event was pruned). A reader that passes it too early
never sees it. So the reader stops there until every transaction that may own the position is over.
"""

import time
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from corral.domain.runs.event import Event
from corral.store.rows import event_of
from corral.store.tables import events
from corral.store.tx import FeedGaps, Row, Tx, param, values

_COLUMNS = [events.c[name] for name in ("position", "run_id", "seq", "kind", "meta", "created_at")]
_FEED = sa.select(*_COLUMNS).where(events.c.position > param("after")).order_by(events.c.position).limit(param("limit"))
_LAST_POSITION = sa.select(sa.func.coalesce(sa.func.max(events.c.position), 0))
_NEWEST = sa.select(events.c.position).order_by(events.c.position.desc()).limit(500)
# A writer gets its number before it takes a position, so every position up to now has a smaller number than this.
_NUMBER: Any = sa.select(sa.text("pg_current_xact_id()::text::bigint"))
_OLDEST_OPEN: Any = sa.select(sa.text("pg_snapshot_xmin(pg_current_snapshot())::text::bigint"))

_WAIT_S = 0.5
_POLL_S = 0.002


def _watch(tx: Tx, gaps: FeedGaps, position: int) -> None:
    """Start to watch whether positions missing before this one will appear."""
    if gaps.waiting is None:
        gaps.waiting = (position, int(tx.all(_NUMBER)[0][0]))


def _settle(tx: Tx, gaps: FeedGaps) -> None:
    """Settle the watched position once every transaction that may own an earlier one is over."""
    waiting = gaps.waiting
    if waiting is not None and int(tx.all(_OLDEST_OPEN)[0][0]) >= waiting[1]:
        gaps.settled = max(gaps.settled, waiting[0])
        gaps.waiting = None


def feed(tx: Tx, after: int, limit: int) -> list[Event]:
    """Return events after a position; a later call never returns an earlier event."""
    if tx.gaps is not None:
        # Read this before the rows: an event of a transaction that is open now would be missing among them.
        _settle(tx, tx.gaps)
    rows = tx.all(_FEED, values(after=after, limit=limit))
    if tx.gaps is not None and rows:
        known = _count_known(rows, after, tx.gaps.settled)
        if known < len(rows):
            _watch(tx, tx.gaps, rows[-1][0])
        rows = rows[:known]
    return [event_of(row) for row in rows]


def _count_known(rows: list[Row], after: int, settled: int) -> int:
    """Return the number of rows before the first position that may still appear."""
    if rows[-1][0] == after + len(rows):
        return len(rows)
    expected = after + 1
    for number, row in enumerate(rows):
        if row[0] != expected and row[0] > settled:
            return number
        expected = row[0] + 1
    return len(rows)


def last_position(tx: Tx) -> int:
    """Return the current end of the feed: a reader that continues from here misses nothing committed later."""
    last = int(tx.all(_LAST_POSITION)[0][0])
    gaps = tx.gaps
    if gaps is None:
        return last
    deadline = time.monotonic() + _WAIT_S
    while gaps.settled < last and time.monotonic() < deadline:
        _watch(tx, gaps, last)
        _settle(tx, gaps)
        if gaps.settled < last:
            time.sleep(_POLL_S)
    return last if gaps.settled >= last else _before_gaps(tx)


def _before_gaps(tx: Tx) -> int:
    """Return the last position before the first gap among the newest events, while another transaction is open."""
    found = [row[0] for row in tx.all(_NEWEST)]
    answer = found[0] if found else 0
    for later, earlier in pairwise(found):
        if later != earlier + 1:
            answer = earlier
    return int(answer)
