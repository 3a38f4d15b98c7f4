"""One page: fetched by the strategy the run has come to, its fields extracted."""

from collections.abc import Mapping
from dataclasses import replace

from corral.domain.gate import NO_GATES, Gates
from corral.domain.job import Strategy
from corral.domain.outcome import Failed, FailureCode, Outcome, Task
from corral.domain.ports import Desk, Executor


class PageKind:
    def __init__(self, executors: Mapping[Strategy, Executor], gates: Gates = NO_GATES) -> None:
        self._executors = executors
        self._gates = gates

    async def perform(self, task: Task, desk: Desk) -> Outcome:  # noqa: ARG002 - a page has no items
        executor = self._executors.get(Strategy(task.strategy))
        if executor is None:
            offered = ", ".join(sorted(self._executors))
            return Failed(
                FailureCode.POLICY,
                f"this installation cannot fetch by {task.strategy}; it offers {offered}",
                "strategy_unavailable",
            )
        turn, outcome = self._gates.visit(), None
        try:
            outcome = await executor.execute(replace(task, visit=turn))
            return outcome
        finally:
            turn.end(outcome)
