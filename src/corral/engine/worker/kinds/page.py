"""The run kind `page`: fetch one page by the strategy of the run and extract its fields."""

from collections.abc import Mapping
from dataclasses import replace

from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.jobs.job import Job, Strategy
from corral.domain.ports.execution import Executor, FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import PAGE
from corral.engine.worker.kinds.spec import KindSpec


class PageKind:
    def __init__(self, executors: Mapping[Strategy, Executor], host_access: HostAccess = UNLIMITED) -> None:
        self._executors = executors
        self._host_access = host_access

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:  # noqa: ARG002 - a page has no items
        executor = self._executors.get(Strategy(task.strategy))
        if executor is None:
            offered = ", ".join(sorted(self._executors))
            return Failed(
                FailureCode.POLICY,
                f"this installation cannot fetch by {task.strategy}; it offers {offered}",
                "strategy_unavailable",
            )
        turn, outcome = self._host_access.visit(), None
        try:
            outcome = await executor.execute(replace(task, visit=turn))
            return outcome
        finally:
            turn.end(outcome)


def refresh_from_job(payload: Payload, job: Job) -> Payload:
    """Resume rule: the user may have corrected the fields, on_captcha or on_missing of the job."""
    page = payload.read(PagePayload)
    return Payload.of(replace(page, fields=job.fields, on_captcha=job.on_captcha, on_missing=job.on_missing))


PAGE_KIND = KindSpec(
    PAGE, PagePayload, lambda parts: PageKind(parts.pages, parts.host_access), lane=None, resume=refresh_from_job
)
