"""Site statistics: added once per step of a crawl, in the transaction that ends its pages.

Each crawl adds to its own rows, so that two crawls never wait for each other. When a crawl is deleted, its rows are
added to the shared rows of all deleted crawls.
"""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import ItemResult
from corral.domain.crawl.site_statistics import SiteStatistics, Tally, statistics_of, tally_results
from corral.store.tables import site_statistics
from corral.store.tx import Row, Tx, insert_params, param, values

_FORGOTTEN = ""
_SUMS = ("pages", "size", "took_ms", "requests", "browser_ms", "cpu_ms", "proxy_nanos")
_KEY = ("run_id", "host", "state", "kind")

_INSERT = insert(site_statistics).values(insert_params(site_statistics))
_ADD = _INSERT.on_conflict_do_update(
    index_elements=list(_KEY),
    set_={name: site_statistics.c[name] + _INSERT.excluded[name] for name in _SUMS}
    | {"updated_at": _INSERT.excluded.updated_at},
)
_TOTALS = tuple(sa.func.sum(site_statistics.c[name]) for name in _SUMS)
_OF_HOST = (
    sa.select(site_statistics.c.state, site_statistics.c.kind, *_TOTALS, sa.func.max(site_statistics.c.updated_at))
    .where(site_statistics.c.host == param("host"))
    .group_by(site_statistics.c.state, site_statistics.c.kind)
)
_LATEST = (
    sa.select(site_statistics.c.host)
    .group_by(site_statistics.c.host)
    .order_by(sa.func.max(site_statistics.c.updated_at).desc(), site_statistics.c.host)
    .limit(param("limit"))
)
_OF_RUN = (
    sa.select(*(site_statistics.c[name] for name in _KEY))
    .where(site_statistics.c.run_id == param("run_id"))
    .order_by(*(site_statistics.c[name] for name in _KEY))
    .limit(param("limit"))
)
_DELETE = (
    sa.delete(site_statistics)
    .where(*(site_statistics.c[name] == param(name) for name in _KEY))
    .returning(*site_statistics.columns)
)
_DELETE_OLD = sa.delete(site_statistics).where(
    site_statistics.c.run_id == _FORGOTTEN, site_statistics.c.updated_at < param("before")
)
_NAMES = [column.name for column in site_statistics.columns]


def add(tx: Tx, run_id: str, ended: Iterable[tuple[str, ItemResult]]) -> None:
    """Add the pages that a step of a crawl finished, each with its host."""
    _write(tx, [_values(run_id, tally, tx.wall_ms) for tally in tally_results(ended)])


def _values(run_id: str, tally: Tally, moment: int) -> dict[str, object]:
    columns = {**tally._asdict(), "state": tally.state.value}
    return values(run_id=run_id, updated_at=moment, **columns)


def _write(tx: Tx, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        tx.many(_ADD, rows)


def of_host(tx: Tx, host: str) -> SiteStatistics | None:
    rows = tx.all(_OF_HOST, values(host=host))
    return _statistics(host, rows) if rows else None


def latest(tx: Tx, limit: int) -> list[SiteStatistics]:
    """Return the statistics of crawled hosts, latest first."""
    hosts = [row[0] for row in tx.all(_LATEST, values(limit=limit))]
    return [found for host in hosts if (found := of_host(tx, host)) is not None]


def _statistics(host: str, rows: Sequence[Row]) -> SiteStatistics:
    tallies = [Tally(host, ItemState(row[0]), row[1], *map(int, row[2:-1])) for row in rows]
    return statistics_of(host, tallies, max(int(row[-1]) for row in rows))


def fold(tx: Tx, run_id: str, limit: int) -> int:
    """Add some rows of a deleted crawl to the shared rows; return how many.

    The process that deletes a row adds it, so that two concurrent folds count it once.
    """
    keys = [dict(zip(_KEY, row, strict=True)) for row in tx.all(_OF_RUN, values(run_id=run_id, limit=limit))]
    deleted = [row for row in tx.many_returning(_DELETE, keys) if row is not None]
    _write(tx, [{**dict(zip(_NAMES, row, strict=True)), "run_id": _FORGOTTEN} for row in deleted])
    return len(deleted)


def forget(tx: Tx, before_ms: int) -> int:
    return tx.run(_DELETE_OLD, values(before=before_ms))
