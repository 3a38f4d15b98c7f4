"""Lease the next items of a crawl to a worker, within depth, order and the limits of hosts."""

from collections.abc import Sequence

import sqlalchemy as sa

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DEFERRED_DUE, Item
from corral.store.queries.crawl import assignment, helpers, host_limits, losses, order, recrawl
from corral.store.queries.crawl.assignment import AssignedRows
from corral.store.queries.crawl.helpers import POLL_S, CrawlStepContext
from corral.store.queries.crawl.rows import DEPTH, DUE_AT, FOUND_ON, HOST, RANK
from corral.store.tables import items
from corral.store.tx import Row, Tx, is_state, param, values

_LEASE = (
    sa.update(items)
    .where(items.c.id == param("id"), is_state(items.c.state, ItemState.PENDING))
    .values(state=ItemState.LEASED.value, updated_at=param("wall"))
)

Leased = tuple[tuple[Item, ...], float | None]  # items, and the seconds until the next one if none is due now


def lease_items(tx: Tx, context: CrawlStepContext, room: int, assigned: AssignedRows) -> Leased:
    leased, next_due_s = _lease_suspects(tx, context, room) or _lease_due(tx, context, assigned)
    if context.bounds.since is not None and leased:
        leased = recrawl.with_versions(tx, context.bounds.since, leased)
    return leased, next_due_s


def _lease_suspects(tx: Tx, context: CrawlStepContext, room: int) -> Leased | None:
    """Lease pages that may have killed a worker, and nothing else; None if there are none."""
    if not context.has_suspects or room <= 0 or not context.is_coordinator:
        return None
    rows = losses.suspects(tx, context.run_id)
    rows = None if rows is None else assignment.without_helper_hosts(tx, context, rows)
    if not rows:
        return None
    # A worker that is still reading other pages finishes them first.
    is_busy = helpers.count_leased(tx, context) > 0
    return _lease(tx, context, [] if is_busy else rows[:room]), None


def _lease_due(tx: Tx, context: CrawlStepContext, assigned: AssignedRows) -> Leased:
    if not assigned.rows:
        return (), None
    due = [row for row in assigned.rows if row[DUE_AT] <= tx.now_ms]
    if not due:
        return (), max(0.0, (assigned.rows[0][DUE_AT] - tx.now_ms) / 1000)
    chosen = _within_depth(tx, context, due, assigned)
    if not chosen and context.has_helpers:
        return (), POLL_S
    chosen = order.restore(tx, context, chosen)
    limit = context.bounds.max_per_host
    if limit is not None and chosen:
        chosen = _within_host_limit(tx, context, chosen, limit)
        if not chosen:
            return (), 0.0  # the next step brings pages of other hosts
    return _lease(tx, context, chosen), None


def _within_depth(tx: Tx, context: CrawlStepContext, due: Sequence[Row], assigned: AssignedRows) -> Sequence[Row]:
    """Leave out rows deeper than a page that is still unread: its links may reduce their depth.

    Deferred items come last in any case.
    """
    if not context.bounds.by_depth:
        return due
    depth = assignment.depth_limit(tx, context, due, assigned.helpers)
    return [row for row in due if row[DEPTH] <= depth or row[DUE_AT] == DEFERRED_DUE]


def _within_host_limit(tx: Tx, context: CrawlStepContext, rows: Sequence[Row], limit: int) -> list[Row]:
    """Leave out rows whose host has reached its limit, and skip the host's other pending items."""
    allowed = host_limits.within(tx, context.run_id, rows, limit)
    if len(allowed) == len(rows):
        return allowed
    # Lease these first: everything that is pending afterwards is beyond the limit.
    tx.many(_LEASE, [values(id=row[0], wall=tx.wall_ms) for row in allowed])
    ids = {row[0] for row in allowed}
    skipped = host_limits.skip(tx, context.run_id, {row[HOST] for row in rows if row[0] not in ids})
    context.counts.update(pending=-skipped, skipped=skipped)
    return allowed


def _lease(tx: Tx, context: CrawlStepContext, rows: Sequence[Row]) -> tuple[Item, ...]:
    if rows:
        tx.many(_LEASE, [values(id=row[0], wall=tx.wall_ms) for row in rows])
        context.counts.update(pending=-len(rows), leased=len(rows))
    return tuple(_item_of(row) for row in rows)


def _item_of(row: Row) -> Item:
    due_at = row[DUE_AT]
    return Item._make((*row[:DUE_AT], None, due_at > 0, due_at == DEFERRED_DUE, row[FOUND_ON], row[RANK]))
