"""Jobs, runs, events and records as the API and the command line show them."""

from typing import Any

from corral.domain.crawl.crawl import Counts, percent
from corral.domain.crawl.payload import plan_of
from corral.domain.ids import event_id
from corral.domain.jobs.job import StoredJob
from corral.domain.redaction import redact, redact_nested
from corral.domain.runs.event import Event
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.record import Record
from corral.domain.runs.run import CRAWL, RECONCILE, SCRIPT, WORKFLOW, Run, RunState, spoken
from corral.domain.workflows.progress import StepCounts
from corral.views.jobs import job_read


def job(stored: StoredJob) -> dict[str, Any]:
    status = "validated"
    if stored.latest_state is not None:
        status = spoken(stored.latest_state, stored.latest_hold)
    return job_read(stored.job, status)


def run(value: Run, counts: Counts | StepCounts | None = None) -> dict[str, Any]:
    """Return a run. `counts` are those of an active crawl or workflow; an ended one has them in its statistics."""
    return {
        "id": value.id,
        "job_id": value.job_id,
        "status": spoken(value.state.value, value.hold_reason),
        "attempt": value.attempt,
        "max_attempts": value.max_attempts,
        "requested_strategy": value.requested_strategy.value,
        "resolved_strategy": value.resolved_strategy.value,
        "failure_code": value.failure_code,
        "error_message": value.error_message,
        "stats": value.stats,
        "created_at": value.created_at,
        "started_at": value.started_at,
        "finished_at": value.finished_at,
        "kind": value.kind,
        "priority": value.priority.label,
        "progress": _progress_of_kind(value, counts),
        "parent_id": value.parent_id,
        "retry_of": value.retry_of,
        "due_at": value.due_at if value.state is RunState.QUEUED else None,
        "waiting_reason": value.waiting_reason if value.state is RunState.QUEUED else None,
        "failure_detail": value.failure_detail,
        "engine_attempts": value.attempts,
        "target_url": value.payload.read(CommonPayload).url or None,
    }


def _progress_of_kind(value: Run, counts: Counts | StepCounts | None) -> dict[str, Any]:
    if value.kind == CRAWL:
        return _progress_of_crawl(value, counts if isinstance(counts, Counts) else None)
    if value.kind == WORKFLOW:
        return _progress_of_workflow(value, counts if isinstance(counts, StepCounts) else None)
    return _progress_of_script(value) if value.kind in {SCRIPT, RECONCILE} else _progress(value)


def _progress(value: Run) -> dict[str, Any]:
    """Return the progress of a run of one page: one item, in the state of the run."""
    done = int(value.state in (RunState.COMPLETED, RunState.PARTIAL))
    failed = int(value.state is RunState.FAILED)
    skipped = int(value.state is RunState.CANCELLED)
    percent = 100.0 if value.state.is_terminal else 0.0
    return {"total": 1, "done": done, "failed": failed, "skipped": skipped, "percent": percent, "eta_s": None}


def _progress_of_script(value: Run) -> dict[str, Any]:
    """Return the progress that the run reported, such as a script by the result protocol; without one, one item."""
    reported = value.stats.get("progress")
    if not isinstance(reported, dict):
        return _progress(value)
    done, total, failed = (int(reported.get(name, 0)) for name in ("done", "total", "failed"))
    total = max(total, done + failed)
    share = 100.0 if value.state is RunState.COMPLETED else 100.0 * (done + failed) / total if total else 0.0
    return {"total": total, "done": done, "failed": failed, "skipped": 0, "percent": round(share, 1), "eta_s": None}


def _progress_of_crawl(value: Run, counts: Counts | None) -> dict[str, Any]:
    now = counts or Counts(*(int(value.stats.get(name, 0)) for name in Counts._fields))
    share = 100.0 if value.state is RunState.COMPLETED else percent(now, plan_of(value.payload))
    total = now.fetched + now.waiting + now.deferred
    progress = {"total": total, "done": now.done, "failed": now.failed, "skipped": now.skipped}
    progress |= {"missing": now.missing, "deferred": now.deferred}
    return {**progress, "percent": round(share, 1), "eta_s": None}


def _progress_of_workflow(value: Run, counts: StepCounts | None) -> dict[str, Any]:
    """Return the progress of the steps; `/workflows/{id}` has the details."""
    now = counts or StepCounts(**value.stats.get("steps", {}))
    done, skipped = now.completed + now.partial, now.skipped + now.cancelled
    ended = done + now.failed + skipped
    share = 100.0 if value.state.is_terminal else 100.0 * ended / now.total if now.total else 0.0
    progress = {"total": now.total, "done": done, "failed": now.failed, "skipped": skipped}
    return {**progress, "percent": round(share, 1), "eta_s": None}


def event(value: Event) -> dict[str, Any]:
    return {
        "id": event_id(value.run_id, value.seq),
        "run_id": value.run_id,
        "seq": value.seq,
        "level": value.level,
        "message": redact(value.message),
        "meta": redact_nested(value.meta),
        "created_at": value.created_at,
    }


def record(value: Record) -> dict[str, Any]:
    return {
        "id": value.id,
        "run_id": value.run_id,
        "data": value.data,
        "created_at": value.created_at,
        "details": value.details,
        "verdict": value.verdict,
    }
