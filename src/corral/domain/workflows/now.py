"""The current state of a workflow, with everything that is derived from its steps."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from corral.domain.runs.run import HoldReason, Run, RunState
from corral.domain.workflows.progress import StepCounts, progress_percent, share_of
from corral.domain.workflows.spec import StepSpec, WorkflowSpec
from corral.domain.workflows.states import (
    StepNow,
    StepState,
    TaskStatus,
    WorkflowStatus,
    task_status,
    workflow_status,
)


class ItemCounts(NamedTuple):
    """The children of a for_each."""

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    running: int = 0


class StepDetail(NamedTuple):
    """A step with its latest child run."""

    spec: StepSpec
    now: StepNow
    run_id: str | None = None
    run_state: RunState | None = None
    hold_reason: HoldReason | None = None
    attempt: int = 0
    runs: int = 0
    output: Any = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    items: ItemCounts | None = None
    error: str | None = None  # of the last attempt of a run that continues

    @property
    def status(self) -> TaskStatus:
        if self.items is not None and self.now.state is StepState.STARTED:
            return TaskStatus.RUNNING if self.items.running else TaskStatus.QUEUED
        return task_status(self.now.state, self.run_state, self.attempt)

    @property
    def retry_count(self) -> int:
        return max(0, self.attempt - 1)

    @property
    def duration_s(self) -> float | None:
        if self.started_at is None or self.ended_at is None or not self.now.state.is_over:
            return None
        # Not negative, even if the clock of the machine was set back in between.
        return round(max(0.0, (self.ended_at - self.started_at).total_seconds()), 3)

    @property
    def share(self) -> float:
        return share_of(self.now, None if self.items is None else (self.items.succeeded, self.items.total))


@dataclass(frozen=True)
class WorkflowNow:
    id: str
    run: Run  # the latest one
    spec: WorkflowSpec
    version: int
    job_id: str | None
    recoveries: int
    max_recoveries: int
    created_at: datetime
    started_at: datetime | None  # of its first run
    steps: tuple[StepDetail, ...]

    @property
    def status(self) -> WorkflowStatus:
        return workflow_status(
            self.run.state,
            self.run.hold_reason,
            is_begun=self.started_at is not None or self.recoveries > 0,
            recoveries=self.recoveries,
        )

    @property
    def is_over(self) -> bool:
        return self.run.state.is_terminal

    @property
    def is_partial(self) -> bool:
        return self.run.state is RunState.PARTIAL

    @property
    def is_recoverable(self) -> bool:
        return self.run.state is RunState.FAILED and self.recoveries < self.max_recoveries

    @cached_property
    def counts(self) -> StepCounts:
        return StepCounts.of(step.now for step in self.steps)

    @property
    def running(self) -> int:
        return sum(step.status is TaskStatus.RUNNING for step in self.steps)

    @property
    def progress(self) -> int:
        return progress_percent(step.share for step in self.steps)

    @property
    def last_checkpoint(self) -> datetime | None:
        """Return when the latest step ended: everything until then is never executed again."""
        return max((step.ended_at for step in self.steps if step.ended_at is not None), default=None)

    @property
    def current_step(self) -> int:
        """Return the index of the first step that is not over; at the end, the number of steps."""
        return next((number for number, step in enumerate(self.steps) if not step.now.state.is_over), len(self.steps))

    @property
    def waits_for_person(self) -> bool:
        """Return whether every child run that could continue is held for a person."""
        started = [step for step in self.steps if step.now.state is StepState.STARTED and step.items is None]
        held = [step for step in started if step.hold_reason not in (None, HoldReason.PAUSED)]
        return bool(held) and len(held) == len(started) and self.run.state is RunState.RUNNING
