"""Pinned runs: retention does not delete them."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from corral.store.tables import pinned_runs
from corral.store.tx import Tx, insert_params, param, values

_KEEP = insert(pinned_runs).values(insert_params(pinned_runs)).on_conflict_do_nothing(index_elements=["run_id"])
_LET_GO = sa.delete(pinned_runs).where(pinned_runs.c.run_id == param("run_id"))
_IS_KEPT = sa.select(pinned_runs.c.run_id).where(pinned_runs.c.run_id == param("run_id"))


def keep(tx: Tx, run_id: str) -> None:
    tx.run(_KEEP, values(run_id=run_id, created_at=tx.wall_ms))


def let_go(tx: Tx, run_id: str) -> None:
    tx.run(_LET_GO, values(run_id=run_id))


def is_kept(tx: Tx, run_id: str) -> bool:
    return bool(tx.all(_IS_KEPT, values(run_id=run_id)))
