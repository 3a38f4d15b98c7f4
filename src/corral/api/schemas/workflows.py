"""Schemas of workflows."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

WorkflowStatusName = Literal["pending", "running", "paused", "completed", "failed", "cancelled", "recovering"]
TaskStatusName = Literal["pending", "queued", "running", "completed", "failed", "retrying", "skipped", "cancelled"]


_Text = Annotated[str, Field(max_length=200)]
_Number = Annotated[int, Field(ge=0, le=2**63 - 1)]


class WorkflowCreate(BaseModel):
    """A definition, or a template with its parameters."""

    model_config = ConfigDict(extra="forbid")

    definition: dict[str, Any] | None = Field(None, max_length=50, description="name, steps, max_recovery_attempts")
    template: str | None = Field(None, max_length=100, description="see GET /workflows/templates")
    parameters: dict[str, Any] = Field(default_factory=dict, max_length=100)
    job_id: _Text | _Number | None = Field(None, description="your own id for the purpose of the workflow")
    priority: Literal["critical", "high", "medium", "low"] = "medium"
    start: bool = Field(True, description="false creates it as pending")

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.definition is None) == (self.template is None):
            raise ValueError("give either a definition or a template")
        return self


class WorkflowRecover(BaseModel):
    model_config = ConfigDict(extra="forbid")

    from_step: _Text | _Number | None = Field(None, description="key, name or index; default: every failed step")


class WorkflowTaskRead(BaseModel):
    id: str
    key: str
    name: str
    type: str
    kind: str
    status: TaskStatusName
    is_partial: bool = Field(description="true if it completed without some results: see error_message")
    dependencies: list[str]
    run_id: str | None
    celery_task_id: str | None = Field(description="set if Celery workers execute runs")
    retry_count: int
    max_retries: int
    error_message: str | None
    estimated_duration: float | None
    actual_duration: float | None
    started_at: datetime | None
    completed_at: datetime | None
    items: dict[str, int] | None
    result: Any


class _WorkflowCounts(BaseModel):
    job_id: str | None
    status: WorkflowStatusName
    is_partial: bool
    progress: int
    current_step: int
    total_steps: int
    completed_tasks: int
    failed_tasks: int
    skipped_tasks: int
    running_tasks: int
    total_tasks: int
    recovery_attempts: int
    max_recovery_attempts: int
    waits_for_person: bool
    started_at: datetime | None
    completed_at: datetime | None
    last_checkpoint: datetime | None


# The fields of the last base come first in an answer.
class _WorkflowIdentity(BaseModel):
    id: str
    run_id: str = Field(description="the latest run; each recovery is a run of its own")
    name: str
    version: int
    digest: str
    priority: str


class WorkflowSummary(_WorkflowCounts, _WorkflowIdentity):
    is_partial: bool = Field(description="completed, but a step was partial: see error_message")
    last_checkpoint: datetime | None = Field(description="when the latest step ended")
    error_message: str | None
    failure_code: str | None
    created_at: datetime


class WorkflowRead(WorkflowSummary):
    tasks: list[WorkflowTaskRead]


class _WorkflowReference(BaseModel):
    workflow_id: str


class WorkflowProgress(_WorkflowCounts, _WorkflowReference):
    tasks: list[WorkflowTaskRead]


class TemplateParameterRead(BaseModel):
    name: str
    type: str
    help: str
    default: Any
    required: bool


class TemplateRead(BaseModel):
    name: str
    summary: str
    parameters: list[TemplateParameterRead]


class StepKindRead(BaseModel):
    name: str
    summary: str
    required: list[str]
    options: list[str] | None = Field(description="null: any option of a crawl")


class StepItemRead(BaseModel):
    item: int
    state: str
    error_message: str | None
    run_id: str | None
    result: Any
