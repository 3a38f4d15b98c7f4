"""Workflows as the API and the command line show them."""

from typing import Any

from corral.domain.workflows.now import StepDetail, WorkflowNow
from corral.domain.workflows.spec import LOCAL_STEP, WorkflowSpec
from corral.domain.workflows.states import StepState, TaskStatus
from corral.settings import Transport


def workflow_view(now: WorkflowNow, transport: Transport) -> dict[str, Any]:
    """Return a workflow with its steps."""
    return {
        "id": now.id,
        "run_id": now.run.id,
        "name": now.spec.name,
        "version": now.version,
        "digest": now.spec.digest,
        "priority": now.run.priority.label,
        **_progress(now),
        "error_message": now.run.error_message,
        "failure_code": now.run.failure_code,
        "created_at": now.created_at,
        "tasks": [task_view(now, step, transport) for step in now.steps],
    }


def progress_view(now: WorkflowNow, transport: Transport) -> dict[str, Any]:
    return {"workflow_id": now.id, **_progress(now), "tasks": [task_view(now, step, transport) for step in now.steps]}


def summary_view(now: WorkflowNow, transport: Transport) -> dict[str, Any]:
    """Return a workflow for a list, without its steps."""
    view = workflow_view(now, transport)
    del view["tasks"]
    return view


def _progress(now: WorkflowNow) -> dict[str, Any]:
    counts = now.counts
    return {
        "job_id": now.job_id,
        "status": now.status.value,
        "is_partial": now.is_partial,
        "progress": now.progress,
        "current_step": now.current_step,
        "total_steps": len(now.steps),
        "completed_tasks": counts.completed + counts.partial,
        "failed_tasks": counts.failed,
        "skipped_tasks": counts.skipped,
        "running_tasks": now.running,
        "total_tasks": counts.total,
        "recovery_attempts": now.recoveries,
        "max_recovery_attempts": now.max_recoveries,
        "waits_for_person": now.waits_for_person,
        "started_at": now.started_at,
        "completed_at": now.run.finished_at,
        "last_checkpoint": now.last_checkpoint,
    }


def celery_task_id(step: StepDetail, transport: Transport) -> str | None:
    """Return the id of the Celery task of a step, which is that of its run; None for local steps or without Celery."""
    return step.run_id if transport is Transport.CELERY and step.spec.kind != LOCAL_STEP else None


def task_view(now: WorkflowNow, step: StepDetail, transport: Transport) -> dict[str, Any]:
    items = step.items
    return {
        "id": f"{now.id}:{step.spec.key}",
        "key": step.spec.key,
        "name": step.spec.name,
        "type": step.spec.type,
        "kind": step.spec.kind,
        "status": step.status.value,
        "is_partial": step.now.state is StepState.PARTIAL,
        "dependencies": list(step.spec.depends_on),
        "run_id": step.run_id,
        "celery_task_id": celery_task_id(step, transport),
        "retry_count": step.retry_count,
        "max_retries": step.spec.max_retries,
        "error_message": step.now.reason or step.error,
        "estimated_duration": step.spec.estimated_s,
        "actual_duration": step.duration_s,
        "started_at": step.started_at,
        "completed_at": step.ended_at,
        "items": None if items is None else items._asdict(),
        "result": step.output,
    }


_SHAPES = {
    TaskStatus.PENDING: "pending",
    TaskStatus.QUEUED: "queued",
    TaskStatus.RUNNING: "running",
    TaskStatus.RETRYING: "running",
    TaskStatus.COMPLETED: "completed",
    TaskStatus.FAILED: "failed",
    TaskStatus.SKIPPED: "skipped",
    TaskStatus.CANCELLED: "skipped",
}
_STYLES = (
    "classDef pending fill:#eeeeee,stroke:#999999",
    "classDef queued fill:#d0f0f5,stroke:#2a9db0",
    "classDef running fill:#cfe2ff,stroke:#2f6fd0",
    "classDef completed fill:#d1f0d1,stroke:#2f8f2f",
    "classDef failed fill:#f8d0d0,stroke:#c03030",
    "classDef skipped fill:#f5f5f5,stroke:#bbbbbb,stroke-dasharray: 4",
)


def mermaid(spec: WorkflowSpec, now: WorkflowNow | None = None) -> str:
    """Return the graph as Mermaid; with a workflow, coloured by the states of its steps."""
    states = {} if now is None else {step.spec.key: step for step in now.steps}
    lines = ["flowchart TD"]
    for number, step in enumerate(spec.steps):
        detail = states.get(step.key)
        about = step.kind if detail is None else f"{step.kind}, {detail.status.value}"
        label = step.name.replace('"', "#quot;").replace("\n", " ")
        shape = ("[[", "]]") if step.for_each else ("[", "]")
        mark = "" if detail is None else f":::{_SHAPES[detail.status]}"
        lines.append(f'  s{number}{shape[0]}"{label}<br/><small>{about}</small>"{shape[1]}{mark}')
    order = {step.key: number for number, step in enumerate(spec.steps)}
    for step in spec.steps:
        arrow = "-.->" if step.when else "-->"
        lines += [f"  s{order[key]} {arrow} s{order[step.key]}" for key in step.depends_on]
    return "\n".join([*lines, *(f"  {style}" for style in _STYLES if now is not None)]) + "\n"
