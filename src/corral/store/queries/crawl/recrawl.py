"""Incremental crawls: request the pages of an earlier crawl first, and copy the records of unchanged pages."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.crawl.crawl import Since
from corral.domain.crawl.item import MAX_ROWS, PAGE, Change, DiscoveredLink, Item, ItemResult, key_of_record
from corral.domain.crawl.scope import Refusal
from corral.domain.crawl.templates.traps import Trap
from corral.store.rows import from_json, to_json
from corral.store.tables import crawls, items, records
from corral.store.tx import Tx, first, is_state, param, values

FINISHED = -1

# Items that the earlier crawl held back are not copied; a link to one may still be found.
_NOT_COPIED = (Refusal.NOFOLLOW.value, *(trap.value for trap in Trap))
# Walks along the ids from the last step's position: an index on the run alone would require a sort each time.
_EARLIER = (
    sa.select(items.c.id, items.c.url, items.c.url_key, items.c.host, items.c.depth, items.c.lastmod)
    .where(
        items.c.id > param("after"),
        items.c.run_id.concat("") == param("since"),
        is_state(items.c.kind, PAGE),
        sa.or_(items.c.reason.is_(None), items.c.reason.not_in(_NOT_COPIED)),
    )
    .order_by(items.c.id)
    .limit(MAX_ROWS)
)
_COPIED = sa.update(crawls).where(crawls.c.run_id == param("run_id")).values(copied=param("copied"))
_VERSION = (
    sa.select(items.c.version, records.c.id)
    .select_from(
        items.outerjoin(records, sa.and_(records.c.run_id == items.c.run_id, records.c.item_key == items.c.url_key))
    )
    .where(items.c.run_id == param("since"), items.c.url_key == param("url_key"), is_state(items.c.state, "done"))
)
_RECORD = sa.select(records.c.data, records.c.details).where(
    records.c.run_id == param("since"), records.c.item_key == param("key")
)


def earlier(tx: Tx, run_id: str, since: Since, after: int) -> tuple[list[DiscoveredLink], int]:
    """Return the next items of the earlier crawl that belong to this one, and the position after them."""
    rows = tx.all(_EARLIER, values(since=since.run_id, after=after))
    found = [
        DiscoveredLink(url, key, host, depth, rank=float(depth), lastmod=lastmod)
        for _, url, key, host, depth, lastmod in rows
        if depth == 0 or since.scope.refuses(url, depth) is None
    ]
    copied = int(rows[-1][0]) if len(rows) == MAX_ROWS else FINISHED
    tx.run(_COPIED, values(run_id=run_id, copied=copied))
    return found, copied


def with_versions(tx: Tx, since: Since, leased: Sequence[Item]) -> tuple[Item, ...]:
    """Add the versions from the earlier crawl.

    Conditional requests are sent only if there is a record to carry over.
    """
    found = []
    for item in leased:
        row = first(tx.all(_VERSION, values(since=since.run_id, url_key=item.key)))
        if row is None or row[0] is None:
            found.append(item)
            continue
        digest, etag, modified = from_json(row[0])
        known = (digest, etag, modified) if row[1] is not None else (digest, None, None)
        found.append(item._replace(earlier_version=known))
    return tuple(found)


def with_records(tx: Tx, since: Since, ended: Sequence[ItemResult]) -> list[ItemResult]:
    """Add the earlier crawl's records of pages that have not changed and were not sent again."""
    return [
        _carry_over(tx, since, each) if each.change is Change.UNCHANGED and not each.record else each for each in ended
    ]


def _carry_over(tx: Tx, since: Since, each: ItemResult) -> ItemResult:
    """Copy the records of a page with their details; own code makes several."""
    found: list[tuple[str, dict[str, Any] | None]] = []
    while (row := _find_record(tx, since, key_of_record(each.key, len(found)))) is not None:
        data = {**from_json(row[0]), "change": Change.UNCHANGED.value}
        found.append((to_json(data), None if row[1] is None else from_json(row[1])))
    if not found:
        return each
    (record, details), *more = found
    return each._replace(record=record, details=details, more=tuple(more))


def _find_record(tx: Tx, since: Since, key: str) -> Any:
    return first(tx.all(_RECORD, values(since=since.run_id, key=key)))
