"""States of steps as they are stored, and what both vocabularies call them."""

from enum import StrEnum
from typing import NamedTuple

from corral.domain.runs.run import HoldReason, RunState


class StepState(StrEnum):
    WAITING = "waiting"  # for what it depends on
    STARTED = "started"  # it has a child run, or several
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self not in OPEN


OPEN = frozenset({StepState.WAITING, StepState.STARTED})
SUCCEEDED = frozenset({StepState.COMPLETED, StepState.PARTIAL})
# What a recovery executes again; everything else of an ended workflow stays as it is.
RECOVERABLE = frozenset({StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED})

STEP_STATE_AFTER = {
    RunState.COMPLETED: StepState.COMPLETED,
    RunState.PARTIAL: StepState.PARTIAL,
    RunState.FAILED: StepState.FAILED,
    RunState.CANCELLED: StepState.CANCELLED,
}

# Why a step was skipped.
BY_CONDITION = "its condition is false"


class StepNow(NamedTuple):
    """A step as it is stored."""

    state: StepState
    reason: str | None = None  # why it failed or was skipped

    @property
    def lets_pass(self) -> bool:
        """Whether what depends on it may start. A step without anything to do by its condition is no obstacle."""
        return self.state in SUCCEEDED or (self.state is StepState.SKIPPED and self.reason == BY_CONDITION)


class TaskStatus(StrEnum):
    """The words of the workflow API for a step."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"


class WorkflowStatus(StrEnum):
    """The words of the workflow API for a workflow."""

    PENDING = "pending"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RECOVERING = "recovering"


def workflow_status(state: RunState, hold: HoldReason | None, *, is_begun: bool, recoveries: int) -> WorkflowStatus:
    if state is RunState.HELD:
        return WorkflowStatus.PAUSED if is_begun or hold is not HoldReason.PAUSED else WorkflowStatus.PENDING
    if state in (RunState.QUEUED, RunState.RUNNING):
        return WorkflowStatus.RECOVERING if recoveries else WorkflowStatus.RUNNING
    return WorkflowStatus.COMPLETED if state is RunState.PARTIAL else WorkflowStatus(state.value)


_BEHIND = {
    WorkflowStatus.PENDING: (RunState.HELD,),
    WorkflowStatus.PAUSED: (RunState.HELD,),
    WorkflowStatus.RUNNING: (RunState.RUNNING,),
    WorkflowStatus.RECOVERING: (RunState.RUNNING,),
    WorkflowStatus.COMPLETED: (RunState.COMPLETED, RunState.PARTIAL),
    WorkflowStatus.FAILED: (RunState.FAILED,),
    WorkflowStatus.CANCELLED: (RunState.CANCELLED,),
}


def states_behind(status: str) -> tuple[RunState, ...]:
    """The states of runs that may be shown as this."""
    return _BEHIND[WorkflowStatus(status)]


_TASK_STATUS = {
    StepState.WAITING: TaskStatus.PENDING,
    StepState.COMPLETED: TaskStatus.COMPLETED,
    StepState.PARTIAL: TaskStatus.COMPLETED,
    StepState.FAILED: TaskStatus.FAILED,
    StepState.SKIPPED: TaskStatus.SKIPPED,
    StepState.CANCELLED: TaskStatus.CANCELLED,
}


def task_status(state: StepState, run: RunState | None, attempt: int) -> TaskStatus:
    """`run` and `attempt` are those of the child run of a started step."""
    if state is not StepState.STARTED:
        return _TASK_STATUS[state]
    if run is RunState.RUNNING:
        return TaskStatus.RUNNING
    return TaskStatus.RETRYING if attempt > 1 and run is RunState.QUEUED else TaskStatus.QUEUED
