"""Stored pages and records, read in batches that fit into memory."""

from collections.abc import Iterable
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.item import ItemResult
from corral.domain.crawl.page_archive import ArchivedPage, body_of
from corral.domain.runs.record import Record
from corral.store.queries import records as records_queries
from corral.store.rows import from_json, storable
from corral.store.tables import pages, records
from corral.store.tx import Row, Tx, first, insert_params, param, values

# The row limit and the byte limit of a batch; a single row may be larger.
_MAX_ROWS = 200
_MAX_BYTES = 1024 * 1024

_KEEP = (
    insert(pages)
    .values(insert_params(pages, without=("id",)))
    .on_conflict_do_nothing(index_elements=["run_id", "item_key"])
)
_COLUMNS = (
    *(pages.c.id, pages.c.url, pages.c.requested_url, pages.c.http_status, pages.c.headers),
    *(pages.c.body, pages.c.fetched_at),
)
_READ = (
    sa.select(*_COLUMNS)
    .where(pages.c.run_id == param("run_id"), pages.c.id > param("after"))
    .order_by(pages.c.id)
    .limit(param("limit"))
)
_KEY = sa.select(pages.c.item_key).where(pages.c.id == param("id"))
_DATA = sa.select(records.c.data).where(records.c.run_id == param("run_id"), records.c.item_key == param("key"))
_COUNT = sa.select(sa.func.count()).where(pages.c.run_id == param("run_id"))


def _sizes(table: sa.Table, column: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return the sizes of the next rows. Both databases know the length of a value without reading it."""
    return (
        sa.select(column)
        .where(table.c.run_id == param("run_id"), table.c.id > param("after"))
        .order_by(table.c.id)
        .limit(_MAX_ROWS)
    )


# PostgreSQL compresses large values and knows only the compressed size: text shrinks to a third or a quarter.
_PACKED_TO = 4
# Keyed by whether the database is PostgreSQL.
_RECORD_SIZES = {
    True: _sizes(records, sa.func.pg_column_size(records.c.data) * sa.literal_column(str(_PACKED_TO))),
    False: _sizes(records, sa.func.octet_length(records.c.data)),
}
_PAGE_SIZES = {
    True: _sizes(pages, sa.func.pg_column_size(pages.c.body)),
    False: _sizes(pages, sa.func.octet_length(pages.c.body)),
}


def keep(tx: Tx, run_id: str, ended: Iterable[ItemResult]) -> None:
    rows = [_page_values(run_id, each, each.page) for each in ended if each.page is not None]
    if rows:
        tx.many(_KEEP, rows)


def _page_values(run_id: str, ended: ItemResult, page: dict[str, Any]) -> dict[str, Any]:
    requested_url = page["requested_url"]
    return values(
        run_id=run_id,
        item_key=ended.key,
        url=storable(page["url"]),
        requested_url=None if requested_url is None else storable(requested_url),
        http_status=page["http_status"],
        headers=storable(orjson.dumps(page["headers"]).decode()),
        body=body_of(page),
        fetched_at=page["fetched_at"],
    )


def next_records(tx: Tx, run_id: str, after: str) -> list[Record]:
    """Return the next records in the order of discovery; an empty list at the end."""
    sizes = tx.all(_RECORD_SIZES[tx.is_postgres], values(run_id=run_id, after=after))
    return records_queries.of_run(tx, run_id, after, _fitting(sizes)) if sizes else []


def next_pages(tx: Tx, run_id: str, after: int) -> list[ArchivedPage]:
    sizes = tx.all(_PAGE_SIZES[tx.is_postgres], values(run_id=run_id, after=after))
    if not sizes:
        return []
    return [_page_of(row) for row in tx.all(_READ, values(run_id=run_id, after=after, limit=_fitting(sizes)))]


def next_pages_with_records(tx: Tx, run_id: str, after: int) -> list[tuple[ArchivedPage, list[Any]]]:
    """Return the next pages, each with the data of its records."""
    found = next_pages(tx, run_id, after)
    keys = [first(tx.all(_KEY, values(id=page.id))) for page in found]
    return [(page, _records_of(tx, run_id, key[0]) if key else []) for page, key in zip(found, keys, strict=True)]


def _records_of(tx: Tx, run_id: str, key: str) -> list[Any]:
    """Return the records of a page. The second record has the item's key with `#2`."""
    found: list[Any] = []
    while row := first(tx.all(_DATA, values(run_id=run_id, key=key if not found else f"{key}#{len(found) + 1}"))):
        found.append(from_json(row[0]))
    return found


def _fitting(sizes: list[Row]) -> int:
    """Return the number of rows to read in this batch; at least one."""
    total = 0
    for count, (size,) in enumerate(sizes):
        total += size
        if total > _MAX_BYTES:
            return max(1, count)
    return len(sizes)


def _page_of(row: Row) -> ArchivedPage:
    page = ArchivedPage(*row)
    return page._replace(headers=orjson.loads(row[4]), packed=bytes(page.packed))


def count(tx: Tx, run_id: str) -> int:
    return int(tx.all(_COUNT, values(run_id=run_id))[0][0])
