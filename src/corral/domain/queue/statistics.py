"""Statistics of a drain of the queue: totals, by priority and by scraper."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from corral.domain.jobs.job import Priority
from corral.domain.queue.task import QueueTask, StoredTask, TaskState

_COUNTED = ("completed", "partial", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class EndedTask:
    task: QueueTask
    outcome: str  # one of completed, partial, failed, skipped
    duration_s: float = 0.0
    reason: str | None = None
    is_new: bool = True  # False if it had ended before this drain


def outcome_of(stored: StoredTask) -> str:
    """Return the outcome of a task for the summary. A task that has not ended was skipped by an interruption."""
    match stored.state:
        case TaskState.COMPLETED:
            return "completed"
        case TaskState.PARTIAL:
            return "partial"
        case TaskState.DEAD:
            return "failed"
        case _:
            return "skipped"


def summarize(ended: Iterable[EndedTask], duration_s: float) -> dict[str, Any]:
    """Return the statistics that `execute_all_tasks` returns."""
    tasks = list(ended)
    durations = [each.duration_s for each in tasks if each.is_new and each.duration_s]
    totals = _count(tasks)
    by_priority = {band.name: _count(each for each in tasks if each.task.priority is band) for band in Priority}
    scrapers = sorted({each.task.scraper for each in tasks})
    return {
        "total_tasks": len(tasks),
        **totals,
        "already_ended": sum(1 for each in tasks if not each.is_new),
        "duration_seconds": round(duration_s, 3),
        "average_task_seconds": round(sum(durations) / len(durations), 3) if durations else 0.0,
        "longest_task_seconds": round(max(durations, default=0.0), 3),
        "by_priority": {name: counts for name, counts in by_priority.items() if any(counts.values())},
        "by_scraper": {name: _count(each for each in tasks if each.task.scraper == name) for name in scrapers},
        "failures": [
            {"id": each.task.id, "scraper": each.task.scraper, "reason": each.reason}
            for each in tasks
            if each.outcome == "failed"
        ],
    }


def _count(tasks: Iterable[EndedTask]) -> dict[str, int]:
    counts = dict.fromkeys(_COUNTED, 0)
    for task in tasks:
        counts[task.outcome] += 1
    return counts
