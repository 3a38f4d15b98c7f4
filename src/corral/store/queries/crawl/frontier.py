"""The frontier of a crawl. What a page was, what was found on it and its own end are written in one transaction."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.crawl import Bounds, Counts, ItemState, room_in
from corral.domain.crawl.item import (
    DEFERRED_DUE,
    Batch,
    BatchReport,
    DiscoveredLink,
    Item,
    ItemResult,
    state_when_found,
)
from corral.domain.crawl.scope import Refusal
from corral.domain.crawl.sharing import OWN
from corral.domain.ids import new_id
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import Lease, NewRun
from corral.store.queries import stored_pages
from corral.store.queries.crawl import assignment, helpers, host_limits, losses, order, recrawl
from corral.store.queries.crawl import room as item_room
from corral.store.queries.crawl import traps as item_traps
from corral.store.queries.crawl.assignment import Dealt
from corral.store.queries.crawl.helpers import COUNTED, POLL_S, CrawlStepContext
from corral.store.queries.crawl.rows import DEPTH, DUE_AT, FOUND_ON, HOST, RANK
from corral.store.queries.runs import runs as runs_queries
from corral.store.queries.sites import site_statistics
from corral.store.rows import packed_json, storable, to_json
from corral.store.tables import crawls, items, records, runs
from corral.store.tx import Row, Tx, insert_all, insert_params, is_state, param, values

_PENDING = is_state(items.c.state, ItemState.PENDING)
_LEASED = is_state(items.c.state, ItemState.LEASED)
_OF_RUN = items.c.run_id == param("run_id")
_COUNTS = tuple(crawls.c[name] for name in COUNTED)

_OPEN = insert_all(crawls, without=("suspects", "copied", "has_helpers"))
_KEEP = (
    sa.update(crawls)
    .where(crawls.c.run_id == param("run_id"))
    .values(
        {name: param(name) for name in (*COUNTED, "epoch", "updated_at")}
        | {"current_url": sa.func.coalesce(param("current_url"), crawls.c.current_url)}
    )
)
# A run that gets on is no poison: workers that died before are not held against it.
_GETS_ON = sa.update(runs).where(runs.c.id == param("id"), runs.c.losses > 0).values(losses=0)
_END = (
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
_FIND = (
    insert(items)
    .values(insert_params(items, without=("id",)))
    .on_conflict_do_nothing(index_elements=["run_id", "url_key"])
)
_KEPT = insert(records).values(insert_params(records)).on_conflict_do_nothing(index_elements=["run_id", "item_key"])
# Read again because it lies nearer than it seemed.
_KEPT_AGAIN = (
    insert(records)
    .values(insert_params(records))
    .on_conflict_do_update(index_elements=["run_id", "item_key"], set_={"data": param("data")})
)
_DEEPER = (_OF_RUN, items.c.url_key == param("url_key"), items.c.depth > param("depth"))
_NEARER = {"depth": param("depth"), "rank": param("rank"), "parent": param("parent")}
_MOVE_UP = sa.update(items).where(*_DEEPER, sa.or_(_PENDING, _LEASED)).values(_NEARER)
# Whose it is, is dealt anew: who had it then may be gone.
_LIFTED = {**_NEARER, "state": ItemState.PENDING.value, "reason": sa.null(), "due_at": 0, "helper": OWN}
_LIFT = (
    sa.update(items)
    .where(*_DEEPER, is_state(items.c.state, "skipped"), items.c.reason == Refusal.TOO_DEEP.value)
    .values(_LIFTED)
)
# One page asks us not to follow a link, another one does not mind.
_FOLLOW = (
    sa.update(items)
    .where(
        _OF_RUN,
        items.c.url_key == param("url_key"),
        is_state(items.c.state, "skipped"),
        items.c.reason == Refusal.NOFOLLOW.value,
    )
    .values(_LIFTED)
)
_AGAIN = sa.update(items).where(*_DEEPER, is_state(items.c.state, "done")).values(_LIFTED)
_READ_AGAIN = (
    sa.update(items)
    .where(items.c.id == param("id"))
    .values(state=ItemState.PENDING.value, reason=sa.null(), message=sa.null(), due_at=0)
)
_LEASE = (
    sa.update(items)
    .where(items.c.id == param("id"), _PENDING)
    .values(state=ItemState.LEASED.value, updated_at=param("wall"))
)
_COUNTS_OF = sa.select(*_COUNTS, crawls.c.current_url, crawls.c.updated_at).where(crawls.c.run_id == param("run_id"))
_FOUND_STATES = (ItemState.PENDING, ItemState.DEFERRED, ItemState.SKIPPED)
_DELETE_CRAWL = sa.delete(crawls).where(crawls.c.run_id == param("run_id"))


def add_crawl(
    tx: Tx, run: NewRun, drafts: Sequence[EventDraft], seeds: Sequence[DiscoveredLink], key: IdempotencyKey | None
) -> tuple[str, bool]:
    """Write a run with where it begins. With a key seen before: the id from then, and True."""
    [found], is_replayed = runs_queries.add(tx, [(run, drafts)], key)
    if found == run.id:
        _open(tx, run.id, seeds)
    return found, is_replayed


def _open(tx: Tx, run_id: str, seeds: Sequence[DiscoveredLink]) -> None:
    if tx.is_repeat and tx.all(_COUNTS_OF, values(run_id=run_id)):
        return
    counted = _found(tx, run_id, [(seed, None) for seed in seeds])
    empty = dict.fromkeys(COUNTED, 0)
    tx.run(_OPEN, values(run_id=run_id, epoch=0, current_url=None, updated_at=tx.wall_ms, **{**empty, **counted}))


def step(tx: Tx, lease: Lease, report: BatchReport, bounds: Bounds) -> Batch | None:
    """Write what became of items, and lease more of them; None where the lease of the run was lost.

    What is leased and not held was handed out in an answer that never arrived, or to a process that is gone, and is
    given back.
    """
    context = helpers.entered(tx, lease, bounds)
    if not isinstance(context, CrawlStepContext):
        return context
    counts, is_own = context.counts, context.share == OWN
    epoch = lease.epoch if is_own else context.epoch
    if context.epoch != epoch:
        _give_back(tx, context)
    is_copying = is_own and _copied(tx, context.run_id, context.copied, bounds, counts)
    _write_ends(tx, context, report.ended)
    if helpers.leased_by(tx, context) != len(report.holding):
        _give_back(tx, context, frozenset(report.holding))
    if report.is_last:
        helpers.left(tx, context)
    traps, refused = None, 0
    if report.traps is not None:
        traps, refused = item_traps.write(tx, context, report.traps)
    counts.update(deferred=-refused, skipped=refused)
    room = int(min(report.want, room_in(bounds, _counts(counts), counts["size"])))
    got = assignment.dealt(tx, context, report, room)
    if item_traps.promote(tx, context, room, got.rows, len(report.holding)):
        got = assignment.dealt(tx, context, report, room)
    taken, next_due_s = _lease(tx, context, room, got)
    if bounds.since is not None and taken:
        taken = recrawl.with_versions(tx, bounds.since, taken)
    if is_copying and not taken:
        next_due_s = 0.0
    now = {name: counts[name] for name in COUNTED}
    current = taken[-1].url if taken else None
    key = values(run_id=context.run_id, epoch=epoch, current_url=current, updated_at=tx.wall_ms)
    tx.run(_KEEP, {**key, **now})
    answer = Batch(taken, _counts(counts), counts["size"], next_due_s, dropped=counts["dropped"], traps=traps)
    answer = answer._replace(merged=counts["merged"])
    return assignment.answered(tx, context, got, answer, room)


def _give_back(tx: Tx, context: CrawlStepContext, but: frozenset[int] = frozenset()) -> None:
    helpers.given_back(tx, context, but)
    if context.bounds.max_per_host is not None:
        host_limits.recount(tx, context.run_id)


def _copied(tx: Tx, run_id: str, after: int, bounds: Bounds, counts: "Counter[str]") -> bool:
    """Take over some more of what an earlier crawl knew; True where that is not all."""
    if bounds.since is None or after == recrawl.FINISHED:
        return False
    found, after = recrawl.earlier(tx, run_id, bounds.since, after)
    counts.update(_found(tx, run_id, [(each, None) for each in found]))
    return after != recrawl.FINISHED


def _write_ends(tx: Tx, context: CrawlStepContext, ended: Sequence[ItemResult]) -> None:
    if not ended:
        return
    lease, bounds, run_id, counts = context.lease, context.bounds, context.run_id, context.counts
    rows = tx.many_returning(_END, [_end_values(tx, each) for each in ended])
    landed = [each for each, row in zip(ended, rows, strict=True) if row is not None]
    hosts = [row[0] for row in rows if row is not None]
    site_statistics.add(tx, run_id, zip(hosts, landed, strict=True))
    for each in landed:
        counts["leased"] -= 1
        counts[each.state.value] += 1
        counts.update(size=each.size, dropped=each.dropped, merged=each.merged)
    if landed and lease.run.losses:
        tx.run(_GETS_ON, values(id=lease.run_id))
    if bounds.since is not None:
        landed = recrawl.with_records(tx, bounds.since, landed)
    for statement, are_late in ((_KEPT, False), (_KEPT_AGAIN, True)):
        recorded = [each for each in landed if each.record is not None and each.is_late == are_late]
        if recorded:
            tx.many(statement, [_record_values(tx, context, each) for each in recorded])
    stored_pages.keep(tx, run_id, landed)
    found = [(found, each.id) for each in landed for found in each.found]
    room = None if bounds.max_items is None else max(0, bounds.max_items - _counts(counts).discovered)
    written, lost = item_room.fit(tx, run_id, found, room)
    counts.update(_found(tx, run_id, written, context, has_skipped=counts["skipped"] > 0))
    counts.update(dropped=lost)
    _judge_again(tx, [(each, row[1]) for each, row in zip(ended, rows, strict=True) if row is not None], counts)
    late = [(found, each.id) for each in landed if each.is_late for found in each.found if found.reason is None]
    if late:
        _shorten(tx, run_id, late, counts)


def _judge_again(tx: Tx, landed: Iterable[tuple[ItemResult, int]], counts: "Counter[str]") -> None:
    """A nearer way to a page was found while it was read: what it leads to lies nearer, too."""
    for each, depth in landed:
        if each.depth is not None and depth < each.depth and each.state in (ItemState.DONE, ItemState.SKIPPED):
            tx.run(_READ_AGAIN, values(id=each.id))
            counts.update({each.state.value: -1, "pending": 1})


def _end_values(tx: Tx, each: ItemResult) -> dict[str, Any]:
    is_retry = each.state is ItemState.PENDING
    return values(
        id=each.id,
        state=each.state.value,
        more_attempts=1 if is_retry and each.counts else 0,
        due_at=tx.now_ms + round(each.due_in_s * 1000) if is_retry else 0,
        reason=each.reason,
        message=storable(each.message[:2000]) if each.message else _dropped(each),
        http_status=each.http_status,
        wall=tx.wall_ms,
        version=None if each.version is None else to_json(list(each.version)),
        change=None if each.change is None else each.change.value,
    )


def _dropped(each: ItemResult) -> str | None:
    return f"links_dropped={each.dropped}" if each.dropped else None


def _record_values(tx: Tx, context: CrawlStepContext, each: ItemResult) -> dict[str, Any]:
    return values(
        id=new_id(),
        run_id=context.run_id,
        job_id=context.lease.run.job_id,
        item_key=each.key,
        data=packed_json(each.record),
        created_at=tx.wall_ms,
    )


def _found(
    tx: Tx,
    run_id: str,
    found: Sequence[tuple[DiscoveredLink, int | None]],
    context: CrawlStepContext | None = None,
    *,
    has_skipped: bool = False,
) -> dict[str, int]:
    """Write what is new; how many of it is pending and how much is skipped."""
    own = assignment.own_hosts(tx, context, found) if context is not None and context.share != OWN else ()
    rows: dict[ItemState, list[dict[str, Any]]] = {each: [] for each in _FOUND_STATES}
    for each, parent in found:
        state = state_when_found(each)
        rows[state].append(
            values(
                run_id=run_id,
                url_key=each.key,
                url=each.url,
                host=each.host,
                depth=each.depth,
                rank=each.rank,
                state=state.value,
                attempt=1,
                due_at=0,
                parent=parent,
                reason=each.reason,
                message=each.message,
                http_status=None,
                updated_at=tx.wall_ms,
                kind=each.kind,
                losses=0,
                version=None,
                change=None,
                lastmod=each.lastmod,
                helper=context.share if context is not None and each.host in own and not each.reason else OWN,
            )
        )
    # Those to be fetched first: what is skipped on one page and wanted on another is wanted.
    wanted = rows[ItemState.PENDING]
    followed = tx.many(_FOLLOW, wanted) if wanted and has_skipped else 0
    new = {state.value: tx.many(_FIND, found) if found else 0 for state, found in rows.items()}
    return {**new, "pending": new["pending"] + followed, "skipped": new["skipped"] - followed}


def _shorten(tx: Tx, run_id: str, late: Iterable[tuple[DiscoveredLink, int]], counts: "Counter[str]") -> None:
    """A page that came late knows shorter ways to what others have found before it.

    What was refused for its depth is wanted after all; what was read at a greater depth is read again, because what
    it leads to was judged by that depth.
    """
    nearer = [
        values(run_id=run_id, url_key=found.key, depth=found.depth, rank=found.rank, parent=parent)
        for found, parent in late
    ]
    tx.many(_MOVE_UP, nearer)
    lifted = tx.many(_LIFT, nearer)
    again = tx.many(_AGAIN, nearer)
    counts.update(pending=lifted + again, skipped=-lifted, done=-again)


def _lease(tx: Tx, context: CrawlStepContext, room: int, got: Dealt) -> tuple[tuple[Item, ...], float | None]:
    """The next items, and when the first of the others is due where none is due now."""
    counts, bounds = context.counts, context.bounds
    apart = losses.suspects(tx, context.run_id) if context.has_suspects and room > 0 and context.share == OWN else None
    if apart is not None and (apart := assignment.without_others(tx, context, apart)):
        # Whoever is still at work gets no company of theirs.
        return _taken(tx, [] if helpers.leased_by(tx, context) else apart[:room], counts), None
    rows = got.rows
    if not rows:
        return (), None
    due = [row for row in rows if row[DUE_AT] <= tx.now_ms]
    if not due:
        return (), max(0.0, (rows[0][DUE_AT] - tx.now_ms) / 1000)
    # None that is deeper than one still being read: what that finds is judged by how deep it really lies. Deferred
    # ones come late in any case.
    chosen: Sequence[Row] = due
    if bounds.by_depth:
        level = assignment.level_of(tx, context, due, got.others)
        chosen = [row for row in due if row[DEPTH] <= level or row[DUE_AT] == DEFERRED_DUE]
        if not chosen and context.is_shared:
            return (), POLL_S
    chosen = order.restore(tx, context, chosen)
    if bounds.max_per_host is not None and chosen:
        chosen, skipped = _of_hosts_with_room(tx, context.run_id, chosen, bounds.max_per_host)
        counts.update(pending=-skipped, skipped=skipped)
        if not chosen:
            return (), 0.0  # those of other hosts come with the next step
    return _taken(tx, chosen, counts), None


def _taken(tx: Tx, rows: Sequence[Row], counts: "Counter[str]") -> tuple[Item, ...]:
    if rows:
        tx.many(_LEASE, [values(id=row[0], wall=tx.wall_ms) for row in rows])
        counts.update(pending=-len(rows), leased=len(rows))
    return tuple(_item(row) for row in rows)


def _item(row: Row) -> Item:
    due_at = row[DUE_AT]
    return Item._make((*row[:DUE_AT], None, due_at > 0, due_at == DEFERRED_DUE, row[FOUND_ON], row[RANK]))


def _of_hosts_with_room(tx: Tx, run_id: str, rows: Sequence[Row], most: int) -> tuple[list[Row], int]:
    """Those that may be asked for, and how many others were skipped because their host has given all it may."""
    kept = host_limits.within(tx, run_id, rows, most)
    if len(kept) == len(rows):
        return kept, 0
    # Leased first: what is pending then is what is too much.
    tx.many(_LEASE, [values(id=row[0], wall=tx.wall_ms) for row in kept])
    ids = {row[0] for row in kept}
    skipped = host_limits.skip(tx, run_id, {row[HOST] for row in rows if row[0] not in ids})
    return kept, skipped


def _counts(counts: "Counter[str]") -> Counts:
    return Counts(**{name: counts[name] for name in Counts._fields})


def close(tx: Tx, run_id: str) -> bool:
    """The crawl is there no more; its items are, until somebody clears them away."""
    host_limits.forget(tx, run_id)
    item_traps.forget(tx, run_id)
    helpers.forget(tx, run_id)
    return tx.run(_DELETE_CRAWL, values(run_id=run_id)) > 0
