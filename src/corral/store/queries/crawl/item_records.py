"""Write the records of items."""

from collections.abc import Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.item import ItemResult
from corral.domain.records.changes import fields_to_ignore
from corral.domain.records.row_key import describe_keys, digest_of, make_row_key
from corral.runtime.new_ids import new_id
from corral.store.queries.crawl import recrawl
from corral.store.queries.crawl.helpers import CrawlStepContext
from corral.store.rows import ensure_json, from_json, to_json
from corral.store.tables import records
from corral.store.tx import Tx, insert_params, param, values

_SAMPLE = 50  # rows to read for examples of keys
_INSERT = insert(records).values(insert_params(records)).on_conflict_do_nothing(index_elements=["run_id", "item_key"])
# For a page that is read again because a shorter path to it was found.
_REPLACE = (
    insert(records)
    .values(insert_params(records))
    .on_conflict_do_update(
        index_elements=["run_id", "item_key"], set_={"data": param("data"), "digest": param("digest")}
    )
)
_COUNT_KEYS = sa.select(
    sa.func.count(sa.case((records.c.row_key.is_(None), 1))),
    sa.func.count(sa.case((records.c.row_key == records.c.item_key, 1))),
).where(records.c.run_id == param("run_id"))
_DUPLICATES = (
    sa.select(records.c.row_key)
    .where(records.c.run_id == param("run_id"), records.c.row_key.is_not(None))
    .group_by(records.c.row_key)
    .having(sa.func.count() > 1)
)
_CLEAR_KEYS = (
    sa.update(records)
    .where(records.c.run_id == param("run_id"), records.c.row_key.in_(_DUPLICATES))
    .values(row_key=None)
)
_CLEARED = (
    sa.select(records.c.data)
    .where(records.c.run_id == param("run_id"), records.c.row_key.is_(None))
    .order_by(records.c.id)
    .limit(param("limit"))
)


def write_records(tx: Tx, context: CrawlStepContext, results: Sequence[ItemResult]) -> None:
    since = context.bounds.since
    if since is not None:
        results = recrawl.with_records(tx, since, results)
    ignored = _choose_ignored(context)
    results = [row for result in results for row in result.split_records()]
    for statement, is_late in ((_INSERT, False), (_REPLACE, True)):
        recorded = [result for result in results if result.record is not None and result.is_late == is_late]
        rows = [_record_values(tx, context, result, ignored) for result in recorded]
        if rows:
            tx.many(statement, rows)


def clear_duplicate_keys(tx: Tx, context: CrawlStepContext) -> None:
    """Remove a key from all rows that share it, at the end of a crawl: the item key then identifies each of them.

    If the first of them kept it, the order of pages would decide which row a later run is compared with.
    """
    if context.is_coordinator and context.bounds.record_key:
        tx.run(_CLEAR_KEYS, values(run_id=context.run_id))


def count_row_keys(tx: Tx, run_id: str, key: Sequence[str]) -> dict[str, Any]:
    """Count the rows of a crawl that share a key, with examples, and the rows that lack a field of the key."""
    [[duplicates, missing]] = tx.all(_COUNT_KEYS, values(run_id=run_id))
    found = tx.all(_CLEARED, values(run_id=run_id, limit=_SAMPLE)) if duplicates else []
    examples = [make_row_key(from_json(data), key) for (data,) in found]
    return describe_keys(duplicates, missing, sorted({each for each in examples if each is not None}))


def _record_values(
    tx: Tx, context: CrawlStepContext, result: ItemResult, ignored: frozenset[str] | None
) -> dict[str, Any]:
    data = ensure_json(result.record)
    row_key, digest = (None, None) if ignored is None else _identify(context, result.key, data, ignored)
    return values(
        id=new_id(),
        run_id=context.run_id,
        job_id=context.lease.run.job_id,
        item_key=result.key,
        data=data,
        details=None if result.details is None else to_json(result.details),
        created_at=tx.wall_ms,
        row_key=row_key,
        digest=digest,
    )


def _choose_ignored(context: CrawlStepContext) -> frozenset[str] | None:
    """Return the ignored fields; None for a crawl without a job, whose digests are computed when it is compared."""
    run, bounds = context.lease.run, context.bounds
    return None if run.job_id is None and not bounds.record_key and bounds.since is None else fields_to_ignore(run)


def _identify(context: CrawlStepContext, item_key: str, data: str, ignored: frozenset[str]) -> tuple[str | None, str]:
    """Return the row key and the digest of a record. The item key replaces a key that the record lacks."""
    record, key = orjson.loads(data), context.bounds.record_key
    return (make_row_key(record, key) or item_key if key else None), digest_of(record, ignored)
