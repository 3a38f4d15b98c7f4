"""Count the pages that a crawl requests from each host, if its plan limits them."""

from collections import Counter
from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.domain.crawl.crawl import HOST_BUDGET, ItemState
from corral.domain.crawl.item import PAGE
from corral.store.queries.crawl.rows import ATTEMPT, HOST, KIND
from corral.store.tables import crawl_hosts, items
from corral.store.tx import Row, Tx, is_state, param, values

# Per transaction; the remaining items of a host are skipped when their turn comes.
_MAX_SKIPPED = 1_000

_OF_RUN = items.c.run_id == param("run_id")
_IS_PAGE = is_state(items.c.kind, PAGE)
_CLEAR = sa.delete(crawl_hosts).where(crawl_hosts.c.run_id == param("run_id"))
# Items count once requested, whatever the result; items that were released unread do not.
_REQUESTED = sa.or_(
    items.c.state.in_(("done", "failed", "leased")), items.c.http_status.is_not(None), items.c.attempt > 1
)
_COUNT = sa.insert(crawl_hosts).from_select(
    ("run_id", "host", "pages"),
    sa.select(items.c.run_id, items.c.host, sa.func.count())
    .where(_OF_RUN, _IS_PAGE, _REQUESTED)
    .group_by(items.c.run_id, items.c.host),
)
_PAGES = sa.select(crawl_hosts.c.pages).where(
    crawl_hosts.c.run_id == param("run_id"), crawl_hosts.c.host == param("host")
)
_ADD = (
    insert(crawl_hosts)
    .values(run_id=param("run_id"), host=param("host"), pages=param("more"))
    .on_conflict_do_update(index_elements=["run_id", "host"], set_={"pages": crawl_hosts.c.pages + param("more")})
)
_REMAINING = (
    sa.select(items.c.id)
    .where(_OF_RUN, is_state(items.c.state, "pending"), items.c.host == param("host"), items.c.attempt == 1, _IS_PAGE)
    .limit(param("limit"))
)
_SKIP = (
    sa.update(items)
    .where(items.c.id.in_(_REMAINING))
    .values(state=ItemState.SKIPPED.value, reason=HOST_BUDGET, updated_at=param("wall"))
)


def recount(tx: Tx, run_id: str) -> None:
    """Count again after items were released, because it is unknown which of them had been requested."""
    tx.run(_CLEAR, values(run_id=run_id))
    tx.run(_COUNT, values(run_id=run_id))


def within(tx: Tx, run_id: str, rows: Sequence[Row], limit: int) -> list[Row]:
    """Return the rows whose host may have another page, and count them. Retries were counted before."""
    pages: dict[str, int] = {}
    allowed: list[Row] = []
    new: Counter[str] = Counter()
    for row in rows:
        host = row[HOST]
        if row[ATTEMPT] > 1 or row[KIND] != PAGE:
            allowed.append(row)
            continue
        if host not in pages:
            found = tx.all(_PAGES, values(run_id=run_id, host=host))
            pages[host] = found[0][0] if found else 0
        if pages[host] + new[host] < limit:
            new[host] += 1
            allowed.append(row)
    tx.many(_ADD, [values(run_id=run_id, host=host, more=count) for host, count in sorted(new.items())])
    return allowed


def skip(tx: Tx, run_id: str, hosts: Collection[str]) -> int:
    """Skip the remaining items of hosts that have reached their limit; return their number."""
    params = values(run_id=run_id, limit=_MAX_SKIPPED, wall=tx.wall_ms)
    return sum(tx.run(_SKIP, {**params, "host": host}) for host in sorted(hosts))


def forget(tx: Tx, run_id: str) -> None:
    tx.run(_CLEAR, values(run_id=run_id))
