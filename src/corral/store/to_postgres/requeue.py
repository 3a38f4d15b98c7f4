"""Requeues runs after a migration: no lease of the old database is valid in the new one."""

import sqlalchemy as sa

from corral.domain.crawl.crawl import ItemState
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import WORKFLOW, RunAction, RunState, target
from corral.store.queries import events
from corral.store.tables import crawls, items, runs
from corral.store.tx import Tx, is_state

# The epoch stays and rises with the next claim, so that an earlier holder cannot be mistaken for the new one.
# No process executes a workflow itself, so there is nothing to requeue.
_RELEASE_ALL = (
    sa.update(runs)
    .where(is_state(runs.c.state, RunState.RUNNING), runs.c.kind != sa.literal_column(f"'{WORKFLOW}'"))
    .values(state=target(RunAction.RELEASE).value, owner=sa.null(), lease_until=sa.null(), seq=runs.c.seq + 1)
    .returning(runs.c.id, runs.c.seq)
)
_RELEASE_ITEMS = sa.update(items).where(is_state(items.c.state, ItemState.LEASED)).values(state=ItemState.PENDING.value)
_MOVE_COUNTS = sa.update(crawls).where(crawls.c.leased > 0).values(pending=crawls.c.pending + crawls.c.leased, leased=0)


def requeue(tx: Tx) -> int:
    """Requeue running runs, without counting an attempt or a loss; return how many."""
    released = tx.all(_RELEASE_ALL)
    draft = EventDraft(EventKind.RELEASED, {"reason": "moved"})
    for run_id, seq in released:
        events.insert(tx, events.rows_for(run_id, seq, [draft], tx.wall_ms))
    tx.run(_RELEASE_ITEMS)
    tx.run(_MOVE_COUNTS)
    return len(released)
