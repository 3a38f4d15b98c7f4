"""The invariants of the data, checked in the database. `corral doctor` prints each finding and what to do."""

from collections.abc import Iterator

import sqlalchemy as sa

from corral.domain.crawl.crawl import Counts
from corral.domain.finding import Finding
from corral.domain.runs.event import EventKind, fold
from corral.domain.runs.run import WORKFLOW, RunState
from corral.store.tables import crawls, events, items, records, runs
from corral.store.tx import Row, Tx, is_state, param, values

_MAX_FINDINGS = 20
# An expired lease is a finding only after this time: the sweep runs every second.
_LATE_MS = 15_000
_WAITED_MS = 60_000


_EXPIRED = (
    sa.select(runs.c.id, runs.c.lease_until)
    .where(
        is_state(runs.c.state, RunState.RUNNING),
        runs.c.lease_until < param("late"),
        runs.c.kind != sa.literal_column(f"'{WORKFLOW}'"),
    )
    .limit(_MAX_FINDINGS)
)
_WAITING = (
    sa.select(runs.c.id, runs.c.due_at)
    .where(is_state(runs.c.state, RunState.QUEUED), runs.c.due_at < param("late"))
    .order_by(runs.c.due_at)
    .limit(1)
)
_COUNT_RUNNING = sa.select(sa.func.count()).where(
    is_state(runs.c.state, RunState.RUNNING), runs.c.kind != sa.literal_column(f"'{WORKFLOW}'")
)
_GAPS = (
    sa.select(events.c.run_id, sa.func.count(), sa.func.max(events.c.seq))
    .group_by(events.c.run_id)
    .having(sa.func.count() != sa.func.max(events.c.seq))
    .limit(_MAX_FINDINGS)
)
_NUMBERS = (
    sa.select(runs.c.id, runs.c.seq, sa.func.coalesce(sa.func.max(events.c.seq), 0))
    .select_from(runs.outerjoin(events, events.c.run_id == runs.c.id))
    .group_by(runs.c.id, runs.c.seq)
    .having(runs.c.seq != sa.func.coalesce(sa.func.max(events.c.seq), 0))
    .limit(_MAX_FINDINGS)
)
_HISTORIES = (
    sa.select(runs.c.id, runs.c.state, events.c.kind)
    .select_from(runs.join(events, events.c.run_id == runs.c.id))
    .where(runs.c.id > param("after"), runs.c.id <= param("last"))
    .order_by(runs.c.id, events.c.seq)
)
_PAGE = sa.select(runs.c.id).where(runs.c.id > param("after")).order_by(runs.c.id).limit(1000)
_DOUBLED = (
    sa.select(records.c.run_id, records.c.item_key)
    .group_by(records.c.run_id, records.c.item_key)
    .having(sa.func.count() > 1)
    .limit(_MAX_FINDINGS)
)


_CRAWLS = sa.select(crawls.c.run_id, *(crawls.c[name] for name in Counts._fields))
_ITEMS = sa.select(items.c.run_id, items.c.state, sa.func.count()).group_by(items.c.run_id, items.c.state)


def findings(tx: Tx) -> list[Finding]:
    """Return every broken invariant, up to a screenful of each."""
    return [*_leases(tx), *_find_starved(tx), *_numbering(tx), *_check_states(tx), *_results(tx), *_frontiers(tx)]


def _leases(tx: Tx) -> Iterator[Finding]:
    for id_, until in tx.all(_EXPIRED, values(late=tx.now_ms - _LATE_MS)):
        late_s = (tx.now_ms - until) // 1000
        yield Finding(
            "a running run has a live lease",
            id_,
            f"its lease ran out {late_s} s ago and it was not reaped",
            "start a node (`corral up` or `corral worker`): its sweep requeues the run",
        )


def _find_starved(tx: Tx) -> Iterator[Finding]:
    """Report starved runs, but only if no run is running at all: due runs may wait for a busy node."""
    if int(tx.all(_COUNT_RUNNING)[0][0]) > 0:
        return
    for id_, due_at in tx.all(_WAITING, values(late=tx.now_ms - _WAITED_MS)):
        waited_s = (tx.now_ms - due_at) // 1000
        yield Finding(
            "a queued run is due later, or being worked towards",
            id_,
            f"it has been due for {waited_s} s and no run is being executed",
            "start a node (`corral up` or `corral worker`)",
        )


def _numbering(tx: Tx) -> Iterator[Finding]:
    remedy = "restore a backup from before; please report this, with the output of `corral events RUN`"
    for id_, count, last in tx.all(_GAPS):
        yield Finding("event numbers have no gap", id_, f"{count} events, the last is number {last}", remedy)
    for id_, seq, last in tx.all(_NUMBERS):
        yield Finding("a run knows its last event", id_, f"the run has number {seq}, its history {last}", remedy)


def _check_states(tx: Tx) -> Iterator[Finding]:
    after = ""
    while page := tx.all(_PAGE, values(after=after)):
        last = page[-1][0]
        yield from _check_state_page(tx.all(_HISTORIES, values(after=after, last=last)))
        after = last


def _check_state_page(rows: list[Row]) -> Iterator[Finding]:
    histories: dict[str, tuple[str, list[EventKind]]] = {}
    for id_, state, kind in rows:
        histories.setdefault(id_, (state, []))[1].append(EventKind(kind))
    for id_, (state, kinds) in histories.items():
        expected = fold(kinds)
        if expected is None or expected.value != state:
            yield Finding(
                "the history of a run leads to its state",
                id_,
                f"the run is {state}, its events lead to {expected.value if expected else 'no state'}",
                "restore a backup from before; please report this, with the output of `corral events RUN`",
            )


def _results(tx: Tx) -> Iterator[Finding]:
    for run_id, key in tx.all(_DOUBLED):
        yield Finding("a result is stored once", run_id, f"item {key} is stored twice", "please report this")


def _frontiers(tx: Tx) -> Iterator[Finding]:
    """Check that the item counts of a crawl match its items."""
    counted: dict[str, dict[str, int]] = {}
    for run_id, state, count in tx.all(_ITEMS):
        counted.setdefault(run_id, {})[state] = int(count)
    for run_id, *numbers in tx.all(_CRAWLS):
        actual = Counts(**counted.get(run_id, {}))
        stored = Counts(*map(int, numbers))
        if actual != stored:
            remedy = "please report this, with the output of `corral events RUN`"
            yield Finding(
                "a crawl knows its items", run_id, f"it counts {stored._asdict()}, there are {actual._asdict()}", remedy
            )
