"""Tasks of the queue as the API and the command line show them."""

from collections.abc import Iterable
from typing import Any

from corral.domain.jobs.job import Priority
from corral.domain.queue.task import StoredTask, TaskState
from corral.domain.scripts.scraper import ScraperSpec
from corral.store.queries.queue.tasks import TaskCount


def task_view(stored: StoredTask) -> dict[str, Any]:
    task = stored.task
    return {
        "id": task.id,
        "priority": task.priority.name,
        "scraper": task.scraper,
        "state": stored.public_state,
        "reason": stored.reason,
        "run_id": stored.run_id,
        "starts": stored.starts,
        "imported_at": stored.imported_at,
        "started_at": stored.started_at,
        "ended_at": stored.ended_at,
        "task": dict(task.document),
        "history": list(stored.history),
    }


def statistics_view(counts: Iterable[TaskCount]) -> dict[str, Any]:
    """Return the number of tasks by state, and by priority and scraper."""
    found = list(counts)
    return {
        "total": sum(each.tasks for each in found),
        "by_state": {state.value: _sum(each for each in found if each.state is state) for state in TaskState},
        "by_priority": {band.name: _by_state(each for each in found if each.priority is band) for band in Priority},
        "by_scraper": {
            name: _by_state(each for each in found if each.scraper == name)
            for name in sorted({each.scraper for each in found})
        },
    }


def _sum(counts: Iterable[TaskCount]) -> int:
    return sum(each.tasks for each in counts)


def _by_state(counts: Iterable[TaskCount]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in counts:
        found[each.state.value] = found.get(each.state.value, 0) + each.tasks
    return found


def scraper_view(spec: ScraperSpec, problem: str | None) -> dict[str, Any]:
    return {
        "name": spec.name,
        "script": spec.script or None,
        "accepted_parameters": None if spec.parameters is None else [each.name for each in spec.parameters],
        "timeout_s": spec.timeout_s,
        "max_concurrent": spec.max_concurrent,
        "starts_per_second": None if spec.rate is None else spec.rate.per_second,
        "max_attempts": spec.retry.attempts,
        "problem": problem,
    }
