"""What becomes of runs whose worker or whose node is gone."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.event import EventDraft, EventKind
from corral.domain.ids import Owner
from corral.domain.outcome import FailureCode
from corral.domain.run import CRAWL, Lease, RunState
from corral.domain.settlement import Loss
from corral.store import events, host_parts, item_losses
from corral.store.claims import HELD_BY_ME, RUNNING, held
from corral.store.rows import run_of, storable
from corral.store.tables import runs
from corral.store.tx import Tx, first, param, values

LOSS_CAP = 3
# Of a node that vanished with several runs nobody knows whether a suspect ran or only waited its turn.
_NODE_LOSS_CAP = 2 * LOSS_CAP
# A page that kills workers is found after three of them; a crawl that still does not get on then has another problem.
_CRAWL_LOSS_CAP = 3 * LOSS_CAP
# A crawl is long, and whoever stops and starts a node again and again is more likely than a page that takes it down.
_CRAWL_NODE_LOSS_CAP = 10 * LOSS_CAP
_STDERR_TAIL = 64 * 1024

_LOSE = (
    sa.update(runs)
    .where(*HELD_BY_ME)
    .values(
        state=param("state"),
        owner=sa.null(),
        lease_until=sa.null(),
        losses=param("losses"),
        suspect=param("suspect"),
        finished_at=param("finished_at"),
        failure_code=param("failure_code"),
        failure_detail=param("failure_detail"),
        error_message=param("error_message"),
        seq=runs.c.seq + param("event_count"),
    )
    .returning(runs.c.seq)
)
_LOSSES = sa.select(runs.c.losses).where(runs.c.id == param("id"))
_EXPIRED = (
    sa.select(runs)
    .where(RUNNING, runs.c.lease_until < param("now"))
    .order_by(runs.c.lease_until)
    .limit(param("limit"))
    .with_for_update(skip_locked=True)
)
_EXPIRE = sa.update(runs).where(runs.c.owner == param("owner"), RUNNING).values(lease_until=param("until"))


def lose(tx: Tx, losses: Sequence[Loss]) -> int:
    """Take back what dead workers held.

    Which of several runs killed their worker nobody knows, so the last try before the cap is made alone, and
    only a run that was alone when the cap is reached is ended.
    """
    written = 0
    for loss in losses:
        drafts, params = _loss_written(tx, loss, _losses(tx, loss) + 1)
        [row] = tx.many_returning(_LOSE, [{**held(loss.lease), **params}])
        if row is not None:
            events.insert(tx, events.rows_for(loss.lease.run_id, row[0], drafts, tx.wall_ms))
            written += 1
            if loss.witnessed:
                item_losses.blame(tx, loss.lease.run, loss.exit_status, alone=loss.alone)
    return written


def _losses(tx: Tx, loss: Loss) -> int:
    """Before this one. A crawl that got on since it was claimed has none; whoever claimed it may not know."""
    row = first(tx.all(_LOSSES, values(id=loss.lease.run_id)))
    return loss.lease.run.losses if row is None else int(row[0])


def _loss_written(tx: Tx, loss: Loss, count: int) -> tuple[list[EventDraft], dict[str, Any]]:
    meta: dict[str, Any] = {"exit": loss.exit_status, "losses": count, "alone": loss.alone}
    if count < _cap(loss) or not loss.alone:
        drafts = [EventDraft(EventKind.WORKER_LOST, meta)]
        params = values(
            state=RunState.QUEUED.value,
            losses=count,
            # A crawl that got on in between may still be at the page that is to blame.
            suspect=1 if max(count, loss.lease.run.losses + 1) >= LOSS_CAP - 1 else 0,
            finished_at=None,
            failure_code=None,
            failure_detail=None,
            error_message=None,
            event_count=1,
        )
        return drafts, params
    message = f"{count} workers died while executing this run (last: {loss.exit_status}); it is quarantined"
    tail = loss.stderr_tail[-_STDERR_TAIL:]
    described = {"failure_code": FailureCode.WORKER_LOST.value, "error_message": message}
    drafts = [
        EventDraft(EventKind.QUARANTINED, {**meta, "stderr": tail}),
        EventDraft(EventKind.FAILED, {**described, "failure_detail": "poison"}),
    ]
    params = values(
        state=RunState.FAILED.value,
        losses=count,
        suspect=1,
        finished_at=tx.wall_ms,
        failure_code=FailureCode.WORKER_LOST.value,
        failure_detail="poison",
        error_message=storable(message),
        event_count=2,
    )
    return drafts, params


def _cap(loss: Loss) -> int:
    """Of a crawl, the page that kills its worker is ended first: see item_losses. What gets on begins anew."""
    if loss.lease.run.kind != CRAWL:
        return LOSS_CAP
    return _CRAWL_LOSS_CAP if loss.witnessed else _CRAWL_NODE_LOSS_CAP


def expire(tx: Tx, owner: Owner) -> int:
    """Let the leases of an owner that is known to be dead run out now; `reap` does the rest."""
    return tx.run(_EXPIRE, values(owner=owner, until=tx.now_ms - 1))


def reap(tx: Tx, limit: int) -> int:
    """Requeue runs whose lease has run out: their owner is gone, which counts as a worker loss."""
    expired = [run_of(row) for row in tx.all(_EXPIRED, values(now=tx.now_ms, limit=limit))]
    held = Counter(run.owner for run in expired)
    losses = [
        Loss(
            Lease(run, Owner(run.owner or "")),
            alone=held[run.owner] == 1 or (run.suspect and run.losses + 1 >= _NODE_LOSS_CAP),
            exit_status="lease expired",
            stderr_tail="",
            witnessed=False,
        )
        for run in expired
    ]
    for gone in held:
        host_parts.drop_all(tx, Owner(gone or ""))
    # `_LOSE` repeats epoch, owner and state, and the rows are locked: an owner that finished meanwhile wins.
    return lose(tx, losses)
