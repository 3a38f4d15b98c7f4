"""Counts and progress of a workflow, derived from its steps."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from corral.domain.workflows.states import StepNow, StepState

_TOLD = 10


class StepCounts(NamedTuple):
    total: int = 0
    completed: int = 0
    partial: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    started: int = 0
    waiting: int = 0

    @classmethod
    def of(cls, steps: Iterable[StepNow]) -> Self:
        states = [each.state for each in steps]
        return cls(len(states), **{state.value: states.count(state) for state in StepState})

    def document(self) -> dict[str, Any]:
        return {name: count for name, count in self._asdict().items() if count or name in ("total", "completed")}


def progress_percent(shares: Iterable[float]) -> int:
    """The mean of the steps' shares, 0 to 100. It rounds down: 100 means that nothing is left."""
    known = list(shares)
    return int(100 * sum(known) / len(known) + 1e-9) if known else 0


def share_of(step: StepNow, items: tuple[int, int] | None = None) -> float:
    """How much of a step is done, from 0 to 1; `items` counts succeeded and all children of a for_each.

    What has failed counts as nothing: a recovery would otherwise begin below the progress shown before.
    """
    if step.lets_pass:
        return 1.0
    if items is None or items[1] == 0:
        return 0.0
    # Less than a whole step, until what gathers its items has been written.
    return min(items[0] / items[1], 0.99)


def summarize_steps(steps: Mapping[str, StepNow]) -> list[str]:
    """A sentence for each step that did not simply complete; what depends on one is not repeated."""
    told = [
        f"step {key} {'is' if now.state is StepState.PARTIAL else 'was' if _is_past(now) else ''} "
        f"{now.state.value}{f': {now.reason}' if now.reason else ''}".replace("  ", " ")
        for key, now in steps.items()
        if now.state in (StepState.FAILED, StepState.PARTIAL, StepState.CANCELLED)
    ]
    more = len(told) - _TOLD
    return told if more <= 0 else [*told[:_TOLD], f"and {more} more"]


def _is_past(now: StepNow) -> bool:
    return now.state is StepState.CANCELLED
