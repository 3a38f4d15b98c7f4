"""Progress of a crawl on standard error: one live line on a terminal, a line every few seconds in a pipe."""

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Protocol

from corral.cli.render import console
from corral.domain.crawl.crawl import CrawlPlan, eta_range
from corral.store.queries.crawl.crawls import CrawlNow

_LINE_EVERY_S = 5.0
_RATE_OVER_S = 10.0


# A host, the reason to wait for it, and the seconds.
Waits = tuple[str, str, float] | None
_REASONS = {
    "waiting:breaker": "it failed several times in a row",
    "waiting:pace": "its pace",
    "waiting:retry_after": "its Retry-After",
    "waiting:busy": "all its slots are in use",
    "waiting:redirect": "the pace of a host that it redirects to",
}


class CrawlProgress(Protocol):
    def tick(self, now: CrawlNow, moment: float, waits: Waits = None) -> None: ...


@contextmanager
def show_progress(plan: CrawlPlan) -> Iterator[CrawlProgress]:
    rate = _Rate(plan)
    if not sys.stderr.isatty():
        lines = _Lines(rate)
        yield lines
        lines.end()
        return
    with console(stderr=True).status("starting", spinner="dots") as status:
        yield _LiveLine(status, rate)


class _Rate:
    def __init__(self, plan: CrawlPlan) -> None:
        self._plan = plan
        self._samples: deque[tuple[float, int, int]] = deque()

    def line(self, now: CrawlNow, moment: float, waits: Waits) -> str:
        counts = now.counts
        self._samples.append((moment, counts.fetched, counts.discovered - counts.skipped))
        while moment - self._samples[0][0] > _RATE_OVER_S:
            self._samples.popleft()
        then, fetched, discovered = self._samples[0]
        took_s = moment - then
        rate = (counts.fetched - fetched) / took_s if took_s > 0 else 0.0
        grown = counts.discovered - counts.skipped - discovered
        new_per_page = grown / (counts.fetched - fetched) if counts.fetched > fetched else 0.0
        parts = [f"{counts.done:,} pages", f"{rate:,.0f}/s", f"{counts.waiting:,} to go"]
        if counts.failed:
            parts.append(f"{counts.failed:,} failed")
        if counts.missing:
            parts.append(f"{counts.missing:,} missing")
        if counts.deferred:
            parts.append(f"{counts.deferred:,} deferred")
        if counts.skipped:
            parts.append(f"{counts.skipped:,} skipped")
        eta = eta_range(counts, self._plan, pages_per_s=rate, new_per_page=new_per_page)
        if eta is not None and counts.waiting:
            parts.append(f"{_format_duration(eta[0])} to {_format_duration(eta[1])} left")
        if waits is not None:
            parts.append(_describe_wait(*waits))
        return "  ·  ".join(parts)


def _describe_wait(host: str, reason: str, seconds: float) -> str:
    until = (datetime.now().astimezone() + timedelta(seconds=seconds)).strftime("%H:%M:%S")
    return f"waiting for {host} until {until} ({_REASONS.get(reason, f'another attempt after {reason}')})"


def _format_duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class _Lines:
    def __init__(self, rate: _Rate) -> None:
        self._rate = rate
        self._next = 0.0
        self._line = ""

    def tick(self, now: CrawlNow, moment: float, waits: Waits = None) -> None:
        self._line = self._rate.line(now, moment, waits)
        if moment >= self._next:
            self._next = moment + _LINE_EVERY_S
            self.end()

    def end(self) -> None:
        """Print the final state if it has not been printed yet."""
        if self._line:
            print(self._line, file=sys.stderr, flush=True)
            self._line = ""


class _LiveLine:
    def __init__(self, status: Any, rate: _Rate) -> None:
        self._status = status
        self._rate = rate

    def tick(self, now: CrawlNow, moment: float, waits: Waits = None) -> None:
        self._status.update(self._rate.line(now, moment, waits))
