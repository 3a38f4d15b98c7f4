"""Pages that the pace of their host sent back keep their place in the order of the frontier.

The time that such a page comes back at is a turn at its host, and not its own: the first pages of the host, in the
order in which they were found, get the turns that come first.
"""

from collections.abc import Sequence
from itertools import groupby

import sqlalchemy as sa

from corral.domain.crawl import ItemState
from corral.domain.gate import WaitReason
from corral.domain.item import DEFERRED_DUE
from corral.store.item_rows import DEPTH, DUE_AT, HOST, NEXT, RANK, REASON, WITH_PARENTS
from corral.store.item_shares import Hand
from corral.store.tables import items
from corral.store.tx import Row, Tx, is_state, param, values

_PACED = f"waiting:{WaitReason.PACE.value}"

_WAITING = (
    items.c.run_id == param("run_id"),
    is_state(items.c.state, ItemState.PENDING),
    items.c.share == param("share"),
    items.c.due_at > sa.literal_column(str(DEFERRED_DUE)),
    items.c.reason == _PACED,
)
_HAS_WAITING = sa.select(items.c.id).where(*_WAITING).limit(1)
_EARLIEST = (
    sa.select(*NEXT)
    .select_from(WITH_PARENTS)
    .where(*_WAITING, items.c.host == param("host"), items.c.depth <= param("depth"))
    .order_by(items.c.rank, items.c.id)
    .limit(param("limit"))
)
_PUT_OFF = sa.update(items).where(items.c.id == param("id")).values(due_at=param("due_at"), reason=_PACED)


def restore(tx: Tx, hand: Hand, chosen: Sequence[Row]) -> Sequence[Row]:
    """As many pages of each host as were chosen; those that were found first, although a later time was booked."""
    key = values(run_id=hand.run_id, share=hand.share)
    if not chosen or not tx.all(_HAS_WAITING, key):
        return chosen
    # One that is tried again after a failure, or that was deferred, has a time of its own.
    fixed = [row for row in chosen if row[DUE_AT] > 0 and row[REASON] != _PACED]
    ids = {row[0] for row in fixed}
    found = list(fixed)
    for host, rows in groupby(sorted((row for row in chosen if row[0] not in ids), key=_by_host), key=_by_host):
        due = list(rows)
        asked = values(host=host, depth=max(row[DEPTH] for row in due), limit=len(due))
        every = {row[0]: row for row in (*due, *tx.all(_EARLIEST, {**key, **asked}))}
        ordered = sorted(every.values(), key=_in_order)
        first = ordered[: len(due)]
        _exchange(tx, due, first)
        found += first
    return sorted(found, key=lambda row: (row[DUE_AT] == DEFERRED_DUE, _in_order(row)))


def _exchange(tx: Tx, due: Sequence[Row], first: Sequence[Row]) -> None:
    """Pages that were due wait instead of those that go before them."""
    going, were_due = {row[0] for row in first}, {row[0] for row in due}
    times = sorted(row[DUE_AT] for row in first if row[0] not in were_due)
    displaced = sorted((row for row in due if row[0] not in going), key=_in_order)
    if displaced:
        tx.many(_PUT_OFF, [values(id=row[0], due_at=due_at) for row, due_at in zip(displaced, times, strict=True)])


def _by_host(row: Row) -> str:
    return str(row[HOST])


def _in_order(row: Row) -> tuple[float, int]:
    return row[RANK], row[0]
