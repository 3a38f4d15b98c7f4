"""Execute the tasks of one queue file to their end, and report each start and end."""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from corral.domain.queue.feed import FeedResult, TaskScope
from corral.domain.queue.statistics import EndedTask, outcome_of
from corral.domain.queue.task import QueueTask, StoredTask, TaskState
from corral.domain.runs.run import HoldReason

_CHECK_EVERY_S = 0.5
# A run that waits for a person will not end during this drain.
_WAITS_FOR_PERSON = {HoldReason.WAITING_FOR_HUMAN.value}
_LOST = "not started: another command imported the task with another scraper configuration, or removed it"


class TaskStore(Protocol):
    async def select(self, ids: Sequence[str]) -> list[StoredTask]: ...


class DrainWatcher(Protocol):
    """Receives each task as it starts and ends."""

    def on_start(self, stored: StoredTask) -> None: ...
    def on_end(self, ended: EndedTask) -> None: ...
    def tick(self, running: int) -> None: ...


class QueueDrain:
    """One drain. `feed` starts tasks; `wait` returns when something may have changed, or after the given seconds."""

    def __init__(
        self,
        store: TaskStore,
        feed: Callable[[TaskScope], Awaitable[FeedResult]],
        wait: Callable[[float], Awaitable[None]],
        watcher: DrainWatcher,
    ) -> None:
        self._store = store
        self._feed = feed
        self._wait = wait
        self._watcher = watcher
        self._open: dict[str, QueueTask] = {}
        self._active: set[str] = set()
        self.ended: list[EndedTask] = []

    async def run(self, tasks: Iterable[QueueTask]) -> None:
        """Return when every task has ended, waits for a person, or cannot be started by this drain."""
        self._open = {task.id: task for task in tasks}
        stored_tasks = await self._store.select(list(self._open))
        scope = TaskScope(self._open, min((stored.seq for stored in stored_tasks), default=0))
        for stored in stored_tasks:
            if stored.state.has_ended:
                self._end(stored, is_new=False)
        is_stuck = False
        while self._open:
            result = await self._feed(scope)
            await self._update([*result.started, *result.refused, *self._active])
            if not self._active and not result.is_waiting:
                # Another node has started the remaining tasks.
                await self._update(list(self._open))
            has_moved = bool(self._active or result.is_waiting or result.refused)
            if is_stuck and not has_moved:
                self._give_up()
            is_stuck = not has_moved
            if not self._open:
                return
            self._watcher.tick(len(self._active))
            if not result.refused:
                await self._wait(min(_CHECK_EVERY_S, result.wait_s))

    def _give_up(self) -> None:
        """Fail ready tasks that this drain cannot start: they were imported again or removed meanwhile."""
        for task in list(self._open.values()):
            self._close(EndedTask(task, "failed", reason=_LOST))

    async def update(self) -> None:
        await self._update(list(self._open))

    def skip_open(self) -> None:
        """Count the tasks that have not ended as skipped."""
        for task in self._open.values():
            self.ended.append(EndedTask(task, "skipped"))
        self._open.clear()

    async def _update(self, ids: Sequence[str]) -> None:
        for stored in await self._store.select([task_id for task_id in ids if task_id in self._open]):
            if stored.state is TaskState.STARTED and stored.run_state not in _WAITS_FOR_PERSON:
                if stored.task.id not in self._active:
                    self._active.add(stored.task.id)
                    self._watcher.on_start(stored)
            elif stored.state is not TaskState.READY:
                self._end(stored, is_new=True)

    def _end(self, stored: StoredTask, *, is_new: bool) -> None:
        task = self._open[stored.task.id]
        is_held = stored.state is TaskState.STARTED
        outcome = "failed" if is_held else outcome_of(stored)
        reason = f"waits for a person; see `corral run show {stored.run_id}`" if is_held else stored.reason
        self._close(EndedTask(task, outcome, _duration_s(stored), reason, is_new))

    def _close(self, ended: EndedTask) -> None:
        self._open.pop(ended.task.id)
        self._active.discard(ended.task.id)
        self.ended.append(ended)
        self._watcher.on_end(ended)


def _duration_s(stored: StoredTask) -> float:
    if stored.started_at is None:
        return 0.0
    end = time.time() if stored.ended_at is None else stored.ended_at.timestamp()
    return max(0.0, end - stored.started_at.timestamp())
