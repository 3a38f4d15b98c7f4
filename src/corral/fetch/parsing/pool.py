"""Read pages in killable processes: one hostile page costs one reader, never the event loop."""

import asyncio
import contextlib
from collections import deque
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from corral.domain.fields.own_code import parser_of
from corral.domain.runs.outcome import Failed, FailureCode
from corral.extract.link_classifier import ReadMemory
from corral.extract.links import MAX_LINKS
from corral.extract.page_reader import ReadAnswer, ReadRequest, read_page
from corral.extract.value_limit import DEFAULT_CHARS
from corral.fetch.coarse_timeout import CoarseTimeout
from corral.fetch.faults import fault
from corral.fetch.parsing.fair_queue import FairQueue
from corral.fetch.parsing.messages import MAX_FIELDS, Question, ReaderLimits
from corral.fetch.parsing.process import (
    BATCH_BYTES,
    CannotRead,
    ParseProcess,
    Reader,
    ReaderExit,
    ReadingBroke,
)
from corral.fetch.parsing.read_clock import read_time

log = structlog.get_logger()

_MAX_PROCESSES = 2
# Start another process when this many pages wait; one page alone gets one process.
_MANY_WAITING = 4
# Each selector that times out costs a reader and a second; a page with more of them is refused.
_MAX_SKIPPED_SELECTORS = 3
_TRIES = 2
# Pages sent to a reader at once, so that neither side waits for the other between pages.
_BATCH_PAGES = 16
_RESTART_PAUSES_S = (0.0, 0.2, 1.0)
_MAX_URL_CHARS = 200


class PageReader(Protocol):
    async def read(self, request: ReadRequest, timeout_s: float | None = None) -> ReadAnswer | Failed:
        """Read a page.

        Return the failure `timeout:total` if time runs out, `limit:parse` if the page costs too much, and
        `bad_response:xml_dtd` for XML with a DTD.
        """
        ...


class InProcessReader:
    """Reads pages in the calling process: for tests and trusted pages."""

    def __init__(self) -> None:
        self._memory = ReadMemory()

    async def read(self, request: ReadRequest, timeout_s: float | None = None) -> ReadAnswer | Failed:  # noqa: ARG002
        answer = read_page(request, read_time(), memory=self._memory)
        return answer if answer.refused is None else refusal(request, answer.refused, answer)


@dataclass(slots=True, eq=False)
class _Job:
    request: ReadRequest
    answer: "asyncio.Future[ReadAnswer | Failed]"
    skipped: set[int] = field(default_factory=set)
    losses: int = 0
    used_s: float = 0.0  # processor time spent on the page

    @property
    def host(self) -> str:
        """The host under which the page is queued."""
        return self.request.url[:_MAX_URL_CHARS].partition("//")[2].partition("/")[0]

    @property
    def code(self) -> str | None:
        """The custom code of the page; None for most pages."""
        spec = parser_of(self.request.fields)
        return None if spec is None else spec.code

    def resolve(self, outcome: ReadAnswer | Failed | ReadingBroke) -> None:
        """Set the outcome, unless the run has cancelled the job."""
        if isinstance(outcome, ReadAnswer):
            self.used_s += outcome.cpu_ms / 1000
        if self.answer.done():
            return
        if isinstance(outcome, ReadingBroke):
            self.answer.set_exception(outcome)
        elif isinstance(outcome, ReadAnswer) and outcome.refused is not None:
            self.answer.set_result(refusal(self.request, outcome.refused, outcome))
        else:
            self.answer.set_result(outcome)


class ParsePool:
    """A pool of parsing processes. The first page starts it; its processes run until `close`."""

    def __init__(
        self,
        size: int = 1,
        limits: ReaderLimits | None = None,
        *,
        max_value_chars: int = DEFAULT_CHARS,
        max_links: int = MAX_LINKS,
    ) -> None:
        self._max_value_chars = max_value_chars
        self._max_links = max_links
        self._size = min(size, _MAX_PROCESSES)
        self._limits = (limits or ReaderLimits()).for_links(max_links)
        self._jobs: FairQueue[_Job] = FairQueue(self._limits.max_waiting)
        self._keepers: dict[_Keeper, asyncio.Task[None]] = {}

    async def read(self, request: ReadRequest, timeout_s: float | None = None) -> ReadAnswer | Failed:
        if not self._keepers:
            self._start_keeper()
        if (request.max_value_chars, request.max_links) != (self._max_value_chars, self._max_links):
            request = replace(request, max_value_chars=self._max_value_chars, max_links=self._max_links)
        job = _Job(request, asyncio.get_running_loop().create_future())
        try:
            async with CoarseTimeout(timeout_s):
                await self._jobs.put(job.host, job, len(request.body))
                is_busy = len(self._jobs) >= _MANY_WAITING or self._jobs.has_expensive
                if is_busy and len(self._keepers) < self._size:
                    self._start_keeper()
                # A cancelled job is skipped when its turn comes.
                return await job.answer
        except TimeoutError:
            return fault("timeout:total", f"{_short_url(request)} was fetched but not parsed in time")

    def _start_keeper(self) -> None:
        keeper = _Keeper(self._jobs, self._limits)
        # In its own context: the process serves every run, not only the one that started it.
        task = asyncio.create_task(keeper.run(), name=f"parser {len(self._keepers)}", context=Context())
        self._keepers[keeper] = task

    @property
    def pids(self) -> list[int]:
        """Return the pids of the processes and their readers."""
        return [pid for keeper in self._keepers for pid in keeper.pids]

    async def close(self) -> None:
        for running in self._keepers.values():
            running.cancel()
        await asyncio.gather(*self._keepers.values(), return_exceptions=True)
        self._keepers.clear()
        for job in self._jobs.drain():
            job.answer.cancel()


class _Keeper:
    """Keeps one process with a reader ready, and passes the next jobs of the queue to it."""

    def __init__(self, jobs: FairQueue[_Job], limits: ReaderLimits) -> None:
        self._jobs = jobs
        self._limits = limits
        self._left: _Job | None = None  # removed from the queue, but did not fit into the last batch
        self._process: ParseProcess | None = None
        self._reader: Reader | None = None
        self._code: str | None = None  # the custom code that this reader has run

    @property
    def pids(self) -> list[int]:
        processes = (self._process, self._reader)
        return [process.pid for process in processes if process is not None]

    async def run(self) -> None:
        try:
            with contextlib.suppress(CannotRead):  # reported to the next job
                await self._ready(self._code)
            self._jobs.add_reader()
            while True:
                with contextlib.suppress(CannotRead):
                    await self._ready(self._code)
                jobs = await self._next()
                try:
                    await self._serve(jobs)
                finally:
                    for job in jobs:
                        job.answer.cancel()
                        self._jobs.note_read(job.host, job.used_s)
        finally:
            if self._left is not None:
                self._left.answer.cancel()
                self._jobs.note_read(self._left.host, 0.0)
            await asyncio.shield(self._drop())

    async def _next(self) -> list[_Job]:
        """Return the next batch: as many waiting jobs as fit, all with the same custom code or all without."""
        left, self._left = self._left, None
        first = (await self._jobs.get())[1] if left is None else left
        jobs, batch_bytes = [first], len(first.request.body)
        if self._jobs.is_expensive(first.host):
            return jobs  # alone: the other pages of a batch would wait for it
        while len(jobs) < _BATCH_PAGES and (entry := self._jobs.get_nowait(only_cheap=True)) is not None:
            job = entry[1]
            batch_bytes += len(job.request.body)
            if batch_bytes > BATCH_BYTES or job.code != first.code:
                self._left = job
                break
            jobs.append(job)
        return jobs

    async def _serve(self, jobs: list[_Job]) -> None:
        try:
            while waiting := [job for job in jobs if not job.answer.done()]:
                await self._attempt(waiting)
        except CannotRead as problem:
            for job in jobs:
                job.resolve(Failed(FailureCode.UNKNOWN, str(problem), "parser_launch"))
        except Exception as error:  # noqa: BLE001 - a bug here fails the runs concerned
            await self._drop()
            for job in jobs:
                if not job.answer.done():
                    job.answer.set_exception(error)

    async def _attempt(self, jobs: list[_Job]) -> None:
        """Send the jobs to a reader once. Jobs that remain unanswered are retried."""
        code, limits = jobs[0].code, self._limits
        reader = await self._ready(code)
        questions = [
            Question(
                job.request,
                limits.cpu_s - len(job.skipped) * limits.selector_s,
                frozenset(job.skipped),
                has_more=job is not jobs[-1],
            )
            for job in jobs
        ]
        unanswered = deque(jobs)
        wall_s = limits.wall_s if code is None else limits.code_wall_s
        reader_exit = await reader.read_pages(questions, wall_s, lambda answer: unanswered.popleft().resolve(answer))
        if reader_exit is not None:
            # If the reader had read all pages, it died between two of them; blame the first one, which is then retried.
            blamed = unanswered[reader_exit.unsent if reader_exit.unsent < len(unanswered) else 0]
            log.warning("reader_ended_by_page", url=_short_url(blamed.request), reader=str(reader_exit))
            outcome = self._handle_exit(blamed, reader_exit)
            blamed.used_s += self._limits.cpu_s if reader_exit.took_too_long else self._limits.selector_s
            if outcome is not None:
                blamed.resolve(outcome)

    def _handle_exit(self, job: _Job, reader_exit: ReaderExit) -> Failed | None:
        """Return the failure of the page that ended its reader; None to retry it, without a selector that hung."""
        if reader_exit.in_code:
            return _code_failure(job.request, reader_exit, self._limits)
        if reader_exit.took_too_long:
            return refusal(job.request, f"it takes more than {self._limits.cpu_s:g} s of processor time")
        field_index = reader_exit.selector_at
        if field_index is not None and field_index not in job.skipped and field_index < MAX_FIELDS:
            job.skipped.add(field_index)
            if len(job.skipped) <= _MAX_SKIPPED_SELECTORS:
                return None
            return refusal(job.request, f"more than {_MAX_SKIPPED_SELECTORS} selectors take too long on it")
        job.losses += 1
        return (
            None
            if job.losses < _TRIES
            else refusal(job.request, f"it ended {_TRIES} readers; the last was {reader_exit}")
        )

    async def _ready(self, code: str | None) -> Reader:
        """Return a reader for this custom code: changes that code makes to its process must not affect other pages."""
        reader = self._reader
        if reader is not None and not reader.has_ended:
            if reader.pages < self._limits.pages_per_reader and (self._code is None or self._code == code):
                self._code = code
                return reader
            await reader.end()
        self._reader, self._code = None, code
        for pause_s in _RESTART_PAUSES_S:
            try:
                return await self._start_reader()
            except CannotRead as problem:
                log.warning("reader_start_failed", reason=str(problem))
                await self._drop()
                await asyncio.sleep(pause_s)
        return await self._start_reader()

    async def _start_reader(self) -> Reader:
        is_first = self._process is None
        if self._process is None:
            self._process = await ParseProcess.start(self._limits)
        self._reader = await self._process.fork(is_first=is_first)
        return self._reader

    async def _drop(self) -> None:
        """End the process; its reader dies with it."""
        process, self._process, reader, self._reader = self._process, None, self._reader, None
        if reader is not None and not reader.has_ended:
            reader.kill()
            await reader.end()
        if process is not None:
            await process.end()


def _code_failure(request: ReadRequest, reader_exit: ReaderExit, limits: ReaderLimits) -> Failed:
    """Return the failure of custom code that killed its reader. No retry: the code would kill the next reader too."""
    spec = parser_of(request.fields)
    why = f"ended its process ({reader_exit})"
    if reader_exit.took_too_long:
        why = f"takes more than {limits.cpu_s:g} s of processor time"
    elif reader_exit.was_stalled:
        why = f"did not return within {limits.code_wall_s:g} s"
    file = spec.file if spec is not None else None
    return fault("extraction:parser", f"{file}: parse {why} ({_short_url(request)})")


def refusal(request: ReadRequest, why: str, answer: ReadAnswer | None = None) -> Failed:
    stats = {"encoding": answer.encoding, "replacements": answer.replacements} if answer and answer.encoding else {}
    return fault(answer.refused_as if answer else "limit:parse", f"{why} ({_short_url(request)})", **stats)


def _short_url(request: ReadRequest) -> str:
    return request.url[:_MAX_URL_CHARS]
