"""The coverage report and the queue document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corral.domain.coverage.compare import Coverage, PeriodCount
from corral.domain.coverage.gap import GapType
from corral.domain.coverage.task_plan import TaskPlan
from corral.domain.jobs.job import Priority

_MAX_STUCK_KEYS = 20


@dataclass(frozen=True, slots=True)
class SourceResult:
    """The result of reconciling one source: its coverage and plan, or the problem that prevented them."""

    source: str
    coverage: Coverage | None = None
    plan: TaskPlan = field(default_factory=TaskPlan)
    problem: str | None = None
    seconds: float = 0.0


def make_report(results: Sequence[SourceResult], generated_at: str) -> dict[str, Any]:
    """Return the report as a JSON document: totals, then each source with its periods."""
    total = PeriodCount()
    for result in results:
        if result.coverage is not None:
            _add(total, result.coverage.total())
    priorities = {each.name: 0 for each in Priority}
    for result in results:
        for name, count in result.plan.count_by_priority().items():
            priorities[name] += count
    return {
        "generated_at": generated_at,
        **_count(total),
        # Without a readable inventory, no key is known to be present.
        **({} if total.expected or not any(result.problem for result in results) else {"completeness": 0.0}),
        "waiting": sum(result.plan.waiting for result in results),
        "stuck": sum(len(result.plan.stuck) for result in results),
        "tasks": sum(len(result.plan.tasks) for result in results),
        "by_priority": priorities,
        "problems": [f"{result.source}: {result.problem}" for result in results if result.problem],
        "sources": [_source(result) for result in results],
    }


def _source(result: SourceResult) -> dict[str, Any]:
    if result.coverage is None:
        return {"source": result.source, "problem": result.problem, "seconds": round(result.seconds, 3)}
    coverage, plan = result.coverage, result.plan
    return {
        "source": result.source,
        **_count(coverage.total()),
        "unexpected": coverage.unexpected,
        "waiting": plan.waiting,
        "stuck": len(plan.stuck),
        "stuck_keys": [each.gap.key for each in plan.stuck[:_MAX_STUCK_KEYS]],
        "tasks": len(plan.tasks),
        "by_priority": plan.count_by_priority(),
        "seconds": round(result.seconds, 3),
        "periods": [{"period": name, **_count(count)} for name, count in sorted(coverage.periods.items())],
    }


def _add(total: PeriodCount, count: PeriodCount) -> None:
    total.expected += count.expected
    total.present += count.present
    total.absent += count.absent
    total.gaps.update(count.gaps)


def _count(count: PeriodCount) -> dict[str, Any]:
    gaps = {each.value: count.gaps[each] for each in GapType if count.gaps[each]}
    return {
        "expected": count.expected,
        "present": count.present,
        "absent": count.absent,
        "gaps": sum(gaps.values()),
        "by_type": gaps,
        "completeness": count.completeness,
    }


def make_queue_document(results: Sequence[SourceResult], generated_at: str) -> dict[str, Any]:
    """Return the document of the queue file, `inventory/gaps.json`."""
    tasks: list[Mapping[str, Any]] = [document for result in results for _, document in result.plan.tasks]
    tasks.sort(key=lambda each: Priority[each["priority"]])
    counts = {each.name: sum(task["priority"] == each.name for task in tasks) for each in Priority}
    return {"generated_at": generated_at, "total_tasks": len(tasks), "by_priority": counts, "tasks": tasks}
