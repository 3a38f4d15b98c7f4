"""What each worker of a shared crawl gets: the crawl itself deals places with pages to read, and how many at once.

Items of a place go to the share of whoever has it when the crawl comes across them on its way through the frontier, so
that nobody looks at what is not his, and nothing has to be moved but what is about to be read.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.crawl import Counts, ItemState, room_in
from corral.domain.crawl.item import DEFERRED_DUE, Batch, BatchReport, DiscoveredLink, Item
from corral.domain.crawl.payload import helper_payload
from corral.domain.crawl.sharing import OWN, Share, allot, deal, helpers_wanted, place_in, place_of_host
from corral.domain.ids import RunId, new_id
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import CRAWL_HELPER, Lease, NewRun
from corral.store.queries.crawl import helpers
from corral.store.queries.crawl import traps as item_traps
from corral.store.queries.crawl.helpers import FRESH, MOVING, POLL_S, CrawlStepContext, HeldShare
from corral.store.queries.crawl.rows import DEPTH, DUE_AT, HOST, LOSSES, NEXT, WITH_PARENTS
from corral.store.queries.runs import runs as runs_queries
from corral.store.tables import crawl_helpers, crawl_host_owners, crawls, items
from corral.store.tx import Row, Tx, first, insert_all, is_state, param, values

# So far beyond what is read next is looked: for what belongs to others, and, where somebody is hungry, for places.
_A_LITTLE = 16
_FAR = 128

_OF_RUN = items.c.run_id == param("run_id")
_LEASED = is_state(items.c.state, ItemState.LEASED)
_WAITING = (_OF_RUN, is_state(items.c.state, ItemState.PENDING), items.c.helper == param("helper"))
_IN_ORDER = (items.c.due_at, items.c.rank, items.c.id)
_NEXT = sa.select(*NEXT).select_from(WITH_PARENTS).where(*_WAITING).order_by(*_IN_ORDER).limit(param("limit"))
_FIRST = (
    sa.select(items.c.depth).where(*_WAITING, items.c.due_at <= param("now")).order_by(*_IN_ORDER).limit(param("limit"))
)
_SHALLOWEST = sa.select(sa.func.min(items.c.depth)).where(
    _OF_RUN, _LEASED, items.c.due_at != sa.literal_column(str(DEFERRED_DUE))
)
_HOSTS = sa.select(items.c.host).where(_OF_RUN, _LEASED, items.c.helper == param("helper")).distinct()
_MOVE = sa.update(items).where(items.c.id == param("id")).values(helper=param("helper"))
_PINS = (crawl_host_owners.c.run_id == param("run_id"), crawl_host_owners.c.host_key == param("host_key"))
_PIN_OF = sa.select(crawl_host_owners.c.host_key, crawl_host_owners.c.helper, crawl_host_owners.c.handover_state).where(
    *_PINS
)
_NEWS = sa.select(crawl_host_owners.c.host_key, crawl_host_owners.c.helper, crawl_host_owners.c.handover_state).where(
    crawl_host_owners.c.run_id == param("run_id"), crawl_host_owners.c.handover_state > sa.literal_column("0")
)
_PIN = (
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
_ASK = insert_all(crawl_helpers)
_SHARED = sa.update(crawls).where(crawls.c.run_id == param("run_id")).values(has_helpers=1)


class Dealt(NamedTuple):
    """What a step goes on with."""

    rows: Sequence[Row]  # that this worker may take, in order
    others: Sequence[HeldShare] = ()  # of the crawl
    at_once: int | None = None
    gone: Sequence[str] = ()  # places that this worker has no more
    come: Sequence[str] = ()  # and those that it has now
    places: int = 0  # with pages to read, that the crawl itself has
    has_more: bool = False  # there may be rows behind those


def dealt(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> Dealt:
    """The next rows for whoever asks; the crawl itself deals first."""
    if not context.is_shared:
        return Dealt(_next(tx, context, room))
    if context.share != OWN:
        return _for_helper(tx, context, report, room)
    return _for_crawl(tx, context, report, room)


def _next(tx: Tx, context: CrawlStepContext, limit: int) -> list[Row]:
    return tx.all(_NEXT, values(run_id=context.run_id, helper=context.share, limit=limit)) if limit > 0 else []


def _for_helper(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> Dealt:
    share = helpers.of_holder(tx, context.run_id, context.lease.run_id)
    assert share is not None, "whoever entered has one"
    rows = _next(tx, context, room)
    fresh = [place for place, of, news in _news(tx, context.run_id) if of == share.number and news == FRESH]
    _pin(tx, context.run_id, dict.fromkeys(fresh, share.number), 0)
    at_once = min(share.at_once, share.target)
    now = share._replace(
        at_once=max(at_once, min(share.at_once, report.at_once)),
        is_hungry=len(rows) < report.want if report.want else share.is_hungry,
        is_done=report.is_done and not rows,
    )
    if now != share:
        helpers.change(tx, context.run_id, now)
    return Dealt(rows, helpers.all_of(tx, context.run_id), at_once, come=fresh)


def _for_crawl(tx: Tx, context: CrawlStepContext, report: BatchReport, room: int) -> Dealt:
    come: list[str] = []
    for held in helpers.all_of(tx, context.run_id):
        if held.share.epoch and not held.is_there:
            come += helpers.emptied(tx, context, held.share)
        if not held.is_there:
            helpers.taken_over(tx, context.run_id, held)
    others = helpers.all_of(tx, context.run_id)
    there = [held.share for held in others if held.is_there]
    if not there:
        return Dealt(_next(tx, context, room), others, context.bounds.concurrency, come=come)
    at_once = _allotted(tx, context, report, there)
    is_asked = any(share.is_hungry for share in there)
    limit = room + (_FAR if is_asked else _A_LITTLE) if room > 0 or is_asked else 0
    window = _next(tx, context, limit)
    gone, rows, places = _dealt_out(tx, context, window, there) if window else ([], [], 0)
    has_more = 0 < limit == len(window)
    return Dealt(rows[:room], helpers.all_of(tx, context.run_id), at_once, gone, come, places, has_more)


def _allotted(tx: Tx, context: CrawlStepContext, report: BatchReport, there: Sequence[Share]) -> int:
    found = allot(context.bounds.concurrency, report.at_once, {share.number: share.at_once for share in there})
    for share in there:
        granted = share._replace(at_once=found.granted[share.number], target=found.target)
        if granted != share:
            helpers.change(tx, context.run_id, granted)
    return found.own


def _dealt_out(
    tx: Tx, context: CrawlStepContext, window: Sequence[Row], there: Sequence[Share]
) -> tuple[list[str], list[Row], int]:
    """The places that were given away, the rows that the crawl itself may take, and how many places those are of."""
    run_id = context.run_id
    at = {place_of_host(row[0]) for row in tx.all(_HOSTS, values(run_id=run_id, helper=OWN))}
    # A page that may have killed a worker stays where it is tried apart.
    at |= {place_of_host(row[HOST]) for row in window if row[LOSSES]}
    news = _news(tx, run_id)
    arrived = {place: share for place, share, what in news if what == MOVING and place not in at}
    _pin(tx, run_id, arrived, FRESH)
    leaving = {place: share for place, share, what in news if what == MOVING and place in at}
    due = [row for row in window if row[DUE_AT] <= tx.now_ms]
    pins = _pins(tx, run_id, {place_of_host(row[HOST]) for row in window})
    free = dict.fromkeys(place for row in due if (place := place_of_host(row[HOST])) not in pins)
    hungry = [share.number for share in there if share.is_hungry and share.number not in leaving.values()]
    apart = [each for each in free if each not in at], [each for each in free if each in at]
    found = deal(*apart, hungry, is_idle=not at)
    _pin(tx, run_id, found.given, FRESH)
    _pin(tx, run_id, found.moved, MOVING)
    for share in there:
        if share.number in found.given.values() or share.number in found.moved.values():
            again = helpers.of_holder(tx, run_id, share.holder)
            assert again is not None
            helpers.change(tx, run_id, again._replace(is_hungry=False, is_done=False))
    theirs = {place: share for place, share in {**pins, **found.given}.items() if place not in leaving}
    rows = _moved(tx, run_id, window, theirs)
    mine = [
        row for row in rows if place_of_host(row[HOST]) not in leaving and place_of_host(row[HOST]) not in found.moved
    ]
    return [*found.given, *found.moved], mine, len(free) - len(found.given) - len(found.moved)


def _moved(tx: Tx, run_id: str, window: Sequence[Row], theirs: dict[str, int]) -> list[Row]:
    """Rows of places that others have go to them; the rest stays."""
    going = [(row[0], share) for row in window if (share := theirs.get(place_of_host(row[HOST]))) is not None]
    if not going:
        return list(window)
    tx.many(_MOVE, [values(id=id_, helper=share) for id_, share in going])
    ids = {id_ for id_, _ in going}
    # Whoever gets pages has something to do, whatever it said before.
    for held in helpers.all_of(tx, run_id):
        if held.share.is_done and held.share.number in {share for _, share in going}:
            helpers.change(tx, run_id, held.share._replace(is_done=False))
    return [row for row in window if row[0] not in ids]


def _news(tx: Tx, run_id: str) -> list[tuple[str, int, int]]:
    return [(place, share, news) for place, share, news in tx.all(_NEWS, values(run_id=run_id))]


def _pin(tx: Tx, run_id: str, places: dict[str, int], news: int) -> None:
    if places:
        tx.many(
            _PIN,
            [
                values(run_id=run_id, host_key=place, helper=share, handover_state=news)
                for place, share in places.items()
            ],
        )


def _pins(tx: Tx, run_id: str, places: Iterable[str]) -> dict[str, int]:
    """Who has them, of those that a helper has or will have."""
    asked = [values(run_id=run_id, host_key=place) for place in sorted(places)]
    found = tx.many_returning(_PIN_OF, asked) if asked else []
    return {row[0]: row[1] for row in found if row is not None}


def own_hosts(tx: Tx, context: CrawlStepContext, found: Iterable[tuple[DiscoveredLink, int | None]]) -> set[str]:
    """Of the hosts of what was found, those that the helper has already: that is its own."""
    hosts = sorted({each.host for each, _ in found if each.reason is None})
    asked = [values(run_id=context.run_id, host_key=place_of_host(host)) for host in hosts]
    pins = tx.many_returning(_PIN_OF, asked) if asked else []
    there = [row is not None and row[1] == context.share and row[2] != MOVING for row in pins]
    return {host for host, is_own in zip(hosts, there, strict=True) if is_own}


def without_others(tx: Tx, context: CrawlStepContext, rows: list[Row]) -> list[Row]:
    """Those whose place nobody else has."""
    if not context.is_shared:
        return rows
    pins = _pins(tx, context.run_id, {place_of_host(row[HOST]) for row in rows})
    return [row for row in rows if place_of_host(row[HOST]) not in pins]


def level_of(tx: Tx, context: CrawlStepContext, due: Sequence[Row], others: Sequence[HeldShare]) -> int:
    """How deep items may lie that are handed out now: as deep as the nearest that is not read yet, whoever has it."""
    key = values(run_id=context.run_id)
    leased = tx.all(_SHALLOWEST, key)[0][0] if context.counts["leased"] else None
    if not context.is_shared:
        return int(due[0][DEPTH] if leased is None else leased)
    found = [due[0][DEPTH], *([] if leased is None else [leased])]
    for number in {OWN, *helpers.numbers_of(others)} - {context.share}:
        row = first(tx.all(_FIRST, {**key, **values(helper=number, now=tx.now_ms, limit=1)}))
        found += [] if row is None else [row[0]]
    return int(min(found))


# -- the answer --------------------------------------------------------------------------------------


def answered(tx: Tx, context: CrawlStepContext, got: Dealt, step: Batch, room: int) -> Batch:
    """With what a worker that is not alone has to know."""
    asked = _asked_for_helpers(tx, context, got, step.items) if context.share == OWN else 0
    if not context.is_shared:
        return step._replace(helpers=asked, at_once=context.bounds.concurrency if context.bounds.workers > 1 else None)
    if context.share == OWN and not step.items and _is_waited_for(context, got, room):
        step = step._replace(next_due_s=POLL_S if step.next_due_s is None else min(POLL_S, step.next_due_s))
    traps = _with_places(tx, context.run_id, step.traps, got)
    is_shared = any(held.is_there for held in got.others)
    return step._replace(helpers=asked, at_once=got.at_once, is_shared=is_shared, traps=traps)


def _is_waited_for(context: CrawlStepContext, got: Dealt, room: int) -> bool:
    """The crawl is not over while a helper has something to do, or has not said that it has nothing."""
    others = [held for held in got.others if held.is_there]
    if not others:
        return got.has_more
    has_work = context.counts["leased"] > 0 or (room > 0 and context.counts["pending"] + context.counts["deferred"] > 0)
    return has_work or got.has_more or not all(held.share.is_done for held in others)


def _with_places(tx: Tx, run_id: str, traps: dict[str, Any] | None, got: Dealt) -> dict[str, Any] | None:
    """What is known of the templates of places goes with them."""
    if not (got.come or got.gone):
        return traps
    known = item_traps.known_of(tx, run_id, set(got.come)) if got.come else None
    return {**(traps or {}), "come": known, "gone": list(got.gone)}


def _asked_for_helpers(tx: Tx, context: CrawlStepContext, got: Dealt, taken: Sequence[Item]) -> int:
    """Queue runs that will help, as many as there is something to do for; how many."""
    bounds = context.bounds
    if bounds.workers <= 1:
        return 0
    counts = Counts(*(context.counts[name] for name in Counts._fields))
    # What is beyond a budget is nobody's work.
    pending = int(min(counts.pending, room_in(bounds, counts, context.counts["size"])))
    shares = [held for held in got.others if held.may_come]
    if any(not held.is_there or held.share.is_hungry for held in shares):
        return 0  # those that are there, or on their way, come first
    places = got.places if shares else len({place_in(item.url) for item in taken})
    wanted = helpers_wanted(
        places=places, pending=pending, workers=bounds.workers, pages_each=bounds.pages_each, there=len(shares)
    )
    last = max(helpers.numbers_of(got.others), default=0)
    for number in range(last + 1, last + 1 + wanted):
        _ask_for_helper(tx, context.lease, number)
    if wanted:
        tx.run(_SHARED, values(run_id=context.run_id))
    return wanted


def _ask_for_helper(tx: Tx, lease: Lease, number: int) -> None:
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
    none = values(epoch=0, concurrency=0, target_concurrency=0, wants_work=0, done=0)
    tx.run(_ASK, {**values(run_id=run.id, number=number, helper_run_id=helper.id), **none})
