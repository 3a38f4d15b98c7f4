"""The queue of scraper tasks: its scrapers, and a process that executes a queue file to its end."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corral.domain.errors import BadConfiguration, CorralError
from corral.domain.jobs.job import Priority
from corral.domain.queue.feed import FeedResult, TaskScope
from corral.domain.queue.rules import make_rules
from corral.domain.queue.statistics import summarize
from corral.domain.queue.task import ImportReport, QueueFile, QueueTask, parse_queue_file
from corral.engine.queue.drain import DrainWatcher, QueueDrain
from corral.engine.queue.feeder import QueueFeeder, explain_refusal, plan_task
from corral.scripts.registry import ScraperRegistry
from corral.settings import Settings
from corral.wiring.app import App
from corral.wiring.roles import open_queue_node
from corral.wiring.scrapers import queue_limits, registry_key

TASK_QUEUE = Path("inventory/gaps.json")
_MAX_FILE_BYTES = 1024**3
_REAP_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class QueueOrder:
    """The options of `corral queue run`."""

    task_queue: Path = TASK_QUEUE
    scraper_config: Path | None = None  # None: that of the settings
    priority: Priority | None = None
    max_concurrent: int = 5
    retry_dead: bool = False

    def select_tasks(self, file: QueueFile) -> list[QueueTask]:
        return [task for task in file.tasks if self.priority is None or task.priority is self.priority]


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task with the command that it would execute, or the reason why it cannot be executed."""

    task: QueueTask
    command: tuple[str, ...] = ()
    timeout_s: float | None = None
    problem: str | None = None


def read_queue_file(path: Path) -> QueueFile:
    """Read a queue file; raise BadConfiguration if the file as a whole is invalid."""
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise BadConfiguration([f"{path} is larger than {_MAX_FILE_BYTES:,} bytes"])
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise BadConfiguration([f"there is no queue file {path}; name one with --task-queue"]) from None
    except OSError as error:
        raise BadConfiguration([f"{path} cannot be read: {error.strerror}"]) from None
    except (ValueError, RecursionError) as error:
        raise BadConfiguration([f"{path} is no JSON: {error}"]) from None
    return parse_queue_file(document, str(path))


def plan_tasks(tasks: list[QueueTask], scrapers: ScraperRegistry) -> list[PlannedTask]:
    """Return the tasks in the order in which they start, with their commands."""
    return [_plan(task, scrapers) for task in sorted(tasks, key=lambda task: task.priority)]


def _plan(task: QueueTask, scrapers: ScraperRegistry) -> PlannedTask:
    try:
        payload = plan_task(task, scrapers)
    except CorralError as error:
        return PlannedTask(task, problem=explain_refusal(error))
    return PlannedTask(task, payload.argv, payload.timeout_s)


class QueueSession:
    """An open installation that executes one queue file."""

    def __init__(self, app: App, order: QueueOrder, file: QueueFile, scrapers: ScraperRegistry) -> None:
        self._app = app
        self._order = order
        self._file = file
        self._tasks = order.select_tasks(file)
        self._scrapers = scrapers
        self._key = registry_key(order.scraper_config or app.settings.scraper_config)
        self._feeder = QueueFeeder(app.store.queue, self._key, app.wake)
        self._rules = make_rules(
            map(scrapers.describe, scrapers.names()), queue_limits(app.settings, order.max_concurrent)
        )
        self._reaped = 0.0
        self._drain: QueueDrain | None = None
        self._began = time.monotonic()

    async def import_tasks(self) -> ImportReport:
        report = await self._app.store.queue.add(self._file, self._key)
        if self._order.retry_dead:
            await self._app.store.queue.requeue_dead([task.id for task in self._tasks])
        return report

    async def drain(self, watcher: DrainWatcher) -> None:
        """Execute the tasks of the file; return when each has ended."""
        self._drain = QueueDrain(self._app.store.queue, self._feed, self._app.pulse.wait, watcher)
        await self._drain.run(self._tasks)

    async def collect_ends(self) -> None:
        """Record the tasks that ended while the node stopped, after an interruption, and skip the others."""
        await self._app.store.queue.note_ends()
        if self._drain is not None:
            await self._drain.update()
            self._drain.skip_open()

    @property
    def has_completed(self) -> bool:
        """Return whether a task completed in this drain, not before it."""
        return self._drain is not None and any(
            task.is_new and task.outcome == "completed" for task in self._drain.ended
        )

    def summarize(self) -> dict[str, Any]:
        ended = [] if self._drain is None else self._drain.ended
        return summarize(ended, time.monotonic() - self._began)

    async def _feed(self, scope: TaskScope) -> FeedResult:
        if time.monotonic() - self._reaped > _REAP_EVERY_S:
            self._reaped = time.monotonic()
            await self._app.store.runs.reap()
        return await self._feeder.feed(self._scrapers, self._rules, scope)


@asynccontextmanager
async def open_queue(
    settings: Settings, order: QueueOrder, file: QueueFile, scrapers: ScraperRegistry
) -> AsyncIterator[tuple[App, QueueSession]]:
    """Open the installation with a node that executes scripts, and nothing else."""
    limited = settings.model_copy(update={"script_concurrency": order.max_concurrent})
    async with open_queue_node(limited) as app:
        yield app, QueueSession(app, order, file, scrapers)
