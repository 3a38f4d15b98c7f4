"""Runs that build an image dataset, or execute one step of it."""

from corral.domain.datasets.payload import DatasetPayload
from corral.domain.ports.datasets import DatasetBuilder
from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.run import DATASET
from corral.engine.worker.kinds.spec import KindSpec


class DatasetKind:
    def __init__(self, builder: DatasetBuilder | None) -> None:
        self._builder = builder

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        if self._builder is None:
            return Failed(FailureCode.POLICY, "this process cannot build datasets", "kind")
        return await self._builder.execute(task, frontier.call, frontier.notify)


DATASET_KIND = KindSpec(DATASET, DatasetPayload, lambda parts: DatasetKind(parts.datasets))
