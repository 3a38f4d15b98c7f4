"""Keep pages that had to wait for their host in the order of the frontier.

The time at which such a page becomes due is a slot of its host: the first slots go to the pages of the host that were
found first. Deferred pages come after all others of their host.
"""

from collections.abc import Sequence
from itertools import groupby

import sqlalchemy as sa

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DEFERRED_DUE, deferral_reason
from corral.domain.runs.outcome import WaitReason
from corral.store.queries.crawl.helpers import CrawlStepContext
from corral.store.queries.crawl.rows import DEPTH, DUE_AT, HOST, NEXT, RANK, REASON, WITH_PARENTS
from corral.store.tables import items
from corral.store.tx import Row, Tx, is_state, param, values

_WAITS = tuple(deferral_reason(reason) for reason in WaitReason)

_WAITING = (
    items.c.run_id == param("run_id"),
    is_state(items.c.state, ItemState.PENDING),
    items.c.helper == param("helper"),
    items.c.due_at > sa.literal_column(str(DEFERRED_DUE)),
    items.c.reason.in_(_WAITS),
)
_HAS_WAITING = sa.select(items.c.id).where(*_WAITING).limit(1)
_EARLIEST = (
    sa.select(*NEXT)
    .select_from(WITH_PARENTS)
    .where(*_WAITING, items.c.host == param("host"), items.c.depth <= param("depth"))
    .order_by(items.c.rank, items.c.id)
    .limit(param("limit"))
)
_PUT_OFF = sa.update(items).where(items.c.id == param("id")).values(due_at=param("due_at"), reason=param("reason"))


def restore(tx: Tx, context: CrawlStepContext, chosen: Sequence[Row]) -> Sequence[Row]:
    """Return as many pages per host as were chosen, in order of discovery, even if they are booked for a later time."""
    key = values(run_id=context.run_id, helper=context.number)
    if not chosen or not tx.all(_HAS_WAITING, key):
        return chosen
    # The retry of a failed page has its own time.
    found = [row for row in chosen if _is_retry(row)]
    others = sorted((row for row in chosen if not _is_retry(row)), key=_by_host)
    for host, rows in groupby(others, key=_by_host):
        due = list(rows)
        params = values(host=host, depth=max(row[DEPTH] for row in due), limit=len(due))
        every = {row[0]: row for row in (*due, *tx.all(_EARLIEST, {**key, **params}))}
        first = sorted(every.values(), key=_in_order)[: len(due)]
        _exchange(tx, due, first)
        found += first
    return sorted(found, key=_in_order)


def _exchange(tx: Tx, due: Sequence[Row], first: Sequence[Row]) -> None:
    """Book the displaced pages for the times of the pages that overtake them. Deferred pages are last and stay."""
    going, were_due = {row[0] for row in first}, {row[0] for row in due}
    booked = sorted((row[DUE_AT], row[REASON]) for row in first if row[0] not in were_due)
    displaced = sorted((row for row in due if row[0] not in going and not _is_deferred(row)), key=_in_order)
    if displaced:
        turns = zip(displaced, booked, strict=False)
        tx.many(_PUT_OFF, [values(id=row[0], due_at=due_at, reason=reason) for row, (due_at, reason) in turns])


def _is_deferred(row: Row) -> bool:
    return bool(row[DUE_AT] == DEFERRED_DUE)


def _is_retry(row: Row) -> bool:
    return row[DUE_AT] > 0 and not _is_deferred(row) and row[REASON] not in _WAITS


def _by_host(row: Row) -> str:
    return str(row[HOST])


def _in_order(row: Row) -> tuple[bool, float, int]:
    return _is_deferred(row), row[RANK], row[0]
