"""The frontier of a crawl: one transaction writes the results of a worker's items and leases the next ones to it.

    discovered ──► PENDING ──lease──► LEASED ──result──► DONE | FAILED | SKIPPED | MISSING
        │           ▲  ▲  ▲              │                 │        │
        │           │  │  └── retry, ────┘                 │        │
        │           │  │      release                      │        │
        │           │  └── a nearer path to the page is found ──────┘  (a DONE page is read again; a page that was
        │           │                                                   SKIPPED as too deep or nofollow is read)
        ├──► DEFERRED ──promote──► PENDING      (nothing else is left to read)
        │       └──────refuse────► SKIPPED      (its template proved to be endless)
        └──► SKIPPED                            (a rule refuses the link)

`crawls` holds the number of items in each state; every change of an item goes with a change of these counts in the same
transaction. A step has these phases:

    verify_lease      lock the crawl; refuse a worker that lost its lease
    _start_claim      the first step of a claim: release what the previous claim held, copy an earlier crawl
    write_results     results, records, pages and statistics of items that ended; their links as new items
    _release_lost     items that the worker does not hold: handed out in an answer that never arrived
    _write_traps      what the worker learned about templates
    assign_rows       which hosts and rows are this worker's (see assignment)
    lease_items       lease as many of these rows as it wants and the limits allow
    _save_counts
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.cost.spent import Spent
from corral.domain.crawl.budgets import room_in
from corral.domain.crawl.crawl import Bounds
from corral.domain.crawl.item import Batch, BatchReport, DiscoveredLink, Item
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import Lease, NewRun
from corral.store.queries.crawl import (
    assignment,
    helpers,
    host_limits,
    item_leases,
    item_records,
    item_results,
    recrawl,
)
from corral.store.queries.crawl import traps as item_traps
from corral.store.queries.crawl.assignment import AssignedRows
from corral.store.queries.crawl.helpers import COUNTED, CrawlStepContext
from corral.store.queries.runs import runs as runs_queries
from corral.store.rows import to_json
from corral.store.tables import crawls
from corral.store.tx import Tx, insert_all, param, values

_OPEN = insert_all(crawls, without=("suspects", "copied", "has_helpers", "latency"))
_SAVE_COUNTS = (
    sa.update(crawls)
    .where(crawls.c.run_id == param("run_id"))
    .values(
        {name: param(name) for name in (*COUNTED, "epoch", "updated_at", "latency")}
        | {"current_url": sa.func.coalesce(param("current_url"), crawls.c.current_url)}
    )
)
_IS_OPEN = sa.select(crawls.c.run_id).where(crawls.c.run_id == param("run_id"))
_DELETE_CRAWL = sa.delete(crawls).where(crawls.c.run_id == param("run_id"))


def add_crawl(
    tx: Tx, run: NewRun, drafts: Sequence[EventDraft], seeds: Sequence[DiscoveredLink], key: IdempotencyKey | None
) -> tuple[str, bool]:
    """Write a run with its first items and return its id. For a key used before, return the earlier id and True."""
    [run_id], is_replayed = runs_queries.add(tx, [(run, drafts)], key)
    if run_id == run.id:
        _open_crawl(tx, run.id, seeds)
    return run_id, is_replayed


def _open_crawl(tx: Tx, run_id: str, seeds: Sequence[DiscoveredLink]) -> None:
    if tx.is_repeat and tx.all(_IS_OPEN, values(run_id=run_id)):
        return
    counts = dict.fromkeys(COUNTED, 0) | item_results.insert_links(tx, run_id, [(seed, None) for seed in seeds])
    tx.run(_OPEN, values(run_id=run_id, epoch=0, current_url=None, updated_at=tx.wall_ms, **counts))


def step(tx: Tx, lease: Lease, report: BatchReport, bounds: Bounds) -> Batch | None:
    """Write the results of items and lease more of them; None if the lease of the run was lost."""
    context = helpers.verify_lease(tx, lease, bounds)
    if not isinstance(context, CrawlStepContext):
        return context
    is_copying = _start_claim(tx, context)
    item_results.write_results(tx, context, report.ended)
    _release_lost(tx, context, report)
    if report.is_last:
        helpers.leave(tx, context)
        item_records.clear_duplicate_keys(tx, context)
    traps = _write_traps(tx, context, report)
    room = int(min(report.want, room_in(bounds, context.item_counts, Spent.of(context.counts))))
    assigned = _assign_rows(tx, context, report, room)
    leased, next_due_s = item_leases.lease_items(tx, context, room, assigned)
    if is_copying and not leased:
        next_due_s = 0.0
    _save_counts(tx, context, leased)
    counts = context.counts
    batch = Batch(leased, context.item_counts, counts["size"], next_due_s, dropped=counts["dropped"], traps=traps)
    if report.is_last:
        batch = batch._replace(latency=context.latency.document())
    return assignment.complete_batch(
        tx, context, assigned, batch._replace(merged=counts["merged"], spent=Spent.of(counts)), room
    )


def _start_claim(tx: Tx, context: CrawlStepContext) -> bool:
    """Continue where an earlier claim or an earlier crawl ended; True while items of that crawl remain to be copied."""
    if not context.is_coordinator:
        return False
    if context.epoch != context.lease.epoch:
        _release_items(tx, context)
    return _copy_earlier_crawl(tx, context)


def _copy_earlier_crawl(tx: Tx, context: CrawlStepContext) -> bool:
    since = context.bounds.since
    if since is None or context.copied == recrawl.FINISHED:
        return False
    links, copied = recrawl.earlier(tx, context.run_id, since, context.copied)
    context.counts.update(item_results.insert_links(tx, context.run_id, [(link, None) for link in links]))
    return copied != recrawl.FINISHED


def _release_lost(tx: Tx, context: CrawlStepContext, report: BatchReport) -> None:
    """Release items that are leased to this worker although it does not hold them."""
    if helpers.count_leased(tx, context) != len(report.holding):
        _release_items(tx, context, frozenset(report.holding))


def _release_items(tx: Tx, context: CrawlStepContext, except_: frozenset[int] = frozenset()) -> None:
    helpers.release_items(tx, context, except_)
    if context.bounds.max_per_host is not None:
        host_limits.recount(tx, context.run_id)


def _write_traps(tx: Tx, context: CrawlStepContext, report: BatchReport) -> dict[str, Any] | None:
    if report.traps is None:
        return None
    answer, refused = item_traps.write(tx, context, report.traps)
    context.counts.update(deferred=-refused, skipped=refused)
    return answer


def _assign_rows(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> AssignedRows:
    """Assign pending rows; if none are left, promote deferred ones and assign those."""
    assigned = assignment.assign_rows(tx, context, report, room)
    if item_traps.promote(tx, context, room, assigned.rows, len(report.holding)):
        assigned = assignment.assign_rows(tx, context, report, room)
    return assigned


def _save_counts(tx: Tx, context: CrawlStepContext, leased: Sequence[Item]) -> None:
    epoch = context.lease.epoch if context.is_coordinator else context.epoch
    current_url = leased[-1].url if leased else None
    key = values(run_id=context.run_id, epoch=epoch, current_url=current_url, updated_at=tx.wall_ms)
    latency = to_json(context.latency.to_counts())
    tx.run(_SAVE_COUNTS, {**key, "latency": latency, **{name: context.counts[name] for name in COUNTED}})


def close(tx: Tx, run_id: str) -> bool:
    """Delete a crawl. Its items stay until the purge deletes them in batches."""
    host_limits.forget(tx, run_id)
    item_traps.forget(tx, run_id)
    helpers.forget(tx, run_id)
    return tx.run(_DELETE_CRAWL, values(run_id=run_id)) > 0
