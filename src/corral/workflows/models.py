"""Workflows and tasks as Python programs read them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from corral.domain.workflows.now import StepDetail, WorkflowNow
from corral.domain.workflows.states import TaskStatus, WorkflowStatus
from corral.settings import Transport
from corral.views.workflows import celery_task_id


@dataclass(frozen=True)
class WorkflowTask:
    """One step of a workflow. `celery_task_id` is the id of its run, where Celery workers execute runs."""

    id: str
    workflow_id: str
    task_name: str
    task_type: str
    status: TaskStatus
    step_index: int
    run_id: str | None
    celery_task_id: str | None
    retry_count: int
    max_retries: int
    dependencies: list[str]
    result: Any
    error_message: str | None
    started_at: datetime | None
    completed_at: datetime | None
    estimated_duration: float | None
    actual_duration: float | None


@dataclass(frozen=True)
class WorkflowState:
    id: str
    job_id: str | int | None
    name: str
    version: int
    status: WorkflowStatus
    is_partial: bool
    current_step: int
    total_steps: int
    progress: int
    metadata: dict[str, Any]
    error_message: str | None
    recovery_attempts: int
    max_recovery_attempts: int
    started_at: datetime | None
    completed_at: datetime | None
    last_checkpoint: datetime | None  # when the latest step ended
    created_at: datetime
    updated_at: datetime
    tasks: list[WorkflowTask]


def state_of(now: WorkflowNow, transport: Transport) -> WorkflowState:
    return WorkflowState(
        id=now.id,
        job_id=read_job_id(now.job_id),
        name=now.spec.name,
        version=now.version,
        status=now.status,
        is_partial=now.is_partial,
        current_step=now.current_step,
        total_steps=len(now.steps),
        progress=now.progress,
        metadata={"run_id": now.run.id, "digest": now.spec.digest, **now.run.stats},
        error_message=now.run.error_message,
        recovery_attempts=now.recoveries,
        max_recovery_attempts=now.max_recoveries,
        started_at=now.started_at,
        completed_at=now.run.finished_at,
        last_checkpoint=now.last_checkpoint,
        created_at=now.created_at,
        updated_at=max(filter(None, (now.created_at, now.started_at, now.last_checkpoint, now.run.finished_at))),
        tasks=[_task(now, number, step, transport) for number, step in enumerate(now.steps)],
    )


def read_job_id(text: str | None) -> str | int | None:
    """Return a job id that looks like a number as an int, because the program passed one; `007` stays a text."""
    is_number = text is not None and text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")
    return int(text) if text is not None and is_number else text


def _task(now: WorkflowNow, number: int, step: StepDetail, transport: Transport) -> WorkflowTask:
    return WorkflowTask(
        id=f"{now.id}:{step.spec.key}",
        workflow_id=now.id,
        task_name=step.spec.name,
        task_type=step.spec.type,
        status=step.status,
        step_index=number,
        run_id=step.run_id,
        celery_task_id=celery_task_id(step, transport),
        retry_count=step.retry_count,
        max_retries=step.spec.max_retries,
        dependencies=list(step.spec.depends_on),
        result=step.output,
        error_message=step.now.reason or step.error,
        started_at=step.started_at,
        completed_at=step.ended_at,
        estimated_duration=step.spec.estimated_s,
        actual_duration=step.duration_s,
    )
