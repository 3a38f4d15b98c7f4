"""Start the tasks of the queue while a node runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from corral.domain.errors import BadConfiguration, StorageError, StorageMoved
from corral.domain.ports.scrapers import ScraperSource
from corral.domain.queue.feed import FeedResult
from corral.domain.queue.rules import QueueLimits, make_rules
from corral.engine.queue.feeder import QueueFeeder

log = structlog.get_logger()

_IDLE_S = 1.0
_BUSY_S = 0.5
_SPACING_S = 0.05
# Scripts and configuration may change while the node runs.
_RELOAD_S = 10.0


class QueueStarter:
    def __init__(
        self,
        feeder: QueueFeeder,
        load: Callable[[], ScraperSource],
        wait: Callable[[float], Awaitable[None]],
        limits: QueueLimits,
    ) -> None:
        self._feeder = feeder
        self._load = load
        self._wait = wait
        self._limits = limits
        self._loaded: tuple[float, ScraperSource] | None = None
        self._problem: str | None = None

    async def run(self) -> None:
        while True:
            try:
                result = await self._start_ready()
            except StorageMoved:
                return
            except (StorageError, BadConfiguration) as error:
                self._report(error.message)
                result = None
            if result is None:
                await asyncio.sleep(_IDLE_S)
                continue
            if not result.refused:
                await self._wait(min(_BUSY_S, result.wait_s))
            await asyncio.sleep(_SPACING_S)

    async def _start_ready(self) -> FeedResult | None:
        """Start the tasks that may start; None if nothing waits or runs."""
        if not await self._feeder.has_work():
            return None
        scrapers = await self._current_scrapers()
        rules = make_rules(map(scrapers.describe, scrapers.names()), self._limits)
        result = await self._feeder.feed(scrapers, rules)
        self._problem = None
        return result

    async def _current_scrapers(self) -> ScraperSource:
        now = time.monotonic()
        if self._loaded is None or now - self._loaded[0] > _RELOAD_S:
            self._loaded = (now, await asyncio.to_thread(self._load))
        return self._loaded[1]

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            log.warning("queue_not_started", reason=problem)
        self._problem = problem
