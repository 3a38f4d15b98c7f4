"""The helpers of a crawl: joining, leaving, and the items they hold.

Every function here runs while the row of the crawl is locked, so each worker sees the result of the previous step. A
helper is active while its run is running under the epoch with which it joined, so its death needs no message.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.campaigns.latency import LatencyHistogram
from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import Bounds, Counts, ItemState
from corral.domain.crawl.item import MAX_ROWS, Batch
from corral.domain.crawl.sharing import COORDINATOR, Helper
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import CRAWL_HELPER, Lease, RunState
from corral.store.queries import events
from corral.store.queries.crawl import host_limits
from corral.store.rows import from_json
from corral.store.tables import crawl_helpers, crawl_host_owners, crawls, items, runs
from corral.store.tx import Row, Tx, first, is_state, param, values

COUNTED = (*Counts._fields, *Spent._fields, "dropped", "merged")
# Handover states of a host: settled; the coordinator still reads its pages; the helper does not know it yet.
SETTLED, LEAVING, ARRIVED = 0, 1, 2
# How soon a worker that waits for others polls again.
POLL_S = 0.1

# A literal: a bound constant would take the name of the parameter.
_COORDINATOR: sa.ColumnClause[int] = sa.literal_column(str(COORDINATOR))
_OF_RUN = items.c.run_id == param("run_id")
_LEASED = is_state(items.c.state, ItemState.LEASED)
_OF_HELPER = items.c.helper == param("helper")
_COLUMNS = (
    *(crawls.c.epoch, crawls.c.suspects, crawls.c.copied, crawls.c.has_helpers),
    *(crawls.c[name] for name in COUNTED),
    crawls.c.latency,
)
_AND_RUN = crawls.join(runs, runs.c.id == crawls.c.run_id)
# This locks the row of the run: a cancellation either waits for this transaction or is visible to it.
_LOCK_AS_COORDINATOR = (
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
# A helper may continue while the crawl run is queued: another worker will claim it.
_LOCK_AS_HELPER = (
    sa.select(*_COLUMNS)
    .select_from(_AND_RUN)
    .where(runs.c.id == param("run_id"), runs.c.state.in_([RunState.RUNNING.value, RunState.QUEUED.value]))
    .with_for_update()
)
_HOLDS_LEASE = sa.select(runs.c.id).where(
    runs.c.id == param("id"),
    runs.c.epoch == param("epoch"),
    runs.c.owner == param("owner"),
    is_state(runs.c.state, RunState.RUNNING),
)
_HELPER_COLUMNS = tuple(
    crawl_helpers.c[name] for name in ("number", "helper_run_id", "epoch", "concurrency", "target_concurrency")
)
_OF_CRAWL = crawl_helpers.c.run_id == param("run_id")
_LIST = (
    sa.select(*_HELPER_COLUMNS, crawl_helpers.c.wants_work, crawl_helpers.c.done, runs.c.state, runs.c.epoch)
    .select_from(crawl_helpers.outerjoin(runs, runs.c.id == crawl_helpers.c.helper_run_id))
    .where(_OF_CRAWL)
    .order_by(crawl_helpers.c.number)
)
_FIND = sa.select(*_HELPER_COLUMNS, crawl_helpers.c.wants_work, crawl_helpers.c.done).where(
    _OF_CRAWL, crawl_helpers.c.helper_run_id == param("helper_run_id")
)
_THIS = (_OF_CRAWL, crawl_helpers.c.number == param("number"))
_SAVE = (
    sa.update(crawl_helpers)
    .where(*_THIS)
    .values({name: param(name) for name in ("epoch", "concurrency", "target_concurrency", "wants_work", "done")})
)
_DROP = sa.delete(crawl_helpers).where(*_THIS)
_DROP_ALL = sa.delete(crawl_helpers).where(_OF_CRAWL)
_DISOWN = (
    sa.delete(crawl_host_owners)
    .where(crawl_host_owners.c.run_id == param("run_id"), crawl_host_owners.c.helper == param("helper"))
    .returning(crawl_host_owners.c.host_key)
)
_DISOWN_ALL = sa.delete(crawl_host_owners).where(crawl_host_owners.c.run_id == param("run_id"))
_HELPER_HOSTS = sa.select(crawl_host_owners.c.host_key).where(crawl_host_owners.c.run_id == param("run_id"))
_COUNT_LEASED = sa.select(sa.func.count()).select_from(items).where(_OF_RUN, _LEASED, _OF_HELPER)
_RELEASE = (
    sa.update(items).where(_OF_RUN, _LEASED, _OF_HELPER).values(state=ItemState.PENDING.value, helper=_COORDINATOR)
)
_LEASED_IDS = sa.select(items.c.id).where(_OF_RUN, _LEASED, _OF_HELPER)
_RELEASE_ONE = sa.update(items).where(items.c.id == param("id"), _LEASED).values(state=ItemState.PENDING.value)
_SOME_PENDING = sa.select(items.c.id).where(_OF_RUN, is_state(items.c.state, "pending"), _OF_HELPER).limit(MAX_ROWS)
_HAS_PENDING = sa.select(items.c.id).where(_OF_RUN, is_state(items.c.state, "pending"), _OF_HELPER).limit(1)
_TAKE_OVER = sa.update(items).where(items.c.id.in_(_SOME_PENDING)).values(helper=_COORDINATOR)
_NEXT_SEQ = sa.update(runs).where(runs.c.id == param("id")).values(seq=runs.c.seq + 1).returning(runs.c.seq)
_DISMISS = (
    sa.update(runs)
    .where(runs.c.id == param("id"), runs.c.state.in_([RunState.RUNNING.value, RunState.QUEUED.value]))
    .values(state=RunState.COMPLETED.value, lease_until=sa.null(), finished_at=param("finished_at"), seq=runs.c.seq + 1)
    .returning(runs.c.seq)
)

# The answer to a helper whose crawl has ended.
_OVER = Batch((), Counts(), is_over=True)


class CrawlStepContext(NamedTuple):
    """The worker of this step, and the row of its crawl."""

    lease: Lease
    bounds: Bounds
    run_id: str  # of the crawl
    number: int  # of the worker: COORDINATOR or that of a helper
    epoch: int  # epoch of the crawl run's claim that last leased items
    has_suspects: bool
    copied: int
    has_helpers: bool
    counts: "Counter[str]"  # changed along with the items, and saved at the end of the step
    latency: LatencyHistogram  # the same, of the times of pages

    @property
    def is_coordinator(self) -> bool:
        return self.number == COORDINATOR

    @property
    def item_counts(self) -> Counts:
        return Counts(**{name: self.counts[name] for name in Counts._fields})


class HelperState(NamedTuple):
    helper: Helper
    run_state: str | None  # None if retention has deleted the run
    run_epoch: int | None

    @property
    def is_active(self) -> bool:
        is_running = self.run_state == RunState.RUNNING.value
        return self.helper.epoch > 0 and is_running and self.run_epoch == self.helper.epoch

    @property
    def may_join(self) -> bool:
        return self.run_state in (RunState.RUNNING.value, RunState.QUEUED.value)


def verify_lease(tx: Tx, lease: Lease, bounds: Bounds) -> CrawlStepContext | Batch | None:
    """Lock the crawl of a lease; return None if the lease was lost, a Batch if a helper has nothing to do."""
    if lease.run.kind == CRAWL_HELPER:
        return _verify_helper_lease(tx, lease, bounds)
    run_id = lease.run_id
    row = first(tx.all(_LOCK_AS_COORDINATOR, values(run_id=run_id, epoch=lease.epoch, owner=lease.owner)))
    return None if row is None else _context(lease, bounds, COORDINATOR, row)


def _context(lease: Lease, bounds: Bounds, number: int, row: Row) -> CrawlStepContext:
    run_id = lease.run_id if number == COORDINATOR else str(lease.run.parent_id)
    counts = Counter(dict(zip(COUNTED, map(int, row[4:-1]), strict=True)))
    epoch, has_suspects, copied, has_helpers = int(row[0]), bool(row[1]), int(row[2]), bool(row[3])
    latency = LatencyHistogram.of(None if row[-1] is None else from_json(row[-1]))
    return CrawlStepContext(lease, bounds, run_id, number, epoch, has_suspects, copied, has_helpers, counts, latency)


def _verify_helper_lease(tx: Tx, lease: Lease, bounds: Bounds) -> CrawlStepContext | Batch | None:
    run_id = str(lease.run.parent_id)
    row = first(tx.all(_LOCK_AS_HELPER, values(run_id=run_id)))
    if not tx.all(_HOLDS_LEASE, values(id=lease.run_id, epoch=lease.epoch, owner=lease.owner)):
        return None
    helper = None if row is None else find_helper(tx, run_id, lease.run_id)
    if row is None or helper is None:
        return _OVER
    context = _context(lease, bounds, helper.number, row)
    if helper.epoch != lease.epoch:
        if helper.epoch or tx.all(_HAS_PENDING, values(run_id=run_id, helper=helper.number)):
            # The coordinator first takes back the items of an earlier claim of this run; until then, no helper can
            # join.
            size = context.counts["size"]
            return Batch((), context.item_counts, size, POLL_S, at_once=0, is_shared=True)
        _join(tx, run_id, helper, lease)
    return context


def _join(tx: Tx, run_id: str, helper: Helper, lease: Lease) -> None:
    """Record that a helper has joined. It may read nothing until the coordinator grants it concurrency."""
    joined = helper._replace(epoch=lease.epoch, concurrency=0, target_concurrency=0, wants_work=True, is_done=False)
    save_helper(tx, run_id, joined)
    _add_event(tx, run_id, EventKind.HELPER_JOINED, helper, worker=lease.owner)


def find_helper(tx: Tx, run_id: str, helper_run_id: str) -> Helper | None:
    row = first(tx.all(_FIND, values(run_id=run_id, helper_run_id=helper_run_id)))
    return None if row is None else _helper_of(row)


def _helper_of(row: Row) -> Helper:
    return Helper._make((*row[:5], bool(row[5]), bool(row[6])))


def list_helpers(tx: Tx, run_id: str) -> list[HelperState]:
    return [HelperState(_helper_of(row), row[7], row[8]) for row in tx.all(_LIST, values(run_id=run_id))]


def save_helper(tx: Tx, run_id: str, helper: Helper) -> None:
    limits = values(concurrency=helper.concurrency, target_concurrency=helper.target_concurrency)
    flags = values(wants_work=int(helper.wants_work), done=int(helper.is_done))
    tx.run(_SAVE, {**values(run_id=run_id, number=helper.number, epoch=helper.epoch), **limits, **flags})


def release_helper(tx: Tx, context: CrawlStepContext, helper: Helper) -> list[str]:
    """Release the leased, unread items of a helper that left; return the hosts that no worker owns any more."""
    key = values(run_id=context.run_id, helper=helper.number)
    released = tx.run(_RELEASE, key)
    context.counts.update(pending=released, leased=-released)
    if released and context.bounds.max_per_host is not None:
        host_limits.recount(tx, context.run_id)
    save_helper(tx, context.run_id, helper._replace(epoch=0, concurrency=0, wants_work=False))
    _add_event(tx, context.run_id, EventKind.HELPER_LEFT, helper)
    return [row[0] for row in tx.all(_DISOWN, key)]


def take_over_items(tx: Tx, run_id: str, state: HelperState) -> None:
    """Move some pending items of an inactive helper to the coordinator; delete a helper without items."""
    moved = tx.run(_TAKE_OVER, values(run_id=run_id, helper=state.helper.number))
    if moved < MAX_ROWS and not state.may_join:
        tx.run(_DROP, values(run_id=run_id, number=state.helper.number))


def leave(tx: Tx, context: CrawlStepContext) -> None:
    """Record the last step of a worker. All helpers end with the coordinator, so nothing is written after it."""
    if not context.is_coordinator:
        helper = find_helper(tx, context.run_id, context.lease.run_id)
        if helper is not None:  # the coordinator takes its hosts back, as it does when a helper dies
            save_helper(tx, context.run_id, helper._replace(concurrency=0, wants_work=False, is_done=True))
    elif context.has_helpers:
        _dismiss_helpers(tx, context)


def _dismiss_helpers(tx: Tx, context: CrawlStepContext) -> None:
    for state in list_helpers(tx, context.run_id):
        if state.helper.epoch:
            release_helper(tx, context, state.helper)
        [row] = tx.many_returning(_DISMISS, [values(id=state.helper.run_id, finished_at=tx.wall_ms)])
        if row is not None:
            draft = EventDraft(EventKind.COMPLETED, {"reason": "the crawl has ended"})
            events.insert(tx, events.rows_for(state.helper.run_id, row[0], [draft], tx.wall_ms))


def _add_event(tx: Tx, run_id: str, kind: EventKind, helper: Helper, **more: Any) -> None:
    """Add an event to the history of the crawl, whose row is locked."""
    [row] = tx.many_returning(_NEXT_SEQ, [values(id=run_id)])
    if row is not None:
        draft = EventDraft(kind, {"helper": helper.run_id, "number": helper.number, **more})
        events.insert(tx, events.rows_for(run_id, row[0], [draft], tx.wall_ms))


def count_leased(tx: Tx, context: CrawlStepContext) -> int:
    """Return how many items this worker holds; without helpers, this equals the count of the crawl."""
    if not context.has_helpers:
        return context.counts["leased"]
    return int(tx.all(_COUNT_LEASED, values(run_id=context.run_id, helper=context.number))[0][0])


def release_items(tx: Tx, context: CrawlStepContext, except_: Collection[int] = ()) -> None:
    """Make the leased items of this worker pending again, except those that it is still reading."""
    key = values(run_id=context.run_id, helper=context.number)
    lost = [row[0] for row in tx.all(_LEASED_IDS, key) if row[0] not in except_]
    released = tx.many(_RELEASE_ONE, [values(id=each) for each in lost]) if lost else 0
    context.counts.update(pending=released, leased=-released)


def list_helper_hosts(tx: Tx, run_id: str) -> set[str]:
    return {row[0] for row in tx.all(_HELPER_HOSTS, values(run_id=run_id))}


def forget(tx: Tx, run_id: str) -> None:
    tx.run(_DROP_ALL, values(run_id=run_id))
    tx.run(_DISOWN_ALL, values(run_id=run_id))


def numbers_of(states: Iterable[HelperState]) -> Sequence[int]:
    return [each.helper.number for each in states]
