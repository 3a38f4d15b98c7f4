"""Turn ready tasks into runs, as the limits allow."""

from collections.abc import Callable
from typing import Protocol

from corral.domain.errors import CorralError
from corral.domain.ports.scrapers import ScraperSource
from corral.domain.queue.feed import FeedResult, FeedRules, TaskScope
from corral.domain.queue.task import QueueTask
from corral.domain.runs.payload.script import ScriptPayload, payload_for
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import SCRIPT, NewRun
from corral.engine.worker.kinds.registry import find_kind

MakeRun = Callable[[QueueTask], NewRun | str]
_ATTEMPTS = 3


class FeedStore(Protocol):
    async def has_work(self, registry: str) -> bool: ...

    async def feed(
        self, registry: str, rules: FeedRules, make_run: MakeRun, scope: TaskScope | None = None
    ) -> FeedResult: ...


def plan_task(task: QueueTask, scrapers: ScraperSource) -> ScriptPayload:
    """Return the payload of a task's run; raise a CorralError that says why the task cannot be executed."""
    spec = scrapers.find(task.scraper)
    accepted = None if spec.parameters is None else [parameter.name for parameter in spec.parameters]
    return payload_for(spec, task.parameters(accepted), task.id, task.estimated_minutes, task.custom_settings)


def explain_refusal(error: CorralError) -> str:
    return f"policy:{error.code}: {error.message}"


class QueueFeeder:
    """Starts tasks. Every node may feed: the store counts and starts under one lock."""

    def __init__(self, store: FeedStore, registry: str, wake: Waker) -> None:
        self._store = store
        self._registry = registry
        self._wake = wake

    async def has_work(self) -> bool:
        return await self._store.has_work(self._registry)

    async def feed(self, scrapers: ScraperSource, rules: FeedRules, scope: TaskScope | None = None) -> FeedResult:
        """Start tasks of this scraper configuration, or only those in the scope."""

        def make_run(task: QueueTask) -> NewRun | str:
            try:
                return self._draft(task, scrapers)
            except CorralError as error:
                return explain_refusal(error)

        result = await self._store.feed(self._registry, rules, make_run, scope)
        if result.started:
            self._wake(*result.started.values())
        return result

    def _draft(self, task: QueueTask, scrapers: ScraperSource) -> NewRun:
        attempts = scrapers.find(task.scraper).retry.attempts or _ATTEMPTS
        return find_kind(SCRIPT).draft_run(plan_task(task, scrapers), priority=task.priority, max_attempts=attempts)
