"""The stored state of hosts, and the runs that wait for one.

Times go in and out as seconds from now: a node and its database do not share a clock.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.item import FREED_DUE, deferral_reason
from corral.domain.hosts.limiter import Parking, SitePace, StoredHost
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.outcome import WaitReason
from corral.domain.runs.run import CRAWL, LIVE, RunState
from corral.store.queries import events
from corral.store.rows import at
from corral.store.tables import hosts, items, runs
from corral.store.tx import Row, Tx, first, insert_params, is_state, param, values

# A transaction may commit after others that began later.
_OVERLAP_MS = 5000

_AT = hosts.c.host_key == param("host_key")
_INSERT = insert(hosts).values(insert_params(hosts))
_NEW = _INSERT.excluded
_LATER_BLOCKED = sa.case((_NEW.blocked_until > hosts.c.blocked_until, _NEW.blocked_until), else_=hosts.c.blocked_until)
_TOUCH = _INSERT.on_conflict_do_update(
    index_elements=["host_key"],
    set_={
        # Only the probe changes the failure count of an open breaker.
        "failures": sa.case((hosts.c.opened_at.is_(None), _NEW.failures), else_=hosts.c.failures),
        "blocked_until": _LATER_BLOCKED,
        "updated_at": _NEW.updated_at,
    },
)
_OPEN = _INSERT.on_conflict_do_update(
    index_elements=["host_key"],
    set_={
        "failures": _NEW.failures,
        # If another node opened it first, it is open since then.
        "opened_at": sa.func.coalesce(hosts.c.opened_at, _NEW.opened_at),
        "blocked_until": _LATER_BLOCKED,
        "updated_at": _NEW.updated_at,
    },
)
_SET_PACE = _INSERT.on_conflict_do_update(
    index_elements=["host_key"], set_={name: _NEW[name] for name in ("concurrency", "delay_ms", "updated_at")}
)
_TAKE_PROBE = (
    sa.update(hosts)
    .where(
        _AT,
        hosts.c.opened_at <= param("opened_before"),
        sa.or_(hosts.c.probed_at.is_(None), hosts.c.probed_at <= param("probed_before")),
    )
    .values(probed_at=param("now"), updated_at=param("now"))
)
_END_PROBE = (
    sa.update(hosts)
    .where(_AT)
    .values(failures=param("failures"), opened_at=param("opened_at"), probed_at=sa.null(), updated_at=param("now"))
)
_GET = sa.select(hosts).where(_AT)
_NEWEST = sa.select(hosts).order_by(hosts.c.updated_at.desc(), hosts.c.host_key).limit(param("limit"))
_HAS_PACE = sa.or_(hosts.c.concurrency.is_not(None), hosts.c.delay_ms.is_not(None))
_WATCHED = _NEWEST.where(
    sa.or_(hosts.c.opened_at.is_not(None), hosts.c.blocked_until > param("now"), hosts.c.failures > 0, _HAS_PACE)
)
_CHANGED = _NEWEST.where(hosts.c.updated_at >= param("since"))
# Nothing has requested these hosts since; the next request finds out whether the host still fails.
_FORGET = sa.delete(hosts).where(hosts.c.updated_at < param("before"), sa.not_(_HAS_PACE))
_PARK = (
    sa.update(runs)
    .where(
        runs.c.id == param("id"),
        runs.c.epoch == param("epoch"),
        runs.c.owner == param("owner"),
        is_state(runs.c.state, RunState.RUNNING),
    )
    .values(
        state=RunState.QUEUED.value,
        owner=sa.null(),
        lease_until=sa.null(),
        waiting_reason=param("reason"),
        waiting_host=param("host_key"),
        # Runs of older databases have no host key; from now on, claims respect the limits of this host.
        host_key=sa.func.coalesce(runs.c.host_key, param("host_key")),
        seq=runs.c.seq + 1,
    )
    .returning(runs.c.seq)
)
_WAITS = (runs.c.waiting_host == param("host_key"), is_state(runs.c.state, RunState.QUEUED))
_FIRST_WAITING = sa.select(runs.c.id).where(*_WAITS).order_by(runs.c.priority, runs.c.due_at, runs.c.id).limit(1)
_LIVE_CRAWLS = sa.select(runs.c.id).where(
    is_state(runs.c.kind, CRAWL), runs.c.state.in_([state.value for state in sorted(LIVE)])
)
_FREE_ITEMS = (
    sa.update(items)
    .where(
        items.c.run_id == param("run_id"),
        is_state(items.c.state, "pending"),
        items.c.due_at > param("now"),
        items.c.reason.in_([deferral_reason(reason) for reason in WaitReason]),
        items.c.host == param("host"),
    )
    .values(due_at=FREED_DUE)
)
_NEXT_PAGE = (
    sa.select(items.c.id)
    .where(
        items.c.run_id == param("run_id"),
        is_state(items.c.state, "pending"),
        items.c.due_at > param("now"),
        items.c.reason == deferral_reason(WaitReason.BREAKER),
        items.c.host == param("host"),
    )
    .order_by(items.c.due_at)
    .limit(1)
)
_RELEASE_PAGE = (
    sa.update(items)
    .where(items.c.run_id == param("run_id"), items.c.id == param("id"), is_state(items.c.state, "pending"))
    .values(due_at=FREED_DUE)
)
_COUNT_RUNS = (
    sa.select(runs.c.waiting_host, runs.c.waiting_reason, sa.func.count())
    .where(runs.c.waiting_host.is_not(None), is_state(runs.c.state, RunState.QUEUED))
    .group_by(runs.c.waiting_host, runs.c.waiting_reason)
)
_COUNT_ITEMS = sa.select(sa.func.count()).where(
    items.c.run_id == param("run_id"),
    is_state(items.c.state, "pending"),
    items.c.due_at > param("now"),
    items.c.reason == deferral_reason(WaitReason.BREAKER),
)


def list_watched(tx: Tx, limit: int) -> list[StoredHost]:
    """Return hosts that fail or have their own limits; the latest change first."""
    return [_host(tx, row) for row in tx.all(_WATCHED, values(now=tx.now_ms, limit=limit))]


def list_changes(tx: Tx, since_ms: int, limit: int) -> tuple[list[StoredHost], int]:
    """Return the changes since then, and the time for the next call: a little earlier than now."""
    rows = tx.all(_CHANGED, values(since=since_ms, limit=limit))
    return [_host(tx, row) for row in rows], tx.now_ms - _OVERLAP_MS


def forget(tx: Tx, older_than_s: float) -> int:
    return tx.run(_FORGET, values(before=tx.now_ms - round(older_than_s * 1000)))


def get(tx: Tx, host_key: str) -> StoredHost | None:
    row = first(tx.all(_GET, values(host_key=host_key)))
    return None if row is None else _host(tx, row)


def _host(tx: Tx, row: Row) -> StoredHost:
    host_key, failures, opened_at, probed_at, blocked_until, concurrency, delay_ms, updated_at = row
    return StoredHost(
        host_key,
        int(failures),
        None if opened_at is None else (tx.now_ms - opened_at) / 1000,
        None if probed_at is None else (tx.now_ms - probed_at) / 1000,
        max(0.0, (blocked_until - tx.now_ms) / 1000),
        SitePace(concurrency, None if delay_ms is None else delay_ms / 1000),
        at(updated_at),
    )


def _row(tx: Tx, host_key: str, **columns: Any) -> dict[str, Any]:
    defaults = values(failures=0, opened_at=None, probed_at=None, blocked_until=0, concurrency=None, delay_ms=None)
    return {**defaults, **columns, **values(host_key=host_key, updated_at=tx.now_ms)}


def touch(tx: Tx, seen: Sequence[tuple[str, int, float]]) -> None:
    """Save the failures in a row of hosts, and the pauses they requested."""
    rows = [
        _row(tx, host_key, failures=failures, blocked_until=tx.now_ms + round(blocked_s * 1000) if blocked_s > 0 else 0)
        for host_key, failures, blocked_s in sorted(seen)
    ]
    tx.many(_TOUCH, rows)


def open_breaker(tx: Tx, host_key: str, failures: int, blocked_s: float) -> None:
    blocked = tx.now_ms + round(blocked_s * 1000) if blocked_s > 0 else 0
    tx.run(_OPEN, _row(tx, host_key, failures=failures, opened_at=tx.now_ms, blocked_until=blocked))


def take_probe(tx: Tx, host_key: str, open_s: float, probe_s: float) -> bool:
    """Return True for exactly one caller, once the breaker has been open for long enough."""
    before = values(opened_before=tx.now_ms - round(open_s * 1000), probed_before=tx.now_ms - round(probe_s * 1000))
    return tx.run(_TAKE_PROBE, {**before, **values(host_key=host_key, now=tx.now_ms)}) == 1


def end_probe(tx: Tx, host_key: str, failures: int, opened_ago_s: float | None) -> int:
    """Write the result of the probe; return how many pages it frees.

    While the breaker stays open, they keep waiting.
    """
    opened_at = None if opened_ago_s is None else tx.now_ms - round(opened_ago_s * 1000)
    tx.run(_END_PROBE, values(host_key=host_key, failures=failures, opened_at=opened_at, now=tx.now_ms))
    return release_pages(tx, host_key) if opened_at is None else 0


def set_pace(tx: Tx, host_key: str, pace: SitePace) -> None:
    """Save the pace that a person has set for a site."""
    delay_ms = None if pace.delay_s is None else round(pace.delay_s * 1000)
    tx.run(_SET_PACE, _row(tx, host_key, concurrency=pace.concurrency, delay_ms=delay_ms))


def park(tx: Tx, parkings: Sequence[Parking]) -> int:
    """Return runs to the queue until their host accepts requests; the attempt does not count."""
    rows = tx.many_returning(_PARK, [_parking_values(each) for each in parkings])
    history: list[dict[str, Any]] = []
    for each, row in zip(parkings, rows, strict=True):
        if row is not None:
            meta = {"waiting_reason": each.reason.value, "host": each.host_key, "wait_s": round(each.wait_s, 3)}
            draft = EventDraft(EventKind.HOST_DEFERRED, meta)
            history += events.rows_for(each.lease.run_id, row[0], [draft], tx.wall_ms)
    events.insert(tx, history)
    return len(history)


def _parking_values(each: Parking) -> dict[str, Any]:
    lease = each.lease
    return values(
        id=lease.run_id,
        epoch=lease.epoch,
        owner=lease.owner,
        reason=each.reason.value,
        host_key=each.host_key,
    )


def release_pages(tx: Tx, host_key: str) -> int:
    """Make all crawl pages that wait for this host due now. Claims wake the runs, as the host has room."""
    crawls = [row[0] for row in tx.all(_LIVE_CRAWLS)]
    freed = [values(run_id=run_id, host=name, now=tx.now_ms) for run_id in crawls for name in _names(host_key)]
    return tx.many(_FREE_ITEMS, freed) if freed else 0


def release_probe_page(tx: Tx, host_key: str) -> int:
    """Make a crawl page due as the probe of an open breaker, unless a run is waiting to make that request."""
    if tx.all(_FIRST_WAITING, values(host_key=host_key)):
        return 0
    for run_id in [row[0] for row in tx.all(_LIVE_CRAWLS)]:
        for name in _names(host_key):
            page = first(tx.all(_NEXT_PAGE, values(run_id=run_id, host=name, now=tx.now_ms)))
            if page is not None:
                return tx.run(_RELEASE_PAGE, values(run_id=run_id, id=page[0]))
    return 0


def _names(host_key: str) -> tuple[str, str]:
    """Return the names of the host in URLs."""
    return host_key, f"www.{host_key}"


def waiting_counts(tx: Tx) -> tuple[dict[str, int], int]:
    """Return the number of waiting runs per host, and the number of runs and crawl pages that wait for a breaker."""
    by_host: dict[str, int] = {}
    blocked = 0
    for host_key, reason, count in tx.all(_COUNT_RUNS):
        by_host[host_key] = by_host.get(host_key, 0) + int(count)
        blocked += int(count) if reason == WaitReason.BREAKER.value else 0
    for row in tx.all(_LIVE_CRAWLS):
        blocked += int(tx.all(_COUNT_ITEMS, values(run_id=row[0], now=tx.now_ms))[0][0])
    return by_host, blocked
