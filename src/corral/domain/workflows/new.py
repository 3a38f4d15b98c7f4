"""A workflow about to be written."""

from dataclasses import dataclass, field
from typing import Any

from corral.domain.jobs.job import Priority
from corral.domain.workflows.spec import WorkflowSpec


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    id: str
    spec: WorkflowSpec
    priority: Priority = Priority.MEDIUM
    setup: dict[str, Any] = field(default_factory=dict)  # see kinds.spec.StepContext
    job_id: str | None = None  # the caller's own name for it
    starts: bool = True
    joins: bool = False  # use an unfinished workflow of the same job and content, if there is one
