"""Helpers of the tests of run, shared with other tests."""

from datetime import UTC, datetime

from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import Run, RunState

NOW = datetime(2026, 1, 1, tzinfo=UTC)


A_RUN = Run(
    id=RunId("r"),
    job_id=None,
    kind="page",
    state=RunState.RUNNING,
    priority=Priority.MEDIUM,
    attempt=1,
    max_attempts=3,
    requested_strategy=Strategy.AUTO,
    resolved_strategy=Strategy.HTTP,
    payload=Payload({"url": "http://example.test/"}),
    epoch=4,
    losses=0,
    suspect=False,
    due_at=NOW,
    created_at=NOW,
    stats={},
)
