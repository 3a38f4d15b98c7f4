"""The tasks of a node. Tasks that write are tracked separately: a stop waits for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

log = structlog.get_logger()
T = TypeVar("T")


class NodeTasks:
    def __init__(self) -> None:
        self.all: set[asyncio.Task[Any]] = set()
        self.writes: set[asyncio.Task[Any]] = set()  # outcomes, losses and releases on their way to the store

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        self.all.add(task := asyncio.get_running_loop().create_task(work))
        task.add_done_callback(self._on_done)
        return task

    def write(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self.spawn(work)
        self.writes.add(task)
        task.add_done_callback(self.writes.discard)

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self.all.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("node_task_failed", exc_info=error)
