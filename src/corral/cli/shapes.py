"""Jobs, runs, events and records as `--json` prints them: the same shapes as in the HTTP API."""

from typing import Any

from corral.domain.jobs.job import Job, StoredJob
from corral.domain.runs.artifact import StoredArtifact
from corral.domain.runs.event import Event
from corral.domain.runs.record import Record
from corral.domain.runs.run import Run, spoken
from corral.views import runs
from corral.views.artifacts import artifact_read
from corral.views.jobs import job_read


def job_status(stored: StoredJob) -> str:
    return str(runs.job(stored)["status"])


def run_status(run: Run) -> str:
    return spoken(run.state.value, run.hold_reason)


def job_shape(stored: StoredJob) -> dict[str, Any]:
    return runs.job(stored)


def draft_shape(job: Job) -> dict[str, Any]:
    """Return the shape of a job that a dry run did not create: without id and creation time."""
    return {**job_read(job, "validated"), "id": None, "created_at": None}


def run_shape(run: Run) -> dict[str, Any]:
    return runs.run(run)


def artifact_shape(stored: StoredArtifact) -> dict[str, Any]:
    return artifact_read(stored)


def event_shape(event: Event) -> dict[str, Any]:
    return runs.event(event)


def record_shape(record: Record) -> dict[str, Any]:
    return runs.record(record)
