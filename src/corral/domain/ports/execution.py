"""How a worker process executes a run."""

from collections.abc import Sequence
from typing import Protocol

from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.jobs.job import FieldSpec
from corral.domain.runs.outcome import Outcome, Task
from corral.domain.runs.probe import Probe


class FrontierClient(Protocol):
    """The source of a run's items; reports their results in the same call."""

    async def step(self, report: BatchReport) -> Batch: ...


class RunKind(Protocol):
    """How runs of one kind are executed, inside a worker process."""

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome: ...


class Executor(Protocol):
    """One way of getting a page."""

    async def execute(self, task: Task) -> Outcome: ...


class Prober(Protocol):
    async def __call__(
        self, url: str, fields: Sequence[FieldSpec], trusted_hosts: frozenset[str], *, verifies_tls: bool = True
    ) -> Probe: ...
