"""The row of the autonomous loop. Only the node that holds its lease reconciles."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from corral.domain.loop.state import LoopState
from corral.domain.runs.event import EventDraft
from corral.domain.runs.run import NewRun
from corral.store.coverage_tables import loops
from corral.store.queries.runs import runs
from corral.store.rows import from_json, to_json
from corral.store.tx import Tx, first, param, values

_READ: sa.Select[Any] = sa.select(loops).where(loops.c.id == "main")
_SET = {
    "is_on": param("is_on"),
    "every_s": param("every_s"),
    "windows": param("windows"),
    "next_at": param("next_at"),
    "failures": 0,
}
_CONFIGURE = (
    postgresql.insert(loops)
    .values(id="main", epoch=0, lease_until=0, last="{}", **_SET)
    .on_conflict_do_update(index_elements=["id"], set_=_SET)
)
_STOP = sa.update(loops).values(is_on=0)
# Only one of several nodes succeeds: the others find the lease taken.
_TAKE = (
    sa.update(loops)
    .where(
        loops.c.is_on == 1,
        sa.or_(loops.c.owner == param("owner"), loops.c.owner.is_(None), loops.c.lease_until < param("now")),
    )
    .values(
        epoch=sa.case((loops.c.owner == param("owner"), loops.c.epoch), else_=loops.c.epoch + 1),
        owner=param("owner"),
        lease_until=param("until"),
    )
)
_OURS = (loops.c.owner == param("owner"), loops.c.epoch == param("epoch"))
_START = sa.update(loops).where(*_OURS, loops.c.is_on == 1, loops.c.run_id.is_(None)).values(run_id=param("run_id"))
_END = (
    sa.update(loops)
    .where(*_OURS)
    .values(run_id=sa.null(), next_at=param("next_at"), failures=param("failures"), last=param("last"))
)
_LEAVE = sa.update(loops).where(loops.c.owner == param("owner")).values(owner=sa.null(), lease_until=0)


def read(tx: Tx) -> LoopState:
    row = first(tx.all(_READ))
    if row is None:
        return LoopState()
    _, is_on, every_s, windows, owner, epoch, lease_until, next_at, run_id, failures, last = row
    return LoopState(
        bool(is_on), every_s, tuple(from_json(windows)), owner, epoch, lease_until / 1000, next_at / 1000, run_id,
        failures, from_json(last),
    )  # fmt: skip


def configure(tx: Tx, every_s: float, windows: Sequence[str]) -> LoopState:
    """Switch the loop on; the next reconciliation is due at once."""
    tx.run(_CONFIGURE, values(is_on=1, every_s=every_s, windows=to_json(list(windows)), next_at=tx.wall_ms))
    return read(tx)


def stop(tx: Tx) -> LoopState:
    tx.run(_STOP)
    return read(tx)


def take(tx: Tx, owner: str, lease_s: float) -> LoopState | None:
    """Take or renew the lease; None if the loop is off or another node has it."""
    updated = tx.run(_TAKE, values(owner=owner, now=tx.now_ms, until=tx.now_ms + round(lease_s * 1000)))
    return read(tx) if updated else None


def start_run(tx: Tx, state: LoopState, run: NewRun, drafts: Sequence[EventDraft]) -> bool:
    """Write the run and note it in the row, in one transaction; False if the lease was lost."""
    if not tx.run(_START, values(owner=state.owner, epoch=state.epoch, run_id=run.id)):
        return False
    runs.add(tx, [(run, drafts)])
    return True


def end_run(tx: Tx, state: LoopState) -> bool:
    ended = values(
        owner=state.owner,
        epoch=state.epoch,
        next_at=round(state.next_at * 1000),
        failures=state.failures,
        last=to_json(dict(state.last)),
    )
    return tx.run(_END, ended) == 1


def leave(tx: Tx, owner: str) -> None:
    tx.run(_LEAVE, values(owner=owner))
