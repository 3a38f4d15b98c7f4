"""Queries about crawls for the API and the CLI: progress, items by state, and reasons."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import GONE, Counts, ItemState
from corral.domain.crawl.item import StoredItem
from corral.domain.crawl.templates.traps import Trap
from corral.domain.errors import RunNotFound
from corral.domain.runs.code_aliases import current_reason
from corral.domain.runs.run import Run, RunState
from corral.store.rows import run_of
from corral.store.tables import crawls, items, runs
from corral.store.tx import Row, Tx, first, is_state, param, values

_OF_RUN = items.c.run_id == param("run_id")
_COUNTS = tuple(crawls.c[name] for name in (*Counts._fields, *Spent._fields))
_COUNTS_OF = sa.select(*_COUNTS, crawls.c.current_url, crawls.c.updated_at).where(crawls.c.run_id == param("run_id"))
_ITEM_COLUMNS = tuple(column for column in items.columns if column.name not in ("url_key", "rank", "version", "helper"))
_BY_KEY = sa.select(*_ITEM_COLUMNS).where(_OF_RUN, items.c.url_key == param("url_key"))
_BY_ID = sa.select(*_ITEM_COLUMNS).where(items.c.id == param("id"))
_IN_STATE = (
    sa.select(*_ITEM_COLUMNS)
    .where(_OF_RUN, items.c.state == param("state"), items.c.id > param("after"))
    .order_by(items.c.id)
    .limit(param("limit"))
)
_REASONS = (
    sa.select(items.c.state, items.c.reason, sa.func.count())
    .where(_OF_RUN, items.c.reason.is_not(None))
    .group_by(items.c.state, items.c.reason)
)
_CHANGES = (
    sa.select(items.c.change, sa.func.count()).where(_OF_RUN, items.c.change.is_not(None)).group_by(items.c.change)
)
_EXAMPLE = sa.select(items.c.url).where(_OF_RUN, items.c.reason == param("reason")).order_by(items.c.id).limit(1)
_GONE = (
    sa.select(items.c.url)
    .where(_OF_RUN, is_state(items.c.state, ItemState.MISSING), items.c.reason == GONE)
    .order_by(items.c.id)
    .limit(param("limit"))
)
_HELD_BACK = (
    sa.select(items.c.reason, items.c.message, sa.func.count(), sa.func.min(items.c.id))
    .where(_OF_RUN, items.c.state.in_(("skipped", "deferred")), items.c.reason.in_([trap.value for trap in Trap]))
    .group_by(items.c.reason, items.c.message)
    .order_by(sa.func.count().desc(), items.c.message)
    .limit(param("limit"))
)
# Items that trap detection holds back: proven traps, and deferred items that were not reached.
_HELD_PAGES = (
    sa.select(*_ITEM_COLUMNS)
    .where(
        _OF_RUN,
        items.c.state.in_(("skipped", "deferred")),
        items.c.reason.in_([trap.value for trap in Trap]),
        items.c.id > param("after"),
    )
    .order_by(items.c.id)
    .limit(param("limit"))
)
_NEXT_WAITING = (
    sa.select(items.c.host, items.c.reason, items.c.due_at)
    .where(_OF_RUN, is_state(items.c.state, ItemState.PENDING), items.c.helper == sa.literal_column("0"))
    .order_by(items.c.due_at)
    .limit(1)
)
_NOW = (*_COUNTS, crawls.c.current_url, crawls.c.updated_at)
_WANTED = sa.or_(*(sa.and_(runs.c.state == state.value, param(state.value) == 1) for state in RunState))
_NEWEST = (
    sa.select(runs, *_NOW)
    .select_from(crawls.join(runs, runs.c.id == crawls.c.run_id))
    .where(_WANTED)
    .order_by(crawls.c.run_id.desc())
    .limit(param("limit"))
)
_BY_STATE = (
    sa.select(runs.c.state, sa.func.count())
    .select_from(crawls.join(runs, runs.c.id == crawls.c.run_id))
    .group_by(runs.c.state)
)
_SUMS = sa.select(sa.func.sum(crawls.c.done), sa.func.sum(crawls.c.failed))
_FAILED_FOR = (
    sa.select(items.c.reason, sa.func.count()).where(is_state(items.c.state, "failed")).group_by(items.c.reason)
)


class CrawlStatistics(NamedTuple):
    states: dict[str, int]  # number of crawls by state
    done: int  # fetched items of all crawls
    failed: int
    reasons: "Counter[str]"  # failed items by the code of their failure


class CrawlNow(NamedTuple):
    counts: Counts
    size: int
    current_url: str | None
    updated_at: int
    spent: Spent = Spent()


def now(tx: Tx, run_id: str) -> CrawlNow:
    row = first(tx.all(_COUNTS_OF, values(run_id=run_id)))
    if row is None:
        raise RunNotFound(run_id)
    return _now_of(row)


def waiting(tx: Tx, run_id: str) -> tuple[str, str, float] | None:
    """Return the host that a crawl waits for if nothing is due, the reason, and the seconds."""
    row = first(tx.all(_NEXT_WAITING, values(run_id=run_id)))
    if row is None or row[2] <= tx.now_ms:
        return None
    return row[0], row[1] or "", (row[2] - tx.now_ms) / 1000


def newest(tx: Tx, states: Sequence[RunState] | None, limit: int) -> list[tuple[Run, CrawlNow]]:
    """Return crawls, newest first."""
    wanted = tuple(RunState if states is None else states)
    rows = tx.all(_NEWEST, {**values(limit=limit), **{state.value: int(state in wanted) for state in RunState}})
    width = len(runs.columns)
    return [(run_of(row[:width]), _now_of(row[width:])) for row in rows]


def _now_of(row: Row) -> CrawlNow:
    width = len(Counts._fields)
    counts, spent = Counts(*map(int, row[:width])), Spent(*map(int, row[width:-2]))
    return CrawlNow(counts, spent.size, row[-2], row[-1], spent)


def statistics(tx: Tx) -> CrawlStatistics:
    states = {state: int(count) for state, count in tx.all(_BY_STATE)}
    done, failed = (int(number or 0) for number in tx.all(_SUMS)[0])
    reasons: Counter[str] = Counter()
    for reason, count in tx.all(_FAILED_FOR):
        reasons[(reason or "").partition(":")[0]] += int(count)
    return CrawlStatistics(states, done, failed, reasons)


def reasons(tx: Tx, run_id: str) -> list[tuple[str, str, int]]:
    """Count items by state and reason."""
    rows = tx.all(_REASONS, values(run_id=run_id))
    return [(state, current_reason(reason) or "", int(count)) for state, reason, count in rows]


def examples(tx: Tx, run_id: str, wanted: Sequence[str]) -> dict[str, str]:
    """Return the first URL for each of these reasons."""
    found = {reason: first(tx.all(_EXAMPLE, values(run_id=run_id, reason=reason))) for reason in wanted}
    return {reason: row[0] for reason, row in found.items() if row is not None}


def changes(tx: Tx, run_id: str) -> dict[str, int]:
    """Count pages by kind of change since an earlier crawl."""
    return {change: int(count) for change, count in tx.all(_CHANGES, values(run_id=run_id))}


def list_held_back(tx: Tx, run_id: str, limit: int) -> list[dict[str, Any]]:
    """Return the URLs that trap detection held back, by rule and template with an example each; most frequent first."""
    found = []
    for reason, template, count, first_id in tx.all(_HELD_BACK, values(run_id=run_id, limit=limit)):
        row = first(tx.all(_BY_ID, values(id=first_id)))
        example = None if row is None else _item_of(tx, row).url
        found.append({"reason": reason, "template": template, "count": int(count), "example": example})
    return found


def list_gone(tx: Tx, run_id: str, limit: int) -> list[str]:
    """Return the URLs of pages that an earlier crawl recorded and that no longer exist."""
    return [row[0] for row in tx.all(_GONE, values(run_id=run_id, limit=limit))]


def in_state(tx: Tx, run_id: str, state: ItemState, after: int, limit: int) -> list[StoredItem]:
    statement = _HELD_PAGES if state is ItemState.DEFERRED else _IN_STATE
    rows = tx.all(statement, values(run_id=run_id, state=state.value, after=after, limit=limit))
    return [_item_of(tx, row) for row in rows]


def path_to(tx: Tx, run_id: str, url_key: str) -> list[StoredItem]:
    """Return the item, the item on whose page it was found, and so on to the start."""
    path: list[StoredItem] = []
    row = first(tx.all(_BY_KEY, values(run_id=run_id, url_key=url_key)))
    while row is not None:
        path.append(_item_of(tx, row))
        parent = path[-1].parent
        seen = {each.id for each in path}
        row = None if parent is None or parent in seen else first(tx.all(_BY_ID, values(id=parent)))
    return path


def _item_of(tx: Tx, row: Row) -> StoredItem:
    fields = dict(zip((column.name for column in _ITEM_COLUMNS), row, strict=True))
    due_at = fields.pop("due_at")
    due_in_s = max(0.0, (due_at - tx.now_ms) / 1000) if due_at else 0.0
    state, reason = ItemState(fields["state"]), current_reason(fields["reason"])
    return StoredItem(**{**fields, "state": state, "reason": reason, "due_in_s": due_in_s})
