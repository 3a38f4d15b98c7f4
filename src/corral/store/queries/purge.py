"""Deletes the rows of forgotten crawls in small batches, however large the crawls were."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.store.queries.runs import data_verdicts
from corral.store.queries.sites import site_statistics
from corral.store.tables import items, pages, purge_queue, records
from corral.store.tx import Tx, first, insert_params, param, values

_ENQUEUE = insert(purge_queue).values(insert_params(purge_queue)).on_conflict_do_nothing(index_elements=["run_id"])
_NEXT = sa.select(purge_queue.c.run_id, purge_queue.c.with_records).order_by(purge_queue.c.run_id).limit(1)
_DEQUEUE = sa.delete(purge_queue).where(purge_queue.c.run_id == param("run_id"))


def _some_of(table: sa.Table) -> sa.Delete:
    some = sa.select(table.c.id).where(table.c.run_id == param("run_id")).limit(param("limit"))
    return sa.delete(table).where(table.c.id.in_(some))


_SOME_ITEMS = _some_of(items)
_SOME_RECORDS = _some_of(records)
_SOME_PAGES = _some_of(pages)


def enqueue(tx: Tx, run_id: str, *, with_records: bool) -> None:
    tx.run(_ENQUEUE, values(run_id=run_id, with_records=int(with_records)))


def clear(tx: Tx, limit: int) -> bool:
    """Delete at most `limit` rows of each table; False when no rows are left."""
    found = first(tx.all(_NEXT))
    if found is None:
        return False
    key = values(run_id=found[0], limit=limit)
    removed = [tx.run(_SOME_ITEMS, key), tx.run(_SOME_PAGES, key)]
    if found[1]:
        removed.append(tx.run(_SOME_RECORDS, key))
    removed.append(site_statistics.fold(tx, found[0], limit))
    if max(removed) < limit:
        tx.run(_DEQUEUE, key)
        if found[1]:
            data_verdicts.release(tx, found[0])
    return True
