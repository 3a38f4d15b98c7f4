"""A real node in this process, and drills for it to execute."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.event import Event, EventDraft, EventKind
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import NewRun, Run
from corral.engine.node.node import Node
from corral.runtime.new_ids import new_id
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node
from tests.services.sqlite import migrate
from tests.waiting import until


def settings_for(data_dir: Path, url: str | None = None, **changed: Any) -> Settings:
    """Settings under which nothing waits longer than a test may."""
    plain: dict[str, Any] = {
        "data_dir": data_dir,
        "database_url": url,
        "workers": 1,  # each costs half a second of a core
        "runs_per_process": 10,
        "shutdown_grace_seconds": 0.2,
        "retry_base_seconds": 0.05,
        "retry_cap_seconds": 0.2,
        # A site that fails on purpose is not to be spared for it.
        "breaker_failures": 10_000,
        "host_max_delay_seconds": 0,
    }
    if url is None:
        migrate(data_dir / "corral.db")
    return load_settings(**(plain | changed))


@asynccontextmanager
async def run_node(settings: Settings) -> AsyncIterator[App]:
    """A node whose workers are all there."""
    async with open_node(settings) as app:
        await until(lambda: node_of(app).worker_count == settings.workers)
        yield app


def node_of(app: App) -> Node:
    assert app.node is not None
    return app.node


def drill(
    do: str = "nothing", *, priority: Priority = Priority.MEDIUM, max_attempts: int = 3, **payload: Any
) -> NewRun:
    return NewRun(
        id=RunId(new_id()),
        job_id=None,
        kind="selftest",
        priority=priority,
        max_attempts=max_attempts,
        requested_strategy=Strategy.HTTP,
        resolved_strategy=Strategy.HTTP,
        payload=Payload({"do": do, **payload}),
    )


async def put(app: App, *runs: NewRun) -> list[str]:
    """Submit them in one transaction; their ids."""
    ids, _ = await app.store.runs.add([(run, [EventDraft(EventKind.CREATED)]) for run in runs])
    if app.node is not None:
        app.node.wake()
    return ids


async def wait_for_runs(app: App, ids: list[str], timeout_s: float = 20) -> list[Run]:
    """The runs, once all of them have ended."""

    async def all_ended() -> bool:
        counts = await app.store.runs.count_live()
        if any(counts.values()) and len(ids) > 50:
            return False
        return all([(await app.store.runs.get(id_)).state.is_terminal for id_ in ids])

    await until(all_ended, timeout_s)
    return [await app.store.runs.get(id_) for id_ in ids]


async def wait_for_quarantine(app: App, run_id: str, timeout_s: float = 60) -> Run:
    """The run, once it is held for the workers it killed."""

    async def is_held() -> bool:
        return (await app.store.runs.get(run_id)).hold_reason == "quarantined"

    await until(is_held, timeout_s)
    return await app.store.runs.get(run_id)


async def wait_for_start(app: App, *ids: str) -> None:
    """Wait until all of them are being executed."""

    async def all_running() -> bool:
        return all([(await app.store.runs.get(id_)).state == "running" for id_ in ids])

    await until(all_running)


async def events(app: App, run_id: str) -> list[Event]:
    return await app.store.events.of_run(run_id, 0, 1000)


async def kinds(app: App, run_id: str) -> list[str]:
    return [event.kind.value for event in await events(app, run_id)]


def states(runs: list[Run]) -> dict[str, int]:
    return dict(Counter(run.state.value for run in runs))


async def sound(app: App) -> None:
    """The database finds nothing wrong with itself."""
    assert await app.store.maintenance.audit() == []


class With:
    """A store with some groups replaced, or a group with some methods replaced."""

    def __init__(self, store: object, **methods: object) -> None:
        self._store = store
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
