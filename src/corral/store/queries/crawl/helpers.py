"""Who works on a crawl beside its own worker. What they hold of it, and what they give back.

All of it is read and written while the row of the crawl is locked: so a step of one sees what another one left.
A helper is there as long as its run is running under the epoch it joined with; nobody has to tell when it dies.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.crawl.crawl import Bounds, Counts, ItemState
from corral.domain.crawl.item import MAX_ROWS, Batch
from corral.domain.crawl.sharing import OWN, Share
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import CRAWL_HELPER, Lease, RunState
from corral.store.queries import events
from corral.store.queries.crawl import host_limits
from corral.store.tables import crawl_helpers, crawl_host_owners, crawls, items, runs
from corral.store.tx import Row, Tx, first, is_state, param, values

COUNTED = (*Counts._fields, "size", "dropped", "merged")
MOVING, FRESH = 1, 2  # news of a pin
# How soon somebody who waits for others asks again.
POLL_S = 0.1

# Written out: as a constant it would have the name of the parameter.
_OWN: sa.ColumnClause[int] = sa.literal_column(str(OWN))
_OF_RUN = items.c.run_id == param("run_id")
_LEASED = is_state(items.c.state, ItemState.LEASED)
_OF_SHARE = items.c.helper == param("helper")
_COLUMNS = (
    *(crawls.c.epoch, crawls.c.suspects, crawls.c.copied, crawls.c.has_helpers),
    *(crawls.c[name] for name in COUNTED),
)
_AND_RUN = crawls.join(runs, runs.c.id == crawls.c.run_id)
# The row of the run is locked: whoever cancels it waits for this transaction, or this one finds it cancelled.
_HELD = (
    sa.select(*_COLUMNS)
    .select_from(_AND_RUN)
    .where(
        runs.c.id == param("run_id"),
        runs.c.epoch == param("epoch"),
        runs.c.owner == param("owner"),
        is_state(runs.c.state, RunState.RUNNING),
    )
    .with_for_update()
)
# Queued, its worker was lost or has stopped, and another one will take it up.
_HELPED = (
    sa.select(*_COLUMNS)
    .select_from(_AND_RUN)
    .where(runs.c.id == param("run_id"), runs.c.state.in_([RunState.RUNNING.value, RunState.QUEUED.value]))
    .with_for_update()
)
_IS_MINE = sa.select(runs.c.id).where(
    runs.c.id == param("id"),
    runs.c.epoch == param("epoch"),
    runs.c.owner == param("owner"),
    is_state(runs.c.state, RunState.RUNNING),
)
_SHARE_COLUMNS = tuple(
    crawl_helpers.c[name] for name in ("number", "helper_run_id", "epoch", "concurrency", "target_concurrency")
)
_OF_CRAWL = crawl_helpers.c.run_id == param("run_id")
_ALL = (
    sa.select(*_SHARE_COLUMNS, crawl_helpers.c.wants_work, crawl_helpers.c.done, runs.c.state, runs.c.epoch)
    .select_from(crawl_helpers.outerjoin(runs, runs.c.id == crawl_helpers.c.helper_run_id))
    .where(_OF_CRAWL)
    .order_by(crawl_helpers.c.number)
)
_MINE = sa.select(*_SHARE_COLUMNS, crawl_helpers.c.wants_work, crawl_helpers.c.done).where(
    _OF_CRAWL, crawl_helpers.c.helper_run_id == param("helper_run_id")
)
_THIS = (_OF_CRAWL, crawl_helpers.c.number == param("number"))
_CHANGE = (
    sa.update(crawl_helpers)
    .where(*_THIS)
    .values({name: param(name) for name in ("epoch", "concurrency", "target_concurrency", "wants_work", "done")})
)
_DROP = sa.delete(crawl_helpers).where(*_THIS)
_DROP_ALL = sa.delete(crawl_helpers).where(_OF_CRAWL)
_UNPIN = (
    sa.delete(crawl_host_owners)
    .where(crawl_host_owners.c.run_id == param("run_id"), crawl_host_owners.c.helper == param("helper"))
    .returning(crawl_host_owners.c.host_key)
)
_UNPIN_ALL = sa.delete(crawl_host_owners).where(crawl_host_owners.c.run_id == param("run_id"))
_PLACES = sa.select(crawl_host_owners.c.host_key).where(crawl_host_owners.c.run_id == param("run_id"))
_COUNT = sa.select(sa.func.count()).select_from(items).where(_OF_RUN, _LEASED, _OF_SHARE)
_GIVE_BACK = sa.update(items).where(_OF_RUN, _LEASED, _OF_SHARE).values(state=ItemState.PENDING.value, helper=_OWN)
_LEASED_IDS = sa.select(items.c.id).where(_OF_RUN, _LEASED, _OF_SHARE)
_GIVE_BACK_ONE = sa.update(items).where(items.c.id == param("id"), _LEASED).values(state=ItemState.PENDING.value)
_SOME = sa.select(items.c.id).where(_OF_RUN, is_state(items.c.state, "pending"), _OF_SHARE).limit(MAX_ROWS)
_WAITING = sa.select(items.c.id).where(_OF_RUN, is_state(items.c.state, "pending"), _OF_SHARE).limit(1)
_TAKE_OVER = sa.update(items).where(items.c.id.in_(_SOME)).values(helper=_OWN)
_NUMBER = sa.update(runs).where(runs.c.id == param("id")).values(seq=runs.c.seq + 1).returning(runs.c.seq)
_DISMISS = (
    sa.update(runs)
    .where(runs.c.id == param("id"), runs.c.state.in_([RunState.RUNNING.value, RunState.QUEUED.value]))
    .values(state=RunState.COMPLETED.value, lease_until=sa.null(), finished_at=param("finished_at"), seq=runs.c.seq + 1)
    .returning(runs.c.seq)
)

# To a helper that has nothing to help with any more.
_OVER = Batch((), Counts(), is_over=True)


class CrawlStepContext(NamedTuple):
    """Whose step it is, and what the row of the crawl says."""

    lease: Lease
    bounds: Bounds
    run_id: str
    share: int
    epoch: int  # of the crawl's claim that last took items
    has_suspects: bool
    copied: int
    is_shared: bool
    counts: "Counter[str]"


class HeldShare(NamedTuple):
    share: Share
    state: str | None  # of the run that helps; None where it is forgotten
    epoch: int | None

    @property
    def is_there(self) -> bool:
        return self.share.epoch > 0 and self.state == RunState.RUNNING.value and self.epoch == self.share.epoch

    @property
    def may_come(self) -> bool:
        return self.state in (RunState.RUNNING.value, RunState.QUEUED.value)


def entered(tx: Tx, lease: Lease, bounds: Bounds) -> CrawlStepContext | Batch | None:
    """The crawl that a lease is about; None where the lease was lost, and an answer where there is nothing to do."""
    if lease.run.kind == CRAWL_HELPER:
        return _entered_as_helper(tx, lease, bounds)
    run_id = lease.run_id
    row = first(tx.all(_HELD, values(run_id=run_id, epoch=lease.epoch, owner=lease.owner)))
    return None if row is None else _context(lease, bounds, OWN, row)


def _context(lease: Lease, bounds: Bounds, share: int, row: Row) -> CrawlStepContext:
    run_id = lease.run_id if share == OWN else str(lease.run.parent_id)
    counts = Counter(dict(zip(COUNTED, map(int, row[4:]), strict=True)))
    return CrawlStepContext(lease, bounds, run_id, share, int(row[0]), bool(row[1]), int(row[2]), bool(row[3]), counts)


def _entered_as_helper(tx: Tx, lease: Lease, bounds: Bounds) -> CrawlStepContext | Batch | None:
    run_id = str(lease.run.parent_id)
    row = first(tx.all(_HELPED, values(run_id=run_id)))
    if not tx.all(_IS_MINE, values(id=lease.run_id, epoch=lease.epoch, owner=lease.owner)):
        return None
    share = None if row is None else of_holder(tx, run_id, lease.run_id)
    if row is None or share is None:
        return _OVER
    context = _context(lease, bounds, share.number, row)
    if share.epoch != lease.epoch:
        if share.epoch or tx.all(_WAITING, values(run_id=run_id, helper=share.number)):
            # The crawl itself takes back what an earlier claim of this run left; until then there is no new beginning.
            counts = Counts(*(context.counts[name] for name in Counts._fields))
            return Batch((), counts, context.counts["size"], POLL_S, at_once=0, is_shared=True)
        # It may read nothing until the crawl itself has made room for it.
        change(tx, run_id, share._replace(epoch=lease.epoch, at_once=0, target=0, is_hungry=True, is_done=False))
        _say(tx, run_id, EventKind.HELPER_JOINED, share, worker=lease.owner)
    return context


def of_holder(tx: Tx, run_id: str, holder: str) -> Share | None:
    row = first(tx.all(_MINE, values(run_id=run_id, helper_run_id=holder)))
    return None if row is None else _share(row)


def _share(row: Row) -> Share:
    return Share._make((*row[:5], bool(row[5]), bool(row[6])))


def all_of(tx: Tx, run_id: str) -> list[HeldShare]:
    return [HeldShare(_share(row), row[7], row[8]) for row in tx.all(_ALL, values(run_id=run_id))]


def change(tx: Tx, run_id: str, share: Share) -> None:
    said = values(epoch=share.epoch, concurrency=share.at_once, target_concurrency=share.target)
    flags = values(wants_work=int(share.is_hungry), done=int(share.is_done))
    tx.run(_CHANGE, {**values(run_id=run_id, number=share.number), **said, **flags})


def emptied(tx: Tx, context: CrawlStepContext, share: Share) -> list[str]:
    """What a helper held is there for others again, unread; the places that nobody is at any more."""
    key = values(run_id=context.run_id, helper=share.number)
    back = tx.run(_GIVE_BACK, key)
    context.counts.update(pending=back, leased=-back)
    if back and context.bounds.max_per_host is not None:
        host_limits.recount(tx, context.run_id)
    change(tx, context.run_id, share._replace(epoch=0, at_once=0, is_hungry=False))
    _say(tx, context.run_id, EventKind.HELPER_LEFT, share)
    return [row[0] for row in tx.all(_UNPIN, key)]


def taken_over(tx: Tx, run_id: str, held: HeldShare) -> None:
    """Some of what waits in a share without a helper; all of it, and the share is no more."""
    moved = tx.run(_TAKE_OVER, values(run_id=run_id, helper=held.share.number))
    if moved < MAX_ROWS and not held.may_come:
        tx.run(_DROP, values(run_id=run_id, number=held.share.number))


def left(tx: Tx, context: CrawlStepContext) -> None:
    """Whose step this is, ends. With the crawl itself, all do: nobody writes anything of it after this."""
    if context.share != OWN:
        share = of_holder(tx, context.run_id, context.lease.run_id)
        if share is not None:  # the crawl itself takes its places back, as it does when a helper dies
            change(tx, context.run_id, share._replace(at_once=0, is_hungry=False, is_done=True))
    elif context.is_shared:
        _dismissed(tx, context)


def _dismissed(tx: Tx, context: CrawlStepContext) -> None:
    for held in all_of(tx, context.run_id):
        if held.share.epoch:
            emptied(tx, context, held.share)
        [row] = tx.many_returning(_DISMISS, [values(id=held.share.holder, finished_at=tx.wall_ms)])
        if row is not None:
            draft = EventDraft(EventKind.COMPLETED, {"reason": "the crawl has ended"})
            events.insert(tx, events.rows_for(held.share.holder, row[0], [draft], tx.wall_ms))


def _say(tx: Tx, run_id: str, kind: EventKind, share: Share, **more: Any) -> None:
    """In the history of the crawl, which is locked."""
    [row] = tx.many_returning(_NUMBER, [values(id=run_id)])
    if row is not None:
        draft = EventDraft(kind, {"helper": share.holder, "number": share.number, **more})
        events.insert(tx, events.rows_for(run_id, row[0], [draft], tx.wall_ms))


def leased_by(tx: Tx, context: CrawlStepContext) -> int:
    """How many items it holds; of a crawl that nobody helps with, the count is kept."""
    if not context.is_shared:
        return context.counts["leased"]
    return int(tx.all(_COUNT, values(run_id=context.run_id, helper=context.share))[0][0])


def given_back(tx: Tx, context: CrawlStepContext, but: Collection[int] = ()) -> None:
    """Everything that its own epoch does not hold."""
    key = values(run_id=context.run_id, helper=context.share)
    others = [row[0] for row in tx.all(_LEASED_IDS, key) if row[0] not in but]
    back = tx.many(_GIVE_BACK_ONE, [values(id=each) for each in others]) if others else 0
    context.counts.update(pending=back, leased=-back)


def places_of_others(tx: Tx, run_id: str) -> set[str]:
    """That helpers have."""
    return {row[0] for row in tx.all(_PLACES, values(run_id=run_id))}


def forget(tx: Tx, run_id: str) -> None:
    tx.run(_DROP_ALL, values(run_id=run_id))
    tx.run(_UNPIN_ALL, values(run_id=run_id))


def numbers_of(shares: Iterable[HeldShare]) -> Sequence[int]:
    return [each.share.number for each in shares]
