"""Claims of crawl helpers: a node claims them separately from other runs, when it has capacity left."""

import sqlalchemy as sa

from corral.domain.ids import Owner
from corral.domain.runs.run import CRAWL_HELPER, Lease, RunState
from corral.store.queries.runs import claims
from corral.store.tables import runs
from corral.store.tx import Tx, is_state, param, values


def _claim(*filters: sa.ColumnElement[bool]) -> sa.Update:
    due = (
        sa.select(runs.c.id)
        .where(
            is_state(runs.c.state, RunState.QUEUED),
            is_state(runs.c.kind, CRAWL_HELPER),
            runs.c.due_at <= param("now"),
            *filters,
        )
        .order_by(runs.c.priority, runs.c.due_at, runs.c.id)
        .limit(param("limit"))
        .with_for_update(skip_locked=True)
        .cte("due")
    )
    return sa.update(runs).where(runs.c.id.in_(sa.select(due.c.id))).values(claims.CLAIM_VALUES).returning(runs)


_CLAIM = _claim()
_CLAIM_OF = _claim(runs.c.parent_id == param("crawl"))


def claim(tx: Tx, owner: Owner, limit: int, lease_s: float, crawl: str | None) -> list[Lease]:
    """Lease due helpers, of one crawl or of any."""
    params = {**claims.claim_params(tx, owner, lease_s), **values(now=tx.now_ms, limit=limit, crawl=crawl)}
    return claims.start_leases(tx, tx.all(_CLAIM if crawl is None else _CLAIM_OF, params), owner)
