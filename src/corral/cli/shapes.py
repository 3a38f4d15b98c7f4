"""Jobs, runs, events and records as `--json` prints them: the shapes of the HTTP API."""

from datetime import UTC, datetime
from typing import Any

from corral.domain.event import Event
from corral.domain.ids import event_id
from corral.domain.job import FieldSpec, Job, StoredJob
from corral.domain.record import Record
from corral.domain.run import HoldReason, Run, RunState

_WITHOUT_RUN = "validated"


def moment(value: datetime | None) -> str | None:
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def status_of(state: str, hold: str | None) -> str:
    return (hold or HoldReason.PAUSED.value) if state == RunState.HELD else state


def job_status(stored: StoredJob) -> str:
    if stored.latest_state is None:
        return _WITHOUT_RUN
    return status_of(stored.latest_state, stored.latest_hold)


def run_status(run: Run) -> str:
    return status_of(run.state.value, run.hold_reason.value if run.hold_reason else None)


def field_shape(spec: FieldSpec) -> str | dict[str, Any]:
    if spec.css is None and not spec.all:
        return spec.name
    shape: dict[str, Any] = {"name": spec.name, "css": spec.css, "attr": spec.attr, "all": spec.all}
    return {key: value for key, value in shape.items() if value}


def job_shape(job: Job, status: str) -> dict[str, Any]:
    return {
        "id": job.id,
        "status": status,
        "target_url": job.target_url,
        "fields": [field_shape(spec) for spec in job.fields],
        "requires_auth": job.requires_auth,
        "frequency": job.frequency,
        "strategy": job.strategy.value,
        "priority": job.priority.label,
        "max_attempts": job.max_attempts,
        "timeout_s": job.timeout_s,
        "respect_robots": job.respect_robots,
        "created_at": moment(job.created_at),
    }


def run_shape(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "job_id": run.job_id,
        "kind": run.kind,
        "status": run_status(run),
        "priority": run.priority.label,
        "attempt": run.attempt,
        "max_attempts": run.max_attempts,
        "requested_strategy": run.requested_strategy.value,
        "resolved_strategy": run.resolved_strategy.value,
        "failure_code": run.failure_code,
        "failure_detail": run.failure_detail,
        "error_message": run.error_message,
        "stats": run.stats,
        "engine_attempts": list(run.attempts),
        "retry_of": run.retry_of,
        "parent_id": run.parent_id,
        "created_at": moment(run.created_at),
        "due_at": moment(run.due_at),
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
    }


def event_shape(event: Event) -> dict[str, Any]:
    return {
        "id": event_id(event.run_id, event.seq),
        "run_id": event.run_id,
        "seq": event.seq,
        "level": event.level,
        "message": event.message,
        "meta": event.meta,
        "created_at": moment(event.created_at),
    }


def record_shape(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "run_id": record.run_id,
        "data": record.data,
        "created_at": moment(record.created_at),
    }
