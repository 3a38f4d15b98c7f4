"""Artifacts as the API shows them."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from corral.domain.runs.artifact import StoredArtifact


class ArtifactRead(BaseModel):
    id: str
    run_id: str
    attempt: int
    kind: Literal["screenshot", "html"]
    content_type: str
    bytes: int
    created_at: datetime


def artifact_read(stored: StoredArtifact) -> dict[str, Any]:
    artifact = stored.artifact
    return {
        "id": artifact.id,
        "run_id": stored.run_id,
        "attempt": stored.attempt,
        "kind": artifact.kind.value,
        "content_type": artifact.kind.content_type,
        "bytes": artifact.bytes,
        "created_at": stored.created_at,
    }


def artifact_path(run_id: str, artifact_id: str) -> str:
    return f"/jobs/runs/{run_id}/artifacts/{artifact_id}"
