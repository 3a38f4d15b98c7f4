"""Reconcile: compare every source with its inventory, plan tasks for the gaps, and remember them."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from corral.domain.coverage.compare import Comparison, Coverage
from corral.domain.coverage.condition import Moment, rank_gap
from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.coverage.report import SourceResult, make_queue_document, make_report
from corral.domain.coverage.spec import SourceSpec
from corral.domain.coverage.task_plan import GapTaskState, Planner, TaskHistory, TaskPlan
from corral.inventory.scan import ScanContext, add_inventory, read_expected


@dataclass(frozen=True, slots=True)
class Reconciliation:
    report: dict[str, Any]
    queue: dict[str, Any]  # the queue document
    results: list[SourceResult] = field(repr=False)


async def reconcile(
    sources: Sequence[SourceSpec],
    context: ScanContext,
    now: datetime,
    on_source: Callable[[str, int], None] = lambda _name, _number: None,
) -> Reconciliation:
    """Compare the sources one after the other; report a source that cannot be read, and continue with the next.

    This writes nothing: see `remember`.
    """
    results = []
    for number, source in enumerate(sources):
        on_source(source.name, number)
        results.append(await _reconcile_source(source, context, now))
    text = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Reconciliation(make_report(results, text), make_queue_document(results, text), results)


async def remember(reconciliation: Reconciliation, context: ScanContext) -> None:
    """Store which task closes which gap, before the tasks are imported: after a kill they get the same ids."""
    for result in reconciliation.results:
        if result.coverage is not None:
            await context.store.replace_gap_tasks(result.source, result.plan.remembered)
            await context.store.forget_absences(result.source, result.coverage.returned)


async def _reconcile_source(source: SourceSpec, context: ScanContext, now: datetime) -> SourceResult:
    started = time.monotonic()
    try:
        moment = Moment(now.timestamp(), now.date(), source.season_calendar.year_of(now.date()))
        # Read the states of tasks first: the inventory read below then contains the data of every ended task.
        tasks = await context.store.gap_tasks(source.name)
        states = await context.store.task_states([task.id for task in tasks])
        absences = await context.store.absences(source.name)
        comparison = Comparison(source, moment, absences)
        await add_inventory(comparison, source, context)
        expected = await read_expected(source, context, moment.today)
        coverage = await asyncio.to_thread(comparison.finish, expected)
        history = TaskHistory(tasks, states, {each.key: each for each in absences})
        plan = await _plan(source, coverage, moment, history, context)
    except InventoryUnreadable as error:
        problem = error.message if error.hint is None else f"{error.message}; {error.hint}"
        return SourceResult(source.name, problem=problem, seconds=time.monotonic() - started)
    return SourceResult(source.name, coverage, plan, seconds=time.monotonic() - started)


async def _plan(
    source: SourceSpec, coverage: Coverage, moment: Moment, history: TaskHistory, context: ScanContext
) -> TaskPlan:
    completeness = coverage.total().completeness
    names = source.names
    ranked = [
        rank_gap(
            gap, {name: str(value) for name, value in zip(names, gap.values, strict=True)}, source.priorities, moment,
            completeness,
        )
        for gap in coverage.gaps
    ]  # fmt: skip
    states = history.states
    plan = Planner(source, history, moment.now).plan(ranked)
    new = [task.id for task, _ in plan.tasks if task.id not in states]
    earlier = await context.store.task_states(new) if new else {}
    if all(state is GapTaskState.UNKNOWN for state in earlier.values()):
        return plan
    # The queue executed tasks with these ids long ago: their gaps were closed and are open again.
    return Planner(source, TaskHistory(history.tasks, {**states, **earlier}, history.absences), moment.now).plan(ranked)
