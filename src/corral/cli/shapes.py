"""Jobs, runs, events and records as `--json` prints them: the very shapes of the HTTP API."""

from typing import Any

from corral.api import shapes
from corral.api.schemas import job_read
from corral.api.schemas_artifacts import artifact_read
from corral.domain.artifact import StoredArtifact
from corral.domain.event import Event
from corral.domain.job import Job, StoredJob
from corral.domain.record import Record
from corral.domain.run import Run, spoken


def job_status(stored: StoredJob) -> str:
    return str(shapes.job(stored)["status"])


def run_status(run: Run) -> str:
    return spoken(run.state.value, run.hold_reason)


def job_shape(stored: StoredJob) -> dict[str, Any]:
    return shapes.job(stored)


def planned_shape(job: Job) -> dict[str, Any]:
    """A job that a dry run did not create: it has neither an id nor an age."""
    return {**job_read(job, "validated"), "id": None, "created_at": None}


def run_shape(run: Run) -> dict[str, Any]:
    return shapes.run(run)


def artifact_shape(stored: StoredArtifact) -> dict[str, Any]:
    return artifact_read(stored)


def event_shape(event: Event) -> dict[str, Any]:
    return shapes.event(event)


def record_shape(record: Record) -> dict[str, Any]:
    return shapes.record(record)
