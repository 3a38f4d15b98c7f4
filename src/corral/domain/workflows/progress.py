"""Counts and progress of a workflow, derived from its steps."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

from corral.domain.workflows.states import StepNow, StepState

_MAX_SENTENCES = 10


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
    """Return the mean of the steps' shares, 0 to 100. It is rounded down: 100 means that nothing is left."""
    values = list(shares)
    return int(100 * sum(values) / len(values) + 1e-9) if values else 0


def share_of(step: StepNow, items: tuple[int, int] | None = None) -> float:
    """Return how much of a step is done, from 0 to 1; `items` are the succeeded and all children of a for_each.

    Failed work counts as nothing: otherwise a recovery would begin below the progress shown before.
    """
    if step.lets_pass:
        return 1.0
    if items is None or items[1] == 0:
        return 0.0
    # Less than a whole step until the gathered output is written.
    return min(items[0] / items[1], 0.99)


def summarize_steps(steps: Mapping[str, StepNow]) -> list[str]:
    """Return a sentence for each failed, partial or cancelled step, without the steps skipped as a result."""
    sentences = [
        f"step {key} {'is' if now.state is StepState.PARTIAL else 'was' if _is_past(now) else ''} "
        f"{now.state.value}{f': {now.reason}' if now.reason else ''}".replace("  ", " ")
        for key, now in steps.items()
        if now.state in (StepState.FAILED, StepState.PARTIAL, StepState.CANCELLED)
    ]
    more = len(sentences) - _MAX_SENTENCES
    return sentences if more <= 0 else [*sentences[:_MAX_SENTENCES], f"and {more} more"]


def _is_past(now: StepNow) -> bool:
    return now.state is StepState.CANCELLED
