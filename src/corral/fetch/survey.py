"""Fetch a page as a run would, and survey it for a person who writes a job."""

import base64
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

from corral.domain.jobs.survey import READING_S, Survey
from corral.domain.ports.execution import Executor, Task
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.survey import SurveyPayload
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.extract.recording import recordable_headers
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.parsing.pool import PageReader

OpenExecutor = Callable[[PageReader], AbstractAsyncContextManager[Executor]]


class SurveyExecutor:
    """Returns two records: the fields as a run would find them, and the survey of their page."""

    def __init__(self, open_executor: OpenExecutor, reader: PageReader) -> None:
        self._open_executor = open_executor
        self._reader = reader

    async def execute(self, task: Task) -> Outcome:
        ends_at = time.monotonic() + task.timeout_s
        last_read = _LastRead(self._reader)
        async with self._open_executor(last_read) as executor:
            outcome = await executor.execute(replace(task, timeout_s=max(1.0, task.timeout_s - READING_S)))
            if isinstance(outcome, Deferred):
                return outcome
            survey = task.payload.read(SurveyPayload).survey
            if survey is Survey.RECORDING and last_read.request is not None:
                return await self._record(last_read.request, outcome)
            if not isinstance(outcome, Fetched):
                return outcome
            if last_read.request is None:
                kind = outcome.stats.get("content_type") or "no document"
                return _fail("content_type", f"the target answers with {kind}, which cannot be read", outcome)
            request = replace(last_read.request, survey=survey)
            read = await self._reader.read(request, max(0.0, ends_at - time.monotonic()))
        if isinstance(read, Failed):
            return replace(read, stats={**outcome.stats, **read.stats})
        return Fetched(outcome.stats, (*outcome.records, read.record), outcome.missing)

    async def _record(self, request: ReadRequest, outcome: Outcome) -> Outcome:
        """Return the page as the reader received it, even if it failed by its status or content."""
        if not isinstance(outcome, Fetched):
            read = await self._reader.read(request)
            if isinstance(read, ReadAnswer) and read.failure is None:
                return outcome  # the fetch failed, so only part of the page was read
        shell_check = await self._reader.read(replace(request, is_shell_check=True))
        page = {
            "url": request.url,
            "requested_url": request.requested_url,
            "status": request.status,
            "headers": [list(pair) for pair in recordable_headers(request.headers)],
            "body": base64.b64encode(request.body).decode("ascii"),
            "is_shell": isinstance(shell_check, ReadAnswer) and shell_check.is_shell,
        }
        return Fetched({}, ({}, page))


class _LastRead:
    """Keeps the last request: a page in a browser is read several times until it is ready."""

    def __init__(self, inner: PageReader) -> None:
        self._inner = inner
        self.request: ReadRequest | None = None

    async def read(self, request: ReadRequest, timeout_s: float | None = None) -> ReadAnswer | Failed:
        self.request = request
        return await self._inner.read(request, timeout_s)


@asynccontextmanager
async def as_it_is(executor: Executor) -> AsyncIterator[Executor]:
    """Wrap an executor that needs no cleanup as a context manager."""
    yield executor


@asynccontextmanager
async def closing(browser: BrowserExecutor) -> AsyncIterator[Executor]:
    try:
        yield browser
    finally:
        await browser.close()


def _fail(detail: str, message: str, outcome: Fetched) -> Failed:
    return Failed(FailureCode.BAD_RESPONSE, message, detail, stats=outcome.stats)
