"""Which items a worker of a crawl may take: the coordinator assigns hosts and concurrency to its helpers.

Items belong to a worker by their number (`items.helper`). When the coordinator, on its way through the frontier, comes
across items of a host that a helper owns, it moves them to that helper. So each worker reads only its own items, and
only items that are about to be read are moved. The states of a host:

    unowned ──────────────────────────────────► ARRIVED ──────────► SETTLED ─────────► unowned
       │          (no page is being read)          ▲  (the helper knows it)  (the helper left)
       └──► LEAVING ───────────────────────────────┘
            (the coordinator    (its last page
             is reading pages)   has ended)
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.cost.spent import Spent
from corral.domain.crawl.budgets import room_in
from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DEFERRED_DUE, Batch, BatchReport, DiscoveredLink, Item
from corral.domain.crawl.payload import helper_payload
from corral.domain.crawl.sharing import (
    COORDINATOR,
    Helper,
    HostAssignment,
    assign_hosts,
    count_helpers_to_start,
    host_key_of,
    host_key_of_url,
    split_concurrency,
)
from corral.domain.ids import RunId
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import CRAWL_HELPER, Lease, NewRun
from corral.runtime.new_ids import new_id
from corral.store.queries.crawl import helpers
from corral.store.queries.crawl import traps as item_traps
from corral.store.queries.crawl.helpers import ARRIVED, LEAVING, POLL_S, SETTLED, CrawlStepContext, HelperState
from corral.store.queries.crawl.rows import DEPTH, DUE_AT, HOST, LOSSES, NEXT, WITH_PARENTS
from corral.store.queries.runs import runs as runs_queries
from corral.store.tables import crawl_helpers, crawl_host_owners, crawls, items
from corral.store.tx import Row, Tx, first, insert_all, is_state, param, values

# Rows that the coordinator reads beyond those it takes: it looks for helpers' items and, if one wants work, for hosts.
_LOOKAHEAD = 16
_FAR_LOOKAHEAD = 128

_OF_RUN = items.c.run_id == param("run_id")
_LEASED = is_state(items.c.state, ItemState.LEASED)
_PENDING_OF_WORKER = (_OF_RUN, is_state(items.c.state, ItemState.PENDING), items.c.helper == param("helper"))
_IN_ORDER = (items.c.due_at, items.c.rank, items.c.id)
_NEXT = sa.select(*NEXT).select_from(WITH_PARENTS).where(*_PENDING_OF_WORKER).order_by(*_IN_ORDER).limit(param("limit"))
_FIRST_DUE_DEPTH = (
    sa.select(items.c.depth)
    .where(*_PENDING_OF_WORKER, items.c.due_at <= param("now"))
    .order_by(*_IN_ORDER)
    .limit(param("limit"))
)
_LEAST_LEASED_DEPTH = sa.select(sa.func.min(items.c.depth)).where(
    _OF_RUN, _LEASED, items.c.due_at != sa.literal_column(str(DEFERRED_DUE))
)
_LEASED_HOSTS = sa.select(items.c.host).where(_OF_RUN, _LEASED, items.c.helper == param("helper")).distinct()
_MOVE_ITEM = sa.update(items).where(items.c.id == param("id")).values(helper=param("helper"))
_OWNER_COLUMNS = (crawl_host_owners.c.host_key, crawl_host_owners.c.helper, crawl_host_owners.c.handover_state)
_OWNER_OF = sa.select(*_OWNER_COLUMNS).where(
    crawl_host_owners.c.run_id == param("run_id"), crawl_host_owners.c.host_key == param("host_key")
)
_HANDOVERS = sa.select(*_OWNER_COLUMNS).where(
    crawl_host_owners.c.run_id == param("run_id"), crawl_host_owners.c.handover_state > sa.literal_column("0")
)
_SET_OWNER = (
    insert(crawl_host_owners)
    .values(
        run_id=param("run_id"),
        host_key=param("host_key"),
        helper=param("helper"),
        handover_state=param("handover_state"),
    )
    .on_conflict_do_update(
        index_elements=["run_id", "host_key"],
        set_={"helper": param("helper"), "handover_state": param("handover_state")},
    )
)
_ADD_HELPER = insert_all(crawl_helpers)
_HAS_HELPERS = sa.update(crawls).where(crawls.c.run_id == param("run_id")).values(has_helpers=1)


class AssignedRows(NamedTuple):
    """The rows that the worker of this step may lease, and the rest of its answer."""

    rows: Sequence[Row]  # in order
    helpers: Sequence[HelperState] = ()
    concurrency: int | None = None
    lost_hosts: Sequence[str] = ()
    gained_hosts: Sequence[str] = ()
    own_hosts: int = 0  # hosts with due pages that stay with the coordinator
    has_more: bool = False  # there may be further rows


def assign_rows(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> AssignedRows:
    """Return the next rows for the worker of this step; the coordinator assigns hosts to its helpers first."""
    if not context.has_helpers:
        return AssignedRows(_next_rows(tx, context, room))
    if context.is_coordinator:
        return _assign_as_coordinator(tx, context, report, room)
    return _assign_as_helper(tx, context, report, room)


def _next_rows(tx: Tx, context: CrawlStepContext, limit: int) -> list[Row]:
    return tx.all(_NEXT, values(run_id=context.run_id, helper=context.number, limit=limit)) if limit > 0 else []


def _assign_as_helper(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> AssignedRows:
    helper = helpers.find_helper(tx, context.run_id, context.lease.run_id)
    assert helper is not None, "its lease was verified in this transaction"
    rows = _next_rows(tx, context, room)
    handovers = _list_handovers(tx, context.run_id)
    arrived = [host for host, number, state in handovers if number == helper.number and state == ARRIVED]
    _set_owners(tx, context.run_id, dict.fromkeys(arrived, helper.number), SETTLED)
    concurrency = min(helper.concurrency, helper.target_concurrency)
    changed = helper._replace(
        concurrency=max(concurrency, min(helper.concurrency, report.at_once)),
        wants_work=len(rows) < report.want if report.want else helper.wants_work,
        is_done=report.is_done and not rows,
    )
    if changed != helper:
        helpers.save_helper(tx, context.run_id, changed)
    return AssignedRows(rows, helpers.list_helpers(tx, context.run_id), concurrency, gained_hosts=arrived)


def _assign_as_coordinator(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> AssignedRows:
    gained = _release_inactive_helpers(tx, context)
    states = helpers.list_helpers(tx, context.run_id)
    active = [state.helper for state in states if state.is_active]
    if not active:
        rows = _next_rows(tx, context, room)
        return AssignedRows(rows, states, context.bounds.concurrency, gained_hosts=gained)
    concurrency = _grant_concurrency(tx, context, report, active)
    limit = _window_size(room, wants_work=any(helper.wants_work for helper in active))
    window = _next_rows(tx, context, limit)
    lost, rows, own_hosts = _assign_window(tx, context, window, active) if window else ([], [], 0)
    has_more = 0 < limit == len(window)
    states = helpers.list_helpers(tx, context.run_id)
    return AssignedRows(rows[:room], states, concurrency, lost, gained, own_hosts, has_more)


def _release_inactive_helpers(tx: Tx, context: CrawlStepContext) -> list[str]:
    """Take back the items and hosts of helpers that left or died; return those hosts."""
    gained: list[str] = []
    for state in helpers.list_helpers(tx, context.run_id):
        if state.is_active:
            continue
        if state.helper.epoch:
            gained += helpers.release_helper(tx, context, state.helper)
        helpers.take_over_items(tx, context.run_id, state)
    return gained


def _grant_concurrency(tx: Tx, context: CrawlStepContext, report: BatchReport, active: Sequence[Helper]) -> int:
    """Save the concurrency of each helper; return the rest, which is the coordinator's."""
    current = {helper.number: helper.concurrency for helper in active}
    split = split_concurrency(context.bounds.concurrency, report.at_once, current)
    for helper in active:
        granted = helper._replace(concurrency=split.granted[helper.number], target_concurrency=split.target)
        if granted != helper:
            helpers.save_helper(tx, context.run_id, granted)
    return split.own


def _window_size(room: int, *, wants_work: bool) -> int:
    if room <= 0 and not wants_work:
        return 0
    return room + (_FAR_LOOKAHEAD if wants_work else _LOOKAHEAD)


# -- hosts of a window of pending rows ----------------------------------------------------------------


def _assign_window(
    tx: Tx, context: CrawlStepContext, window: Sequence[Row], active: Sequence[Helper]
) -> tuple[list[str], list[Row], int]:
    """Assign the hosts of these rows.

    Return the assigned hosts, the coordinator's own rows and the number of its hosts.
    """
    busy = _busy_hosts(tx, context, window)
    leaving = _complete_handovers(tx, context.run_id, busy)
    owners = _owners_of(tx, context.run_id, {_host_key(row) for row in window})
    unowned = list(dict.fromkeys(_host_key(row) for row in window if row[DUE_AT] <= tx.now_ms))
    unowned = [host for host in unowned if host not in owners]
    assignment = _assign_unowned(tx, context.run_id, unowned, busy, active, already_served=leaving.values())
    settled = {host: number for host, number in {**owners, **assignment.assigned}.items() if host not in leaving}
    rows = _move_items(tx, context.run_id, window, settled)
    on_the_way = leaving.keys() | assignment.handed_over.keys()
    own = [row for row in rows if _host_key(row) not in on_the_way]
    transferred = [*assignment.assigned, *assignment.handed_over]
    return transferred, own, len(unowned) - len(transferred)


def _host_key(row: Row) -> str:
    return host_key_of(row[HOST])


def _busy_hosts(tx: Tx, context: CrawlStepContext, window: Sequence[Row]) -> set[str]:
    """Return the hosts that the coordinator cannot give away at once."""
    leased = {host_key_of(row[0]) for row in tx.all(_LEASED_HOSTS, values(run_id=context.run_id, helper=COORDINATOR))}
    # The coordinator itself retries pages that may have killed a worker, so it keeps their hosts.
    return leased | {_host_key(row) for row in window if row[LOSSES]}


def _complete_handovers(tx: Tx, run_id: str, busy: set[str]) -> dict[str, int]:
    """Hand over hosts whose last page has ended; return those that the coordinator is still leaving."""
    handovers = {host: number for host, number, state in _list_handovers(tx, run_id) if state == LEAVING}
    _set_owners(tx, run_id, {host: number for host, number in handovers.items() if host not in busy}, ARRIVED)
    return {host: number for host, number in handovers.items() if host in busy}


def _assign_unowned(
    tx: Tx,
    run_id: str,
    unowned: Sequence[str],
    busy: set[str],
    active: Sequence[Helper],
    *,
    already_served: Iterable[int],
) -> HostAssignment:
    """Give hosts to helpers that want work and are not about to get a host."""
    served_before = set(already_served)
    wanting = [helper.number for helper in active if helper.wants_work and helper.number not in served_before]
    free = [host for host in unowned if host not in busy]
    assignment = assign_hosts(free, [host for host in unowned if host in busy], wanting, is_idle=not busy)
    _set_owners(tx, run_id, assignment.assigned, ARRIVED)
    _set_owners(tx, run_id, assignment.handed_over, LEAVING)
    served = {*assignment.assigned.values(), *assignment.handed_over.values()}
    for helper in active:
        if helper.number in served:
            # Read again: its concurrency was changed earlier in this step.
            current = helpers.find_helper(tx, run_id, helper.run_id)
            assert current is not None
            helpers.save_helper(tx, run_id, current._replace(wants_work=False, is_done=False))
    return assignment


def _move_items(tx: Tx, run_id: str, window: Sequence[Row], owners: dict[str, int]) -> list[Row]:
    """Move the rows of hosts that helpers own to them; return the rest."""
    moving = {row[0]: owners[_host_key(row)] for row in window if _host_key(row) in owners}
    if not moving:
        return list(window)
    tx.many(_MOVE_ITEM, [values(id=id_, helper=number) for id_, number in moving.items()])
    receivers = set(moving.values())
    # A helper that gets pages has work, whatever it has reported.
    for state in helpers.list_helpers(tx, run_id):
        if state.helper.is_done and state.helper.number in receivers:
            helpers.save_helper(tx, run_id, state.helper._replace(is_done=False))
    return [row for row in window if row[0] not in moving]


def _list_handovers(tx: Tx, run_id: str) -> list[tuple[str, int, int]]:
    return [(host, number, state) for host, number, state in tx.all(_HANDOVERS, values(run_id=run_id))]


def _set_owners(tx: Tx, run_id: str, owners: dict[str, int], state: int) -> None:
    if owners:
        rows = [values(run_id=run_id, host_key=host, helper=number) for host, number in owners.items()]
        tx.many(_SET_OWNER, [{**row, **values(handover_state=state)} for row in rows])


def _owners_of(tx: Tx, run_id: str, host_keys: Iterable[str]) -> dict[str, int]:
    """Return the helpers that own these hosts, or will; hosts of the coordinator are left out."""
    wanted = [values(run_id=run_id, host_key=host) for host in sorted(host_keys)]
    found = tx.many_returning(_OWNER_OF, wanted) if wanted else []
    return {row[0]: row[1] for row in found if row is not None}


def hosts_of_helper(tx: Tx, context: CrawlStepContext, links: Iterable[tuple[DiscoveredLink, int | None]]) -> set[str]:
    """Return the hosts of these links that the helper of this step owns: it owns such links at once."""
    hosts = sorted({link.host for link, _ in links if link.reason is None})
    wanted = [values(run_id=context.run_id, host_key=host_key_of(host)) for host in hosts]
    owners = tx.many_returning(_OWNER_OF, wanted) if wanted else []
    is_own = [row is not None and row[1] == context.number and row[2] != LEAVING for row in owners]
    return {host for host, own in zip(hosts, is_own, strict=True) if own}


def without_helper_hosts(tx: Tx, context: CrawlStepContext, rows: list[Row]) -> list[Row]:
    if not context.has_helpers:
        return rows
    owners = _owners_of(tx, context.run_id, {_host_key(row) for row in rows})
    return [row for row in rows if _host_key(row) not in owners]


def depth_limit(tx: Tx, context: CrawlStepContext, due: Sequence[Row], states: Sequence[HelperState]) -> int:
    """Return the depth of the nearest unread item of any worker: deeper ones wait for it."""
    key = values(run_id=context.run_id)
    leased = tx.all(_LEAST_LEASED_DEPTH, key)[0][0] if context.counts["leased"] else None
    if not context.has_helpers:
        return int(due[0][DEPTH] if leased is None else leased)
    depths = [due[0][DEPTH], *([] if leased is None else [leased])]
    for number in {COORDINATOR, *helpers.numbers_of(states)} - {context.number}:
        row = first(tx.all(_FIRST_DUE_DEPTH, {**key, **values(helper=number, now=tx.now_ms, limit=1)}))
        depths += [] if row is None else [row[0]]
    return int(min(depths))


# -- the answer --------------------------------------------------------------------------------------


def complete_batch(tx: Tx, context: CrawlStepContext, assigned: AssignedRows, batch: Batch, room: int) -> Batch:
    """Complete the batch for a worker that shares its crawl, and start helpers if they are worth it."""
    started = _start_helpers(tx, context, assigned, batch.items) if context.is_coordinator else 0
    if not context.has_helpers:
        concurrency = context.bounds.concurrency if context.bounds.workers > 1 else None
        return batch._replace(helpers=started, at_once=concurrency)
    if context.is_coordinator and not batch.items and _must_wait(context, assigned, room):
        batch = batch._replace(next_due_s=POLL_S if batch.next_due_s is None else min(POLL_S, batch.next_due_s))
    traps = _add_host_knowledge(tx, context.run_id, batch.traps, assigned)
    is_shared = any(state.is_active for state in assigned.helpers)
    return batch._replace(helpers=started, at_once=assigned.concurrency, is_shared=is_shared, traps=traps)


def _must_wait(context: CrawlStepContext, assigned: AssignedRows, room: int) -> bool:
    """Return whether the crawl must wait: a helper still has work, or has not yet reported that it has none."""
    active = [state for state in assigned.helpers if state.is_active]
    if not active:
        return assigned.has_more
    counts = context.counts
    has_work = counts["leased"] > 0 or (room > 0 and counts["pending"] + counts["deferred"] > 0)
    return has_work or assigned.has_more or not all(state.helper.is_done for state in active)


def _add_host_knowledge(
    tx: Tx, run_id: str, traps: dict[str, Any] | None, assigned: AssignedRows
) -> dict[str, Any] | None:
    """Add the template knowledge about a host to the batch of the worker that gets the host."""
    if not (assigned.gained_hosts or assigned.lost_hosts):
        return traps
    known = item_traps.knowledge_of(tx, run_id, set(assigned.gained_hosts)) if assigned.gained_hosts else None
    return {**(traps or {}), "come": known, "gone": list(assigned.lost_hosts)}


def _start_helpers(tx: Tx, context: CrawlStepContext, assigned: AssignedRows, leased: Sequence[Item]) -> int:
    """Queue as many runs of helpers as there is work for; return how many."""
    bounds = context.bounds
    if bounds.workers <= 1:
        return 0
    # Items beyond a budget will not be read.
    pending = int(min(context.counts["pending"], room_in(bounds, context.item_counts, Spent.of(context.counts))))
    joining = [state for state in assigned.helpers if state.may_join]
    if any(not state.is_active or state.helper.wants_work for state in joining):
        return 0  # active and queued helpers come first
    hosts = assigned.own_hosts if joining else len({host_key_of_url(item.url) for item in leased})
    count = count_helpers_to_start(
        hosts=hosts, pending=pending, workers=bounds.workers, pages_each=bounds.pages_each, active=len(joining)
    )
    last = max(helpers.numbers_of(assigned.helpers), default=0)
    for number in range(last + 1, last + 1 + count):
        _start_helper(tx, context.lease, number)
    if count:
        tx.run(_HAS_HELPERS, values(run_id=context.run_id))
    return count


def _start_helper(tx: Tx, lease: Lease, number: int) -> None:
    run = lease.run
    started = None if run.started_at is None else run.started_at.timestamp()
    helper = NewRun(
        id=RunId(new_id()),
        job_id=run.job_id,
        kind=CRAWL_HELPER,
        priority=run.priority,
        max_attempts=1,
        requested_strategy=run.requested_strategy,
        resolved_strategy=run.resolved_strategy,
        payload=helper_payload(run.payload, helper=number, started=started, run_id=run.id),
        parent_id=run.id,
    )
    runs_queries.add(tx, [(helper, [EventDraft(EventKind.CREATED, {"helper": number, "crawl": run.id})])])
    initial = values(epoch=0, concurrency=0, target_concurrency=0, wants_work=0, done=0)
    tx.run(_ADD_HELPER, {**values(run_id=run.id, number=number, helper_run_id=helper.id), **initial})
