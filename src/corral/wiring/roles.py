"""The roles of a process: API, node, single run, client. Each opens the store and closes everything in order."""

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from corral import __version__
from corral.domain.hosts.limiter import UNLIMITED
from corral.domain.ids import Owner
from corral.domain.runs.event import EventDraft
from corral.domain.runs.node import NodeInfo, NodeRole
from corral.domain.runs.queues import EVERY_QUEUE, Queue
from corral.domain.runs.run import NewRun
from corral.engine.hosts.permits import Permits
from corral.engine.hosts.site_paces import SitePaces
from corral.engine.hosts.standalone_limiter import StandaloneLimiter
from corral.engine.node.heartbeat_record import NodeHeartbeat
from corral.engine.node.node import Node
from corral.engine.node.sources import (
    ChosenRunsSource,
    MessageSource,
    NewRunSource,
    PollingSource,
    RunSetSource,
    RunSource,
    SingleRunSource,
    WorkflowSource,
)
from corral.log import configure_logging, hide
from corral.runtime.loop_monitor import monitor_loop
from corral.runtime.node_locks import Presence
from corral.runtime.private_files import make_data_folder
from corral.settings import Settings, Transport
from corral.store.open import open_store
from corral.store.store import Store
from corral.wiring.options import host_rules
from corral.wiring.probe import prober
from corral.wiring.sites.books import SiteBooks

if TYPE_CHECKING:
    from corral.transport.broker import Broker
    from corral.transport.celery import CeleryHints


from corral.wiring.app import App, WorkPlan, assemble
from corral.wiring.sites.parts import make_site_parts
from corral.wiring.vault import check_vault_keys


@dataclass(frozen=True, slots=True)
class _NodePlan:
    """The runs that the node of this process executes, and how it presents itself to the others."""

    make_source: Callable[[Store], RunSource]
    queues: Sequence[Queue]
    role: NodeRole
    transport: Transport = Transport.EMBEDDED
    processes: int | None = None


@asynccontextmanager
async def open_client(settings: Settings) -> AsyncIterator[App]:
    """Open the installation for a command or program that submits and reads, without a node or host limits."""
    async with _open(settings, None, is_api=False) as app:
        yield app


@asynccontextmanager
async def open_api(settings: Settings) -> AsyncIterator[App]:
    """Open the installation for a server without a node. It has host limits for previews and checks."""
    async with _open(settings, None, is_api=True) as app:
        yield app


@asynccontextmanager
async def open_node(
    settings: Settings, queues: Sequence[Queue] = EVERY_QUEUE, role: NodeRole = NodeRole.EMBEDDED
) -> AsyncIterator[App]:
    """Open a node that claims runs from the database, with or without the API."""
    plan = _NodePlan(lambda store: PollingSource(store, queues), queues, role)
    async with _open(settings, plan, is_api=False) as app:
        yield app


@asynccontextmanager
async def open_celery_node(settings: Settings, queues: Sequence[Queue]) -> AsyncIterator[App]:
    """Open a node that Celery messages notify of runs; it reports to the broker which runs it executes."""
    plan = _NodePlan(lambda store: MessageSource(store, queues), queues, NodeRole.WORKER, Transport.CELERY)
    async with _open(settings, plan, is_api=False) as app:
        assert app.message_source is not None
        yield app


@asynccontextmanager
async def open_single_run(settings: Settings, run_id: str, *, processes: int = 1) -> AsyncIterator[App]:
    """Open a node for a command that executes one run itself and claims no other."""
    plan = _NodePlan(lambda store: SingleRunSource(store, run_id), (), NodeRole.SINGLE, processes=processes)
    async with _open(settings, plan, is_api=False) as app:
        yield app


@asynccontextmanager
async def open_new_run(settings: Settings, new: NewRun, drafts: Sequence[EventDraft]) -> AsyncIterator[App]:
    """Open a node for one run that is stored when it starts, so that no other node can execute it."""
    plan = _NodePlan(lambda store: NewRunSource(store, new, drafts), (), NodeRole.SINGLE, processes=1)
    async with _open(settings, plan, is_api=False) as app:
        yield app


@asynccontextmanager
async def open_workflow_node(settings: Settings, workflow_id: str) -> AsyncIterator[App]:
    """Open a node for the steps of one workflow, and for the tasks of the queue if a step waits for them."""
    sources: list[WorkflowSource] = []

    def make_source(store: Store) -> WorkflowSource:
        sources.append(WorkflowSource(store, workflow_id))
        return sources[0]

    plan = _NodePlan(make_source, (), NodeRole.SINGLE, processes=settings.workers)
    async with _open(settings, plan, is_api=False) as app:
        sources[0].on_drain = app.feed_queue
        yield app


@asynccontextmanager
async def open_campaign_node(settings: Settings) -> AsyncIterator[tuple[App, ChosenRunsSource]]:
    """Open a node for a program that executes the sites of its own campaigns, and no other run."""
    sources: list[ChosenRunsSource] = []

    def make_source(store: Store) -> ChosenRunsSource:
        sources.append(ChosenRunsSource(store))
        return sources[0]

    plan = _NodePlan(make_source, (), NodeRole.SINGLE, processes=settings.workers)
    async with _open(settings, plan, is_api=False) as app:
        app.sites.keeper.take_alerts = sources[0].choose
        yield app, sources[0]


@asynccontextmanager
async def open_queue_node(settings: Settings) -> AsyncIterator[App]:
    """Open a node for a command that executes the scripts of the queue, and no other run."""
    queues = (Queue.SCRIPT,)
    plan = _NodePlan(lambda store: PollingSource(store, queues), queues, NodeRole.SINGLE, processes=1)
    async with _open(settings, plan, is_api=False) as app:
        yield app


@asynccontextmanager
async def open_run_set(settings: Settings, ids: Sequence[str] | None = None) -> AsyncIterator[App]:
    """Open a node for these runs, or, without ids, for those of the refresh of the proxy pool."""

    def make_source(store: Store) -> RunSource:
        async def list_ids() -> Sequence[str]:
            return await store.proxies.open_runs() if ids is None else ids

        return RunSetSource(store, list_ids)

    plan = _NodePlan(make_source, (), NodeRole.SINGLE, processes=settings.workers)
    async with _open(settings, plan, is_api=False) as app:
        yield app


@asynccontextmanager
async def _open(settings: Settings, plan: _NodePlan | None, *, is_api: bool) -> AsyncIterator[App]:
    _prepare_process(settings)
    store = open_store(settings.store_url)
    permits = Permits()
    hints, broker = _transport(settings)
    books = SiteBooks(settings.site_config, store)
    standalone_limiter = StandaloneLimiter(store.hosts, host_rules(settings), SitePaces(books.read)) if is_api else None
    source = None if plan is None else plan.make_source(store)
    try:
        if plan is not None or is_api:
            books.check()
        keys = await check_vault_keys(settings, store)
        host_access = permits if plan is not None or is_api else UNLIMITED
        async with monitor_loop("client" if plan is None else "node"), prober(settings, host_access) as probe:
            work = None if plan is None or source is None else WorkPlan(source, plan.processes, SitePaces(books.read))
            app = assemble(settings, store, probe, keys, work=work, hints=hints, standalone_limiter=standalone_limiter)
            app.sites = make_site_parts(app, books)
            app.permits, app.broker = permits, broker
            if plan is not None:
                _register(app, plan, source)
            async with _present(settings, store, app.node):
                await app.start_work()
                try:
                    yield app
                finally:
                    await app.stop_work()
    finally:
        if hints is not None:
            await asyncio.to_thread(hints.close)
        await store.close()


def _register(app: App, plan: _NodePlan, source: RunSource | None) -> None:
    assert app.node is not None
    if isinstance(source, MessageSource):
        source.wake = app.node.wake
        app.message_source = source
    info = make_node_info(app.settings, app.node.owner, plan.queues, plan.transport, plan.role)
    app.heartbeat = NodeHeartbeat(app.store.nodes, info, app.node)


def _prepare_process(settings: Settings) -> None:
    hide(settings.secrets())
    if not structlog.is_configured():  # by default, warnings go to standard output
        configure_logging("warning")
    make_data_folder(settings.data_dir)


def _transport(settings: Settings) -> "tuple[CeleryHints | None, Broker | None]":
    if settings.transport is not Transport.CELERY:
        return None, None
    from corral.transport.broker import Broker  # noqa: PLC0415 - only where it is used
    from corral.transport.celery import STEPS, CeleryHints, make_celery  # noqa: PLC0415
    from corral.wiring.redis import broker_url  # noqa: PLC0415

    url = broker_url(settings)
    return CeleryHints(make_celery(url)), Broker(url, sorted(STEPS.values()))


@asynccontextmanager
async def _present(settings: Settings, store: Store, node: Node | None) -> AsyncIterator[None]:
    """Register the node in the data folder, and requeue at once the runs of nodes that died on this machine."""
    presence = Presence(settings.data_dir / "nodes")
    ended_owners = presence.find_gone()
    for owner in ended_owners:
        await store.runs.expire(owner)
    if ended_owners:
        await store.runs.reap()
    for owner in ended_owners:
        await store.nodes.remove(owner)
        presence.forget(owner)
    if node is None:
        yield
        return
    presence.enter(node.owner)
    try:
        yield
    finally:
        presence.leave(node.owner)


def make_node_info(
    settings: Settings, owner: Owner, queues: Sequence[Queue], transport: Transport, role: NodeRole
) -> NodeInfo:
    """Return the row of a node. A node that executes a single run serves no queue."""
    names = tuple(queue.value for queue in queues)
    concurrency = settings.workers * settings.runs_per_process if queues else 1
    host, pid = platform.node() or "unknown", os.getpid()
    return NodeInfo(owner, host, pid, role, transport.value, names, concurrency, __version__)
