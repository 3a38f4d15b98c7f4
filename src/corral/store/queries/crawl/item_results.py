"""Write the results of items: states, records and discovered links. See frontier for the states."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DiscoveredLink, ItemResult, state_when_found
from corral.domain.crawl.scope import Refusal
from corral.domain.crawl.sharing import COORDINATOR
from corral.store.queries import stored_pages
from corral.store.queries.crawl import assignment, item_records
from corral.store.queries.crawl import room as item_room
from corral.store.queries.crawl.helpers import CrawlStepContext
from corral.store.queries.sites import site_statistics
from corral.store.rows import storable, to_json
from corral.store.tables import items, runs
from corral.store.tx import Tx, insert_params, is_state, param, values

_PENDING = is_state(items.c.state, ItemState.PENDING)
_LEASED = is_state(items.c.state, ItemState.LEASED)
_OF_RUN = items.c.run_id == param("run_id")

# A crawl that makes progress is not the cause of worker deaths: reset its losses.
_RESET_LOSSES = sa.update(runs).where(runs.c.id == param("id"), runs.c.losses > 0).values(losses=0)
_WRITE_RESULT = (
    sa.update(items)
    .where(items.c.id == param("id"), _LEASED)
    .values(
        state=param("state"),
        attempt=items.c.attempt + param("more_attempts"),
        due_at=param("due_at"),
        reason=param("reason"),
        message=param("message"),
        http_status=param("http_status"),
        updated_at=param("wall"),
        version=param("version"),
        change=param("change"),
    )
    .returning(items.c.host, items.c.depth)
)
_INSERT_ITEM = (
    insert(items)
    .values(insert_params(items, without=("id",)))
    .on_conflict_do_nothing(index_elements=["run_id", "url_key"])
)
_IS_DEEPER = (_OF_RUN, items.c.url_key == param("url_key"), items.c.depth > param("depth"))
_NEARER = {"depth": param("depth"), "rank": param("rank"), "parent": param("parent")}
_MOVE_NEARER = sa.update(items).where(*_IS_DEEPER, sa.or_(_PENDING, _LEASED)).values(_NEARER)
# Reset the owner as well: the helper that held the item may no longer exist.
_REQUEUED = {**_NEARER, "state": ItemState.PENDING.value, "reason": sa.null(), "due_at": 0, "helper": COORDINATOR}
_REQUEUE_TOO_DEEP = (
    sa.update(items)
    .where(*_IS_DEEPER, is_state(items.c.state, "skipped"), items.c.reason == Refusal.TOO_DEEP.value)
    .values(_REQUEUED)
)
# A link that one page marks as nofollow may be an ordinary link on another page.
_REQUEUE_NOFOLLOW = (
    sa.update(items)
    .where(
        _OF_RUN,
        items.c.url_key == param("url_key"),
        is_state(items.c.state, "skipped"),
        items.c.reason == Refusal.NOFOLLOW.value,
    )
    .values(_REQUEUED)
)
_REQUEUE_DONE = sa.update(items).where(*_IS_DEEPER, is_state(items.c.state, "done")).values(_REQUEUED)
_READ_AGAIN = (
    sa.update(items)
    .where(items.c.id == param("id"))
    .values(state=ItemState.PENDING.value, reason=sa.null(), message=sa.null(), due_at=0)
)
_INITIAL_STATES = (ItemState.PENDING, ItemState.DEFERRED, ItemState.SKIPPED)

_Link = tuple[DiscoveredLink, int | None]  # a link, and the id of the item whose page contains it


def write_results(tx: Tx, context: CrawlStepContext, results: Sequence[ItemResult]) -> None:
    """Write results of items that are still leased; drop any other result, which came too late."""
    if not results:
        return
    rows = tx.many_returning(_WRITE_RESULT, [_result_values(tx, result) for result in results])
    accepted = [(result, row[0], row[1]) for result, row in zip(results, rows, strict=True) if row is not None]
    site_statistics.add(tx, context.run_id, [(host, result) for result, host, _ in accepted])
    written = [result for result, _, _ in accepted]
    _count_results(context, written)
    if written and context.lease.run.losses:
        tx.run(_RESET_LOSSES, values(id=context.lease.run_id))
    item_records.write_records(tx, context, written)
    stored_pages.keep(tx, context.run_id, written)
    _write_links(tx, context, written)
    _read_nearer_pages_again(tx, context, [(result, depth) for result, _, depth in accepted])
    _shorten_paths(tx, context, written)


def _count_results(context: CrawlStepContext, results: Iterable[ItemResult]) -> None:
    for result in results:
        context.counts["leased"] -= 1
        context.counts[result.state.value] += 1
        context.counts.update(size=result.size, dropped=result.dropped, merged=result.merged)
        context.counts.update(requests=result.requests, took_ms=result.took_ms)
        context.counts.update(browser_ms=result.browser_ms, cpu_ms=result.cpu_ms, proxy_nanos=result.proxy_nanos)
        if result.requests or result.browser_ms:  # a page that its host deferred says nothing about the site
            context.latency.add(result.took_ms)


def _write_links(tx: Tx, context: CrawlStepContext, results: Sequence[ItemResult]) -> None:
    """Write the links of these results, up to the item limit of the crawl."""
    links = [(link, result.id) for result in results for link in result.found]
    limit = context.bounds.max_items
    room = None if limit is None else max(0, limit - context.item_counts.discovered)
    fitting, lost = item_room.fit(tx, context.run_id, links, room)
    has_skipped = context.counts["skipped"] > 0
    context.counts.update(insert_links(tx, context.run_id, fitting, context, has_skipped=has_skipped))
    context.counts.update(dropped=lost)


def _read_nearer_pages_again(tx: Tx, context: CrawlStepContext, results: Iterable[tuple[ItemResult, int]]) -> None:
    """Read a page again if a shorter path to it was found meanwhile: its links have a smaller depth, too."""
    for result, depth in results:
        is_read = result.state in (ItemState.DONE, ItemState.SKIPPED)
        if result.depth is not None and depth < result.depth and is_read:
            tx.run(_READ_AGAIN, values(id=result.id))
            context.counts.update({result.state.value: -1, "pending": 1})


def _shorten_paths(tx: Tx, context: CrawlStepContext, results: Sequence[ItemResult]) -> None:
    """Apply the shorter paths of pages that were read after deeper ones.

    An item that was refused for its depth becomes pending. An item that was read at a greater depth is read again,
    because its links were judged by that depth.
    """
    nearer = [
        values(run_id=context.run_id, url_key=link.key, depth=link.depth, rank=link.rank, parent=result.id)
        for result in results
        if result.is_late
        for link in result.found
        if link.reason is None
    ]
    if not nearer:
        return
    tx.many(_MOVE_NEARER, nearer)
    wanted = tx.many(_REQUEUE_TOO_DEEP, nearer)
    again = tx.many(_REQUEUE_DONE, nearer)
    context.counts.update(pending=wanted + again, skipped=-wanted, done=-again)


def _result_values(tx: Tx, result: ItemResult) -> dict[str, Any]:
    is_retry = result.state is ItemState.PENDING
    return values(
        id=result.id,
        state=result.state.value,
        more_attempts=1 if is_retry and result.counts else 0,
        due_at=tx.now_ms + round(result.due_in_s * 1000) if is_retry else 0,
        reason=result.reason,
        message=storable(result.message[:2000]) if result.message else _describe_dropped(result),
        http_status=result.http_status,
        wall=tx.wall_ms,
        version=None if result.version is None else to_json(list(result.version)),
        change=None if result.change is None else result.change.value,
    )


def _describe_dropped(result: ItemResult) -> str | None:
    return f"links_dropped={result.dropped}" if result.dropped else None


def insert_links(
    tx: Tx, run_id: str, links: Sequence[_Link], context: CrawlStepContext | None = None, *, has_skipped: bool = False
) -> dict[str, int]:
    """Insert new links as items; return the change of the crawl's counts."""
    is_helper = context is not None and not context.is_coordinator
    own = assignment.hosts_of_helper(tx, context, links) if context is not None and is_helper else ()
    rows: dict[ItemState, list[dict[str, Any]]] = {state: [] for state in _INITIAL_STATES}
    for link, parent in links:
        is_own = link.host in own and not link.reason
        number = context.number if context is not None and is_own else COORDINATOR
        rows[state_when_found(link)].append(_item_values(tx, run_id, link, parent, number))
    # Pending links first: a link that one page refuses and another one offers is read.
    pending = rows[ItemState.PENDING]
    followed = tx.many(_REQUEUE_NOFOLLOW, pending) if pending and has_skipped else 0
    new = {state.value: tx.many(_INSERT_ITEM, each) if each else 0 for state, each in rows.items()}
    return {**new, "pending": new["pending"] + followed, "skipped": new["skipped"] - followed}


def _item_values(tx: Tx, run_id: str, link: DiscoveredLink, parent: int | None, helper: int) -> dict[str, Any]:
    return values(
        run_id=run_id,
        url_key=link.key,
        url=link.url,
        host=link.host,
        depth=link.depth,
        rank=link.rank,
        state=state_when_found(link).value,
        attempt=1,
        due_at=0,
        parent=parent,
        reason=link.reason,
        message=link.message,
        http_status=None,
        updated_at=tx.wall_ms,
        kind=link.kind,
        losses=0,
        version=None,
        change=None,
        lastmod=link.lastmod,
        helper=helper,
    )
