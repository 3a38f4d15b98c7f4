"""Recent results of all crawls together."""

import sqlalchemy as sa

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.health import RECENT_S, CrawlLoad
from corral.domain.ids import first_id_of
from corral.domain.runs.run import CRAWL, RunState
from corral.store.tables import crawls, items, records, runs
from corral.store.tx import Tx, is_state, param, values

_IS_CRAWL = runs.c.kind == sa.literal_column(f"'{CRAWL}'")
_ACTIVE = (
    sa.select(runs.c.owner, sa.func.count())
    .where(is_state(runs.c.state, RunState.RUNNING), _IS_CRAWL)
    .group_by(runs.c.owner)
)
# The counts of a crawl cover its whole life. Items and records have times; an index finds both.
_CHANGED = sa.select(crawls.c.run_id).where(crawls.c.updated_at > param("since"))
_FAILED = sa.select(sa.func.count()).where(
    items.c.run_id.in_(_CHANGED),
    items.c.state == sa.literal_column(f"'{ItemState.FAILED.value}'"),
    items.c.updated_at > param("since"),
)
_DONE = sa.select(sa.func.count()).where(records.c.run_id.in_(_CHANGED), records.c.id > param("after"))
_OLDEST_DUE = sa.select(sa.func.min(runs.c.due_at)).where(is_state(runs.c.state, RunState.QUEUED), _IS_CRAWL)


def load(tx: Tx, owner: str | None) -> CrawlLoad:
    """Return the load. With an owner, only crawls that it holds are active: others do not use its capacity."""
    active = {holder: int(count) for holder, count in tx.all(_ACTIVE)}
    since = tx.wall_ms - round(RECENT_S * 1000)
    failed = int(tx.all(_FAILED, values(since=since))[0][0])
    done = int(tx.all(_DONE, values(since=since, after=first_id_of(since)))[0][0])
    due_at = tx.all(_OLDEST_DUE)[0][0]
    waited_s = 0.0 if due_at is None else max(0.0, (tx.now_ms - due_at) / 1000)
    return CrawlLoad(sum(active.values()) if owner is None else active.get(owner, 0), done, failed, waited_s)
