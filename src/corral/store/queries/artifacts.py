"""Artifacts of runs, recorded in the transaction that settles their attempt."""

from collections.abc import Sequence

import sqlalchemy as sa

from corral.domain.errors import ArtifactNotFound
from corral.domain.runs.artifact import Artifact, ArtifactKind, StoredArtifact
from corral.domain.runs.settlement import Settlement
from corral.store.rows import at
from corral.store.tables import artifacts
from corral.store.tx import Row, Tx, insert_all, param, values

_INSERT = insert_all(artifacts)
_OF_RUN = (
    sa.select(artifacts)
    .where(artifacts.c.run_id == param("run_id"))
    .order_by(artifacts.c.created_at, artifacts.c.kind.desc(), artifacts.c.id)
)
_GET = sa.select(artifacts).where(artifacts.c.id == param("id"), artifacts.c.run_id == param("run_id"))
_IDS = sa.select(artifacts.c.id)
_DELETE = sa.delete(artifacts).where(artifacts.c.id == param("id"))
_DELETE_OF_RUN = sa.delete(artifacts).where(artifacts.c.run_id == param("run_id"))


def add_all(tx: Tx, settlements: Sequence[Settlement]) -> None:
    """Record the artifacts of attempts that were just settled."""
    rows = [
        values(
            id=artifact.id,
            run_id=settlement.lease.run_id,
            attempt=settlement.lease.run.attempt,
            kind=artifact.kind.value,
            bytes=artifact.bytes,
            created_at=tx.wall_ms,
        )
        for settlement in settlements
        for artifact in settlement.artifacts
    ]
    if rows:
        tx.many(_INSERT, rows)


def of_run(tx: Tx, run_id: str) -> list[StoredArtifact]:
    """Return the artifacts, oldest first; the screenshot of an attempt before its HTML."""
    return [_to_artifact(row) for row in tx.all(_OF_RUN, values(run_id=run_id))]


def get(tx: Tx, run_id: str, artifact_id: str) -> StoredArtifact:
    rows = tx.all(_GET, values(id=artifact_id, run_id=run_id))
    if not rows:
        raise ArtifactNotFound(artifact_id)
    return _to_artifact(rows[0])


def ids(tx: Tx) -> frozenset[str]:
    return frozenset(row[0] for row in tx.all(_IDS))


def forget(tx: Tx, artifact_ids: Sequence[str]) -> None:
    tx.many(_DELETE, [values(id=each) for each in artifact_ids])


def forget_of_run(tx: Tx, run_id: str) -> None:
    """Forget the artifacts of a run; a sweep deletes their files later."""
    tx.run(_DELETE_OF_RUN, values(run_id=run_id))


def _to_artifact(row: Row) -> StoredArtifact:
    id_, run_id, attempt, kind, size, created_at = row
    return StoredArtifact(Artifact(id_, ArtifactKind(kind), size), run_id, attempt, at(created_at))
