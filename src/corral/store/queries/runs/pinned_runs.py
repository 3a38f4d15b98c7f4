"""Pinned runs: retention does not delete them."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.store.tables import pinned_runs
from corral.store.tx import Tx, insert_params, param, values

_PIN = insert(pinned_runs).values(insert_params(pinned_runs)).on_conflict_do_nothing(index_elements=["run_id"])
_UNPIN = sa.delete(pinned_runs).where(pinned_runs.c.run_id == param("run_id"))
_FIND = sa.select(pinned_runs.c.run_id).where(pinned_runs.c.run_id == param("run_id"))


def pin(tx: Tx, run_id: str) -> None:
    tx.run(_PIN, values(run_id=run_id, created_at=tx.wall_ms))


def unpin(tx: Tx, run_id: str) -> None:
    tx.run(_UNPIN, values(run_id=run_id))


def is_pinned(tx: Tx, run_id: str) -> bool:
    return bool(tx.all(_FIND, values(run_id=run_id)))
