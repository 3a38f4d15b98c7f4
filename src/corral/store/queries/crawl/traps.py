"""What trap detection knows about the templates of a crawl, and the items it holds back: see domain.crawl.templates.

The worker decides; its decisions are written in the transaction of the pages that led to them.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DEFERRED_DUE, MAX_ROWS
from corral.domain.crawl.sharing import host_key_of_template
from corral.domain.crawl.templates.traps import Trap
from corral.store.queries.crawl import helpers
from corral.store.queries.crawl.helpers import CrawlStepContext
from corral.store.queries.crawl.rows import DUE_AT
from corral.store.rows import from_json, storable, to_json
from corral.store.tables import crawl_templates, items
from corral.store.tx import Row, Tx, is_state, param, values

_OF_RUN = crawl_templates.c.run_id == param("run_id")
_LOAD = sa.select(crawl_templates.c.name, crawl_templates.c.tally).where(_OF_RUN)
_SAVE = (
    insert(crawl_templates)
    .values(run_id=param("run_id"), name=param("name"), tally=param("tally"), growth=param("growth"))
    .on_conflict_do_update(index_elements=["run_id", "name"], set_={"tally": param("tally"), "growth": param("growth")})
)
_DROP = sa.delete(crawl_templates).where(_OF_RUN, crawl_templates.c.name == param("name"))
_DROP_ALL = sa.delete(crawl_templates).where(_OF_RUN)
_OF_ITEMS = items.c.run_id == param("run_id")
_DEFERRED = is_state(items.c.state, ItemState.DEFERRED)
_REFUSE = (
    sa.update(items)
    .where(_OF_ITEMS, _DEFERRED, items.c.message == param("name"))
    .values(state=ItemState.SKIPPED.value, reason=Trap.ENDLESS.value, updated_at=param("wall"))
)
# Names with deferred items, least growth first. Each costs one index lookup.
_NAMES = (
    sa.select(crawl_templates.c.name, crawl_templates.c.growth)
    .where(
        _OF_RUN,
        sa.exists().where(
            items.c.run_id == crawl_templates.c.run_id, _DEFERRED, items.c.message == crawl_templates.c.name
        ),
    )
    .order_by(crawl_templates.c.growth, crawl_templates.c.name)
    .limit(param("limit"))
)
_LEAST_IN_FLIGHT = (
    sa.select(sa.func.min(crawl_templates.c.growth))
    .select_from(items.join(crawl_templates, crawl_templates.c.name == items.c.message))
    .where(_OF_ITEMS, is_state(items.c.state, ItemState.LEASED), _OF_RUN)
)
_IN_ORDER = (items.c.rank, items.c.id)
_NEXT_OF_NAME = (
    sa.select(items.c.id, items.c.rank)
    .where(_OF_ITEMS, _DEFERRED, items.c.message == param("name"))
    .order_by(*_IN_ORDER)
    .limit(param("limit"))
)
_NEXT_DEFERRED = (
    sa.select(items.c.id, items.c.rank).where(_OF_ITEMS, _DEFERRED).order_by(*_IN_ORDER).limit(param("limit"))
)
_PROMOTE = (
    sa.update(items)
    .where(items.c.id == param("id"))
    .values(state=ItemState.PENDING.value, due_at=sa.literal_column(str(DEFERRED_DUE)), helper=sa.literal_column("0"))
)
_FRESH_LEASED = (
    sa.select(items.c.id)
    .where(_OF_ITEMS, is_state(items.c.state, ItemState.LEASED), items.c.due_at != sa.literal_column(str(DEFERRED_DUE)))
    .limit(1)
)
# The next items come from at most this many names that do not grow.
_MAX_NAMES = 16
# Concurrent pages of one growing name.
_MAX_CONCURRENT = 16


def write(tx: Tx, context: CrawlStepContext, report: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Write a worker's knowledge about templates; return the answer, and how many deferred items it refuses."""
    key, growth = values(run_id=context.run_id), report.get("growth", {})
    updated = [
        {**key, **values(name=storable(name), tally=to_json(tally), growth=growth.get(name, 0.0))}
        for name, tally in sorted(report["tallies"].items())
        if tally is not None
    ]
    dropped = [{**key, **values(name=storable(name))} for name, tally in report["tallies"].items() if tally is None]
    if updated:
        tx.many(_SAVE, updated)
    if dropped:
        tx.many(_DROP, dropped)
    refused = sum(
        tx.run(_REFUSE, {**key, **values(name=storable(name), wall=tx.wall_ms)}) for name in report["endless"]
    )
    return (_initial_knowledge(tx, context) if report["begins"] else {}), refused


def promote(tx: Tx, context: CrawlStepContext, limit: int, next_rows: Sequence[Row], holding: int) -> int:
    """Make the next deferred items pending if nothing else can be leased now; return how many.

    Pages that wait for a retry do not prevent this, unless the crawl is shared: only other workers know what is due
    there. A page that is being read may lead to pages that come first, unless it was deferred itself.
    """
    if limit <= 0 or not context.counts["deferred"] or not context.is_coordinator:
        return 0
    has_others = context.has_helpers and context.counts["pending"] > 0
    if has_others or any(row[DUE_AT] <= tx.now_ms for row in next_rows):
        return 0
    if tx.all(_FRESH_LEASED, values(run_id=context.run_id)):
        return 0
    chosen = _least_grown(tx, context, min(limit, MAX_ROWS), holding)
    if chosen:
        tx.many(_PROMOTE, [values(id=each) for each in chosen])
        context.counts.update(deferred=-len(chosen), pending=len(chosen))
    return len(chosen)


def _least_grown(tx: Tx, context: CrawlStepContext, limit: int, holding: int) -> list[int]:
    """Return items of names that do not grow, in their order; if there are none, some of the name that grew least.

    A growing name gets no more than its concurrency: the links of its pages decide which name comes next.
    """
    key = values(run_id=context.run_id)
    names = tx.all(_NAMES, {**key, **values(limit=_MAX_NAMES)})
    quiet = [name for name, growth in names if not growth]
    if quiet:
        rows = [row for name in quiet for row in tx.all(_NEXT_OF_NAME, {**key, **values(name=name, limit=limit)})]
        return [row[0] for row in sorted(rows, key=lambda row: (row[1], row[0]))[:limit]]
    if not names:
        # The worker has forgotten the names of all remaining items.
        return [row[0] for row in tx.all(_NEXT_DEFERRED, {**key, **values(limit=limit)})]
    some = min(limit, max(1, min(context.bounds.concurrency, _MAX_CONCURRENT)) - holding)
    [(in_flight,)] = tx.all(_LEAST_IN_FLIGHT, key)
    if some <= 0 or (in_flight is not None and in_flight < names[0][1]):
        return []  # a page of a less suspect name is being read and may lead to more of them
    return [row[0] for row in tx.all(_NEXT_OF_NAME, {**key, **values(name=names[0][0], limit=some)})]


def _initial_knowledge(tx: Tx, context: CrawlStepContext) -> dict[str, Any]:
    """Return the initial knowledge. A helper begins with none: the knowledge about a host arrives with the host."""
    if not context.is_coordinator:
        return {"templates": []}
    others = helpers.list_helper_hosts(tx, context.run_id) if context.has_helpers else set()
    return _load_templates(tx, context.run_id, lambda name: not others or host_key_of_template(name) not in others)


def knowledge_of(tx: Tx, run_id: str, host_keys: Collection[str]) -> dict[str, Any]:
    """Return the other workers' knowledge about these hosts."""
    return _load_templates(tx, run_id, lambda name: host_key_of_template(name) in host_keys)


def _load_templates(tx: Tx, run_id: str, is_wanted: Callable[[str], bool]) -> dict[str, Any]:
    key = values(run_id=run_id)
    return {"templates": [[name, *from_json(tally)] for name, tally in tx.all(_LOAD, key) if is_wanted(name)]}


def forget(tx: Tx, run_id: str) -> None:
    tx.run(_DROP_ALL, values(run_id=run_id))
