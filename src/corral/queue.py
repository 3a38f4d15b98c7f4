"""`from corral.queue import ScraperOrchestrator`: execute a queue of scraper tasks from a script."""

import asyncio
import shlex
import signal
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import structlog

from corral.domain.errors import BadInput
from corral.domain.jobs.job import Priority
from corral.domain.queue.statistics import EndedTask, summarize
from corral.domain.queue.task import StoredTask, parse_priority
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.queue import QueueOrder, open_queue, plan_tasks, read_queue_file
from corral.wiring.scrapers import load_scrapers

T = TypeVar("T")
_STOPS = (signal.SIGINT, signal.SIGTERM)


class ScraperOrchestrator:
    """Executes the tasks of a queue file by priority, at most `max_concurrent` at once.

    State is stored in the data folder of the settings: a task that completed is not executed again, and an interrupted
    queue continues with the next call.
    """

    def __init__(
        self,
        task_queue_file: str | Path = "inventory/gaps.json",
        scraper_config_file: str | Path = "config/scraper_config.yaml",
        max_concurrent: int = 5,
        dry_run: bool = False,
        *,
        settings: Settings | None = None,
    ) -> None:
        if max_concurrent < 1:
            raise BadInput("max_concurrent must be at least 1", field="max_concurrent")
        self.settings = settings or load_settings()
        self.task_queue_file = Path(task_queue_file)
        self.scraper_config_file = Path(scraper_config_file)
        self.max_concurrent = max_concurrent
        self.dry_run = dry_run
        self.stats: dict[str, Any] = {}

    def execute_all_tasks(self, priority_filter: str | Priority | None = None) -> dict[str, Any]:
        """Execute the tasks, of one priority if a filter is given, and return the statistics.

        After SIGINT or SIGTERM running tasks finish and no more start; tasks that did not run count as skipped.
        """
        order = QueueOrder(
            self.task_queue_file, self.scraper_config_file, _priority_of(priority_filter), self.max_concurrent
        )
        if self.dry_run:
            self.stats = self._plan(order)
        else:
            if not structlog.is_configured():
                configure_logging("warning")
            self.stats = _wait_for(self._execute(order))
        return self.stats

    def _plan(self, order: QueueOrder) -> dict[str, Any]:
        scrapers = load_scrapers(self.settings, order.scraper_config)
        tasks = order.select_tasks(read_queue_file(order.task_queue))
        planned = plan_tasks(tasks, scrapers)
        commands = {each.task.id: shlex.join(each.command) for each in planned if each.problem is None}
        skipped = summarize([EndedTask(task, "skipped", is_new=False) for task in tasks], 0.0)
        return {**skipped, "already_ended": 0, "dry_run": True, "commands": commands}

    async def _execute(self, order: QueueOrder) -> dict[str, Any]:
        scrapers = load_scrapers(self.settings, order.scraper_config)
        file = read_queue_file(order.task_queue)
        async with open_queue(self.settings, order, file, scrapers) as (app, session):
            report = await session.import_tasks()
            work = asyncio.ensure_future(session.drain(_Silent()))
            with _cancel_on_signals(work):
                try:
                    await work
                except asyncio.CancelledError:
                    await app.stop_work()
                    await session.collect_ends()
            return {**session.summarize(), "import": report.document(), "interrupted": work.cancelled()}


class _Silent:
    def on_start(self, stored: StoredTask) -> None: ...
    def on_end(self, ended: EndedTask) -> None: ...
    def tick(self, running: int) -> None: ...


def _priority_of(value: str | Priority | None) -> Priority | None:
    if value is None or isinstance(value, Priority):
        return value
    try:
        return parse_priority(value)
    except ValueError as error:
        raise BadInput(str(error), field="priority_filter") from None


@contextmanager
def _cancel_on_signals(work: asyncio.Future[None]) -> Iterator[None]:
    """Cancel the work on a stop signal. Only the main thread can install signal handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    for number in _STOPS:
        loop.add_signal_handler(number, work.cancel)
    try:
        yield
    finally:
        for number in _STOPS:
            loop.remove_signal_handler(number)


def _wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine, in a thread if the caller has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
