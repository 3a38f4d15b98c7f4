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
_MAX_BATCH_CHARS = 32 * 1024


class GapTaskState(StrEnum):
    UNKNOWN = "unknown"  # the queue has no such task: it was only written to a file, or never queued
    OPEN = "open"
    ENDED = "ended"  # with any outcome: the inventory shows whether its gaps are closed


@dataclass(frozen=True, slots=True)
class GapTask:
    """A task for gaps, as reconciliation stores it."""

    id: str
    source: str
    attempt: int
    keys: tuple[tuple[str, str], ...]  # each with its value of the batched dimension
    created_at: float


@dataclass(slots=True)
class TaskPlan:
    tasks: list[tuple[GapTask, dict[str, Any]]] = field(default_factory=list)  # to be queued, with their documents
    retained: list[GapTask] = field(default_factory=list)  # remembered unchanged, or with fewer keys
    waiting: int = 0  # gaps with an open task
    stuck: list[RankedGap] = field(default_factory=list)  # gaps that no attempt closed

    @property
    def remembered(self) -> list[GapTask]:
        return [*self.retained, *(task for task, _ in self.tasks)]

    def count_by_priority(self) -> dict[str, int]:
        counts = {each.name: 0 for each in Priority}
        for _, document in self.tasks:
            counts[document["priority"]] += 1
        return counts


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """Earlier tasks for the gaps of a source, and its absences."""

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
        for ranked in gaps:
            task = self._latest.get(ranked.gap.key)
            if task is None or self._is_forgotten(task):
                fresh.setdefault(1, []).append(ranked)
                continue
            match self._history.states.get(task.id, GapTaskState.UNKNOWN):
                case GapTaskState.OPEN:
                    plan.waiting += 1
                    opened[task.id] = task
                case GapTaskState.UNKNOWN:
                    again.setdefault(task.id, []).append(ranked)
                case GapTaskState.ENDED if task.attempt < self._max_attempts(ranked.gap):
                    fresh.setdefault(task.attempt + 1, []).append(ranked)
                case _:
                    plan.stuck.append(ranked)
                    stuck.setdefault(task.id, []).append(ranked.gap.key)
        self._add_again(plan, again)
        for attempt, tried in sorted(fresh.items()):
            plan.tasks += (self._make(batch, attempt) for batch in self._batches(tried))
        order = {ranked.gap.key: number for number, ranked in enumerate(gaps)}
        plan.tasks.sort(key=lambda entry: (Priority[entry[1]["priority"]], order[entry[0].keys[0][0]]))
        plan.retained = [*opened.values(), *self._trim(stuck)]
        return plan

    def _max_attempts(self, gap: Gap) -> int:
        """Return the maximum attempts for a gap: for a key reported as absent, enough to confirm the absence."""
        absence = self._history.absences.get(gap.key)
        confirmations = 0 if absence is None else self._source.absence.confirmations
        return max(self._source.attempts, confirmations)

    def _is_forgotten(self, task: GapTask) -> bool:
        """Return whether the gaps of an ended task are tried again: after the recheck time of absences."""
        is_ended = self._history.states.get(task.id) is GapTaskState.ENDED
        return is_ended and self._now - task.created_at >= self._source.absence.recheck_s

    def _add_again(self, plan: TaskPlan, again: Mapping[str, list[RankedGap]]) -> None:
        """Plan tasks that the queue does not know again: with their ids, without gaps that have closed meanwhile."""
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

    def _batches(self, gaps: Sequence[RankedGap]) -> Iterator[list[RankedGap]]:
        """Yield batches of gaps that differ only in the batched dimension."""
        groups: dict[tuple[Any, ...], list[RankedGap]] = {}
        at = self._batched_at
        for ranked in gaps:
            values = ranked.gap.values
            shared = (ranked.priority, ranked.gap.type, values[:at], values[at + 1 :])
            groups.setdefault(shared, []).append(ranked)
        for group in groups.values():
            yield from self._cut(group)

    def _cut(self, group: Sequence[RankedGap]) -> Iterator[list[RankedGap]]:
        batch: list[RankedGap] = []
        chars = 0
        for ranked in group:
            length = len(str(ranked.gap.values[self._batched_at])) + 1
            if batch and (len(batch) == self._source.batch.size or chars + length > _MAX_BATCH_CHARS):
                yield batch
                batch, chars = [], 0
            batch.append(ranked)
            chars += length
        if batch:
            yield batch

    def _make(self, gaps: Sequence[RankedGap], attempt: int) -> tuple[GapTask, dict[str, Any]]:
        pairs = self._pairs(gaps)
        task_id = make_task_id(self._source.name, [key for key, _ in pairs], attempt)
        if self._history.states.get(task_id) is GapTaskState.ENDED:
            # An earlier task closed the same gaps. The queue would not run its id again.
            task_id = make_task_id(self._source.name, [key for key, _ in pairs], attempt, f"{self._now:.3f}")
        return GapTask(task_id, self._source.name, attempt, pairs, self._now), self._document(task_id, gaps)

    def _pairs(self, gaps: Sequence[RankedGap]) -> tuple[tuple[str, str], ...]:
        return tuple((each.gap.key, str(each.gap.values[self._batched_at])) for each in gaps)

    def _document(self, task_id: str, gaps: Sequence[RankedGap]) -> dict[str, Any]:
        """Return the task as an entry of the queue file."""
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
    """Return an id that is the same for the same gaps, so that importing a queue file twice adds nothing."""
    text = "\0".join([source, str(attempt), salt, *map(str, sorted(map(str, keys)))])
    return f"task_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
