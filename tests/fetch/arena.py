"""Both executors as a worker has them, before one hostile server."""

import time
from collections.abc import AsyncIterator, Container, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from corral.domain.jobs.job import Strategy
from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.ports.execution import Executor, RunKind, Task
from corral.domain.runs.outcome import Deferred, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.engine.worker.attempt import perform
from corral.engine.worker.kinds.page import PageKind
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.limits import FetchLimits
from corral.fetch.parsing.messages import ReaderLimits
from corral.fetch.parsing.pool import ParsePool
from corral.fetch.robots import Robots
from tests import forked
from tests.fetch.browsing import needs_chromium
from tests.fetch.hostile import Hostile, hostile_server

EXECUTORS = ("http", "browser")
# Short enough for a test, in the same order as the real ones.
LIMITS = FetchLimits(connect_s=0.7, first_byte_s=1.2, gap_s=1.2)
AGENT = "corral-test"


@dataclass
class Arena:
    den: Hostile
    kinds: dict[str, RunKind]
    pool: ParsePool
    browser: BrowserExecutor
    egress: Egress
    took_s: float = field(default=0.0)

    async def run(
        self, executor: str, url: str, *fields: str | dict[str, Any], timeout_s: float = 10, **more: Any
    ) -> Outcome:
        """One attempt as a worker makes it; how long it took is in `took_s`."""
        asked = [{"name": each} if isinstance(each, str) else each for each in fields]
        payload = {"url": url, "fields": asked, "respect_robots": False, "trusted_hosts": [], **more}
        started = time.monotonic()
        outcome = await perform(Task("run", 1, "page", executor, 1, Payload(payload), timeout_s), self.kinds)
        self.took_s = time.monotonic() - started
        return outcome


@asynccontextmanager
async def arena_with(
    *allowed: str, limits: FetchLimits = LIMITS, reader_limits: ReaderLimits | None = None
) -> AsyncIterator[Arena]:
    """May reach the hostile server and what is `allowed`, and nothing else that is private."""
    needs_chromium()
    # Its parsers are forks: for what a page does to them it makes no difference.
    with forked.fork_processes():
        async with hostile_server() as den:
            entries = (f"127.0.0.1/32:{den.port}", *allowed)
            egress = Egress(EgressPolicy(tuple(map(AllowEntry.parse, entries))), limits, AGENT)
            robots = Robots(egress, AGENT)
            pool = ParsePool(limits=reader_limits)
            browser = BrowserExecutor(egress, robots, AGENT, reader=pool)
            executors: dict[Strategy, Executor] = {
                Strategy.HTTP: HttpExecutor(egress, robots, pool),
                Strategy.BROWSER: browser,
            }
            try:
                yield Arena(den, {"page": PageKind(executors)}, pool, browser, egress)
            finally:
                await browser.close()
                await pool.close()
                await egress.close()


def with_executors(cases: Iterable[tuple[Any, ...]], late: Container[str]) -> list[Any]:
    """Each case with each executor; those that are named last run in a browser in the long version only."""
    return [
        pytest.param(
            *case,
            executor,
            id=f"{case[0][:40]}-{executor}",
            marks=pytest.mark.long if executor == "browser" and case[0] in late else (),
        )
        for case in cases
        for executor in EXECUTORS
    ]


def name_of(outcome: Outcome) -> str:
    if isinstance(outcome, Deferred):
        return f"deferred:{outcome.reason}"
    return "fetched" if isinstance(outcome, Fetched) else f"{outcome.code}:{outcome.detail}"


def forget_peak() -> int:
    """Memory of this process now, in bytes; the peak is counted from here."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def peak_bytes() -> int:
    return _memory("VmHWM")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
