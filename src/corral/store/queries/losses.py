"""Runs whose worker or node died: requeued, or held for a person."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.ids import Owner
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.intervention import InterventionKind
from corral.domain.runs.loss import Blame, Loss, Suspicion, interruption_backoff_s, loss_cap, suspicion_after
from corral.domain.runs.outcome import FailureCode
from corral.domain.runs.run import WORKFLOW, HoldReason, Lease, RunAction, RunState, target
from corral.store.queries import events
from corral.store.queries.crawl import losses as item_losses
from corral.store.queries.hosts import quotas
from corral.store.queries.runs import interventions
from corral.store.queries.runs.claims import HELD_BY_ME, RUNNING, lease_params
from corral.store.rows import run_of, storable
from corral.store.tables import runs
from corral.store.tx import Tx, first, param, values

_STDERR_TAIL = 64 * 1024

_COUNTS = sa.select(runs.c.losses, runs.c.interruptions).where(runs.c.id == param("id"))
_LOSE = (
    sa.update(runs)
    .where(*HELD_BY_ME)
    .values(
        state=param("state"),
        hold_reason=param("hold_reason"),
        owner=sa.null(),
        lease_until=sa.null(),
        due_at=sa.func.coalesce(param("due_at"), runs.c.due_at),
        losses=param("losses"),
        interruptions=param("interruptions"),
        suspect=param("suspect"),
        failure_code=param("failure_code"),
        failure_detail=param("failure_detail"),
        error_message=param("error_message"),
        seq=runs.c.seq + 1,
    )
    .returning(runs.c.seq)
)
_EXPIRED = (
    sa.select(runs)
    # No process holds a workflow; its steps have leases of their own.
    .where(RUNNING, runs.c.lease_until < param("now"), runs.c.kind != sa.literal_column(f"'{WORKFLOW}'"))
    .order_by(runs.c.lease_until)
    .limit(param("limit"))
)
_LOCK_EXPIRED = _EXPIRED.with_for_update(skip_locked=True)
_EXPIRE = sa.update(runs).where(runs.c.owner == param("owner"), RUNNING).values(lease_until=param("until"))


def lose(tx: Tx, losses: Sequence[Loss]) -> int:
    """Take runs back from dead workers: requeue them, or hold them for a person after the last certain loss."""
    written = 0
    for loss in losses:
        counts = _read_counts(tx, loss.lease)
        draft, changes = _decide(tx, loss, *counts)
        [row] = tx.many_returning(_LOSE, [{**lease_params(loss.lease), **changes}])
        if row is None:
            continue
        events.insert(tx, events.rows_for(loss.lease.run_id, row[0], [draft], tx.wall_ms))
        if draft.kind is EventKind.QUARANTINED:
            reason = str(changes["error_message"])
            interventions.open_one(tx, loss.lease.run, InterventionKind.QUARANTINE, reason)
        if loss.blame is not Blame.NONE:
            item_losses.blame(tx, loss.lease.run, loss.exit_status, is_certain=loss.blame is Blame.CERTAIN)
        written += 1
    return written


def _read_counts(tx: Tx, lease: Lease) -> tuple[int, int]:
    """Read the counts from the row, not from the lease: a crawl that made progress since its claim has reset them."""
    row = first(tx.all(_COUNTS, values(id=lease.run_id)))
    return (lease.run.losses, lease.run.interruptions) if row is None else (int(row[0]), int(row[1]))


def _decide(tx: Tx, loss: Loss, losses: int, interruptions: int) -> tuple[EventDraft, dict[str, Any]]:
    run = loss.lease.run
    suspicion = suspicion_after(loss.blame, run.kind, Suspicion(run.suspect))
    meta: dict[str, Any] = {"exit": loss.exit_status, "blame": loss.blame.value}
    if loss.blame is Blame.NONE:
        backoff_s = interruption_backoff_s(interruptions + 1)
        changes = _requeue_values(losses, interruptions + 1, suspicion)
        # Without a delay, the run keeps its due time and therefore its place in the queue.
        changes["due_at"] = tx.now_ms + round(backoff_s * 1000) if backoff_s else None
        meta |= {"interruptions": interruptions + 1, "delay_s": backoff_s}
        return EventDraft(EventKind.INTERRUPTED, meta), changes
    losses += loss.blame is Blame.CERTAIN
    meta["losses"] = losses
    if loss.blame is Blame.SUSPECTED or losses < loss_cap(run.kind):
        return EventDraft(EventKind.WORKER_LOST, meta), _requeue_values(losses, interruptions, suspicion)
    meta["stderr"] = loss.stderr_tail[-_STDERR_TAIL:]
    return EventDraft(EventKind.QUARANTINED, meta), _quarantine_values(loss, losses, interruptions)


def _requeue_values(losses: int, interruptions: int, suspicion: Suspicion) -> dict[str, Any]:
    return values(
        state=RunState.QUEUED.value,
        hold_reason=None,
        due_at=None,
        losses=losses,
        interruptions=interruptions,
        suspect=int(suspicion),
        failure_code=None,
        failure_detail=None,
        error_message=None,
    )


def _quarantine_values(loss: Loss, losses: int, interruptions: int) -> dict[str, Any]:
    message = (
        f"{losses} workers died while executing this run (last: {loss.exit_status}); "
        "it is held until a person resumes or cancels it"
    )
    return _requeue_values(losses, interruptions, Suspicion.ALONE) | values(
        state=target(RunAction.HOLD).value,
        hold_reason=HoldReason.QUARANTINED.value,
        failure_code=FailureCode.WORKER_LOST.value,
        failure_detail="poison",
        error_message=storable(message),
    )


def expire(tx: Tx, owner: Owner) -> int:
    """Expire the leases of an owner that is known to be dead; `reap` does the rest."""
    return tx.run(_EXPIRE, values(owner=owner, until=tx.now_ms - 1))


def find_expired(tx: Tx, limit: int) -> list[Lease]:
    """Return expired leases without locking them: their owner may still finish."""
    return _leases(tx.all(_EXPIRED, values(now=tx.now_ms, limit=limit)))


def reap(tx: Tx, limit: int) -> int:
    """Requeue runs with expired leases. Their node is gone, which does not incriminate them: an interruption."""
    expired = _leases(tx.all(_LOCK_EXPIRED, values(now=tx.now_ms, limit=limit)))
    for gone in {lease.owner for lease in expired}:
        quotas.drop_all(tx, gone)
    # `_LOSE` repeats epoch, owner and state, and the rows are locked: an owner that finished meanwhile wins.
    return lose(tx, [Loss(lease, Blame.NONE, "lease expired") for lease in expired])


def _leases(rows: Iterable[Any]) -> list[Lease]:
    return [Lease(run, Owner(run.owner or "")) for run in map(run_of, rows)]
