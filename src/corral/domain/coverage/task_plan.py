"""Turn gaps into queue tasks: several keys in one task, no key in two, and a bounded number of attempts for each."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from corral.domain.coverage.absence import Absence
from corral.domain.coverage.gap import Gap, RankedGap
from corral.domain.coverage.spec import SourceSpec
from corral.domain.coverage.values import Value
from corral.domain.jobs.job import Priority

# The values of a batch are one argument of a script, which may have 64 KiB.
_MOST_CHARS = 32 * 1024


class GapTaskState(StrEnum):
    UNKNOWN = "unknown"  # the queue has no such task: it was written to a file, or not at all
    OPEN = "open"
    ENDED = "ended"  # however it ended: the inventory says whether its gaps are closed


@dataclass(frozen=True, slots=True)
class GapTask:
    """A task as reconciliation remembers it."""

    id: str
    source: str
    attempt: int
    keys: tuple[tuple[str, str], ...]  # each with its value of the batched dimension
    created_at: float


@dataclass(slots=True)
class TaskPlan:
    tasks: list[tuple[GapTask, dict[str, Any]]] = field(default_factory=list)  # to be queued, with their documents
    kept: list[GapTask] = field(default_factory=list)  # remembered unchanged, or with fewer keys
    waiting: int = 0  # gaps with an open task
    stuck: list[RankedGap] = field(default_factory=list)  # gaps that no attempt closed

    @property
    def remembered(self) -> list[GapTask]:
        return [*self.kept, *(task for task, _ in self.tasks)]

    def count_by_priority(self) -> dict[str, int]:
        counts = {each.name: 0 for each in Priority}
        for _, document in self.tasks:
            counts[document["priority"]] += 1
        return counts


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """What happened to the gaps of a source before."""

    tasks: Sequence[GapTask] = ()
    states: Mapping[str, GapTaskState] = field(default_factory=dict)
    absences: Mapping[str, Absence] = field(default_factory=dict)


class Planner:
    def __init__(self, source: SourceSpec, history: TaskHistory, now: float) -> None:
        self._source = source
        self._history = history
        self._now = now
        self._latest: dict[str, GapTask] = {}
        for task in sorted(history.tasks, key=lambda each: each.attempt):
            self._latest.update((key, task) for key, _ in task.keys)
        self._batched_at = source.names.index(source.batch.of) if source.batch.of else len(source.names) - 1

    def plan(self, gaps: Sequence[RankedGap]) -> TaskPlan:
        plan = TaskPlan()
        fresh: dict[int, list[RankedGap]] = {}
        again: dict[str, list[RankedGap]] = {}
        stuck: dict[str, list[str]] = {}
        opened: dict[str, GapTask] = {}
        for each in gaps:
            task = self._latest.get(each.gap.key)
            if task is None or self._is_forgotten(task):
                fresh.setdefault(1, []).append(each)
                continue
            match self._history.states.get(task.id, GapTaskState.UNKNOWN):
                case GapTaskState.OPEN:
                    plan.waiting += 1
                    opened[task.id] = task
                case GapTaskState.UNKNOWN:
                    again.setdefault(task.id, []).append(each)
                case GapTaskState.ENDED if task.attempt < self._max_attempts(each.gap):
                    fresh.setdefault(task.attempt + 1, []).append(each)
                case _:
                    plan.stuck.append(each)
                    stuck.setdefault(task.id, []).append(each.gap.key)
        self._add_again(plan, again)
        for attempt, tried in sorted(fresh.items()):
            plan.tasks += (self._make(batch, attempt) for batch in self._batches(tried))
        order = {each.gap.key: number for number, each in enumerate(gaps)}
        plan.tasks.sort(key=lambda each: (Priority[each[1]["priority"]], order[each[0].keys[0][0]]))
        plan.kept = [*opened.values(), *self._trim(stuck)]
        return plan

    def _max_attempts(self, gap: Gap) -> int:
        """A key that was reported as absent is requested until that is confirmed."""
        absence = self._history.absences.get(gap.key)
        confirmations = 0 if absence is None else self._source.absence.confirmations
        return max(self._source.attempts, confirmations)

    def _is_forgotten(self, task: GapTask) -> bool:
        """A gap that was given up is tried again as rarely as an absence is checked."""
        is_ended = self._history.states.get(task.id) is GapTaskState.ENDED
        return is_ended and self._now - task.created_at >= self._source.absence.recheck_s

    def _add_again(self, plan: TaskPlan, again: Mapping[str, list[RankedGap]]) -> None:
        """A task that is not in the queue keeps its id and loses the gaps that closed meanwhile."""
        by_id = {task.id: task for task in self._history.tasks}
        for task_id, gaps in again.items():
            before = by_id[task_id]
            task = GapTask(task_id, before.source, before.attempt, self._pairs(gaps), before.created_at)
            plan.tasks.append((task, self._document(task_id, gaps)))

    def _trim(self, stuck: Mapping[str, list[str]]) -> Iterator[GapTask]:
        by_id = {task.id: task for task in self._history.tasks}
        for task_id, keys in stuck.items():
            task, wanted = by_id[task_id], set(keys)
            pairs = tuple(pair for pair in task.keys if pair[0] in wanted)
            yield GapTask(task_id, task.source, task.attempt, pairs, task.created_at)

    def _batches(self, ranked: Sequence[RankedGap]) -> Iterator[list[RankedGap]]:
        """Gaps that differ only in the batched dimension, a batch at a time."""
        groups: dict[tuple[Any, ...], list[RankedGap]] = {}
        at = self._batched_at
        for each in ranked:
            values = each.gap.values
            shared = (each.priority, each.gap.type, values[:at], values[at + 1 :])
            groups.setdefault(shared, []).append(each)
        for group in groups.values():
            yield from self._cut(group)

    def _cut(self, group: Sequence[RankedGap]) -> Iterator[list[RankedGap]]:
        batch: list[RankedGap] = []
        chars = 0
        for each in group:
            length = len(str(each.gap.values[self._batched_at])) + 1
            if batch and (len(batch) == self._source.batch.size or chars + length > _MOST_CHARS):
                yield batch
                batch, chars = [], 0
            batch.append(each)
            chars += length
        if batch:
            yield batch

    def _make(self, gaps: Sequence[RankedGap], attempt: int) -> tuple[GapTask, dict[str, Any]]:
        pairs = self._pairs(gaps)
        task_id = make_task_id(self._source.name, [key for key, _ in pairs], attempt)
        if self._history.states.get(task_id) is GapTaskState.ENDED:
            # The same gaps were closed by a task before. The queue does not run that one again.
            task_id = make_task_id(self._source.name, [key for key, _ in pairs], attempt, f"{self._now:.3f}")
        return GapTask(task_id, self._source.name, attempt, pairs, self._now), self._document(task_id, gaps)

    def _pairs(self, gaps: Sequence[RankedGap]) -> tuple[tuple[str, str], ...]:
        return tuple((each.gap.key, str(each.gap.values[self._batched_at])) for each in gaps)

    def _document(self, task_id: str, gaps: Sequence[RankedGap]) -> dict[str, Any]:
        """The task as the queue file has it."""
        source, first = self._source, gaps[0]
        named = dict(zip(source.names, first.gap.values, strict=True))
        if source.batch.size > 1:
            named = {name: value for name, value in named.items() if name != source.batch.of}
            named[source.batch.parameter] = [each.gap.values[self._batched_at] for each in gaps]  # type: ignore[assignment]
        return {
            "id": task_id,
            "priority": first.priority.name,
            "source": source.name,
            "scraper": source.scraper,
            **named,
            **source.parameters,
            "gap_type": first.gap.type.value,
            "reason": _reason(gaps),
            "estimated_time_minutes": source.minutes if source.minutes % 1 else int(source.minutes),
        }


def _reason(gaps: Sequence[RankedGap]) -> str:
    first = gaps[0]
    if len(gaps) == 1:
        return f"{first.gap.key} {first.gap.type.value} ({first.gap.reason}), {first.why}"
    return f"{len(gaps)} keys {first.gap.type.value}, {first.why}"


def make_task_id(source: str, keys: Sequence[Value], attempt: int, salt: str = "") -> str:
    """The same for the same gaps, so that importing a queue file twice adds nothing."""
    text = "\0".join([source, str(attempt), salt, *map(str, sorted(map(str, keys)))])
    return f"task_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
