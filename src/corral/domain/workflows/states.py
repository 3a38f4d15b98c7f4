"""States of steps as stored, and the words of the workflow API for steps and workflows."""

from enum import StrEnum
from typing import NamedTuple

from corral.domain.runs.run import HoldReason, RunState


class StepState(StrEnum):
    WAITING = "waiting"  # for the steps it depends on
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
# States of steps that a recovery executes again; all others stay as they are.
RECOVERABLE = frozenset({StepState.FAILED, StepState.SKIPPED, StepState.CANCELLED})

STEP_STATE_AFTER = {
    RunState.COMPLETED: StepState.COMPLETED,
    RunState.PARTIAL: StepState.PARTIAL,
    RunState.FAILED: StepState.FAILED,
    RunState.CANCELLED: StepState.CANCELLED,
}

# The reason of a step that its condition skipped.
BY_CONDITION = "its condition is false"


class StepNow(NamedTuple):
    """A step as it is stored."""

    state: StepState
    reason: str | None = None  # why it failed or was skipped

    @property
    def lets_pass(self) -> bool:
        """Return whether dependent steps may start. A step that its condition skipped does not block them."""
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
    """Return the states of runs that are shown as this status."""
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
    """Return the status of a step; `run` and `attempt` are those of the child run of a started step."""
    if state is not StepState.STARTED:
        return _TASK_STATUS[state]
    if run is RunState.RUNNING:
        return TaskStatus.RUNNING
    return TaskStatus.RETRYING if attempt > 1 and run is RunState.QUEUED else TaskStatus.QUEUED
