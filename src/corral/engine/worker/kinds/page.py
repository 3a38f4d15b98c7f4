"""One page: fetched by the strategy the run has come to, its fields extracted."""

from collections.abc import Mapping
from dataclasses import replace

from corral.domain.hosts.limiter import NO_GATES, Gates
from corral.domain.jobs.field_types import with_types
from corral.domain.jobs.job import Strategy
from corral.domain.ports.execution import Executor, FrontierClient
from corral.domain.runs.outcome import Failed, FailureCode, Outcome, Task
from corral.domain.runs.payload.page import PagePayload


class PageKind:
    def __init__(self, executors: Mapping[Strategy, Executor], gates: Gates = NO_GATES) -> None:
        self._executors = executors
        self._gates = gates

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:  # noqa: ARG002 - a page has no items
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
            outcome = typed(await executor.execute(replace(task, visit=turn)), task)
            return outcome
        finally:
            turn.end(outcome)


def typed(outcome: Outcome, task: Task) -> Outcome:
    """With values of the types that the fields ask for; one that cannot be made into its type is missing."""
    if isinstance(outcome, Failed) or not outcome.records:
        return outcome
    fields = task.payload.read(PagePayload).fields
    made = [with_types(record, fields) for record in outcome.records]
    lost = tuple(name for _, names in made for name in names if name not in outcome.missing)
    return replace(outcome, records=tuple(record for record, _ in made), missing=(*outcome.missing, *lost))
