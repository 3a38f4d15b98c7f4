"""The parts of a process, and the function that assembles them."""

import asyncio
import contextlib
import functools
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from corral.domain.errors import StorageError
from corral.domain.net.address import EgressPolicy
from corral.domain.net.proxy import UsualPolicy
from corral.domain.ports.execution import Prober
from corral.domain.runs.node import BrokerNow
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.domain.runs.queues import Waiting, Waker, hint_of
from corral.domain.secret import Secret
from corral.engine.background.artifact_cleanup import BuildRetention, Tidying
from corral.engine.background.recipe_recorder import RecipeRecorder
from corral.engine.background.schedule import Scheduler
from corral.engine.background.site_memory_writer import SiteMemoryWriter
from corral.engine.background.sweep import Sweeper
from corral.engine.hosts.limiter import InProcessHolder
from corral.engine.hosts.permits import Permits
from corral.engine.hosts.site_paces import SitePaces
from corral.engine.hosts.standalone_limiter import StandaloneLimiter
from corral.engine.loop.runner import LoopRunner
from corral.engine.node.assign import WorkerLimits
from corral.engine.node.change_signal import ChangeSignal
from corral.engine.node.heartbeat_record import NodeHeartbeat
from corral.engine.node.node import Node
from corral.engine.node.options import NodeOptions
from corral.engine.node.sources import MessageSource, RunSource
from corral.engine.oneshot import OneShotWorkers
from corral.engine.proxies.pool import refuse_proxies
from corral.engine.queue.background import QueueStarter
from corral.engine.queue.feeder import QueueFeeder
from corral.engine.refresh.calls import ProxyOptions
from corral.engine.refresh.keeper import PoolKeeper, no_mirror
from corral.engine.refresh.usecases import ProxyPools
from corral.engine.usecases.crawls import Crawls
from corral.engine.usecases.field_maps import FieldMaps
from corral.engine.usecases.jobs import Jobs
from corral.engine.usecases.preview import Previews
from corral.engine.usecases.reconciliations import Reconciliations
from corral.engine.usecases.sessions import Sessions
from corral.engine.usecases.submit import Submitter
from corral.engine.usecases.workflows import Workflows
from corral.files.artifacts import ArtifactFolder
from corral.files.build_folders import BuildFolders
from corral.files.saved_files import FileFolder
from corral.secrets.vault import Keyring, KeySource, Vault
from corral.settings import Settings
from corral.store.store import Store
from corral.wiring.options import (
    available_strategies,
    datasets_dir,
    node_options,
    prices_of,
    retention,
    retry_policy,
    worker_config,
)
from corral.wiring.proxies.config import load_proxy_config, refresh_mirror, usual_policy
from corral.wiring.proxies.live_file import live_file_writer
from corral.wiring.scrapers import load_scrapers, queue_limits, registry_key
from corral.wiring.vault import vault_of
from corral.wiring.workflows import prepare_workflow

if TYPE_CHECKING:
    from corral.transport.broker import Broker
    from corral.transport.celery import CeleryHints
    from corral.wiring.sites.parts import SiteParts


_FOLLOW_S = 2.0  # how soon a change of the defaults applies


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """The source from which a node takes its runs."""

    source: RunSource
    processes: int | None = None  # for a single run; None for a node that takes any run
    site_paces: SitePaces = field(default_factory=SitePaces)


@dataclass(slots=True)
class App:
    """The parts of one process. `node` is None if this process executes no runs."""

    settings: Settings
    store: Store
    jobs: Jobs
    submitter: Submitter
    sessions: Sessions
    pulse: ChangeSignal
    artifacts: ArtifactFolder
    tidying: Tidying
    node: Node | None
    sweeper: Sweeper | None  # None if the node executes only the runs of a command
    learning: SiteMemoryWriter
    previews: Previews
    field_maps: FieldMaps
    crawls: Crawls
    reconciliations: Reconciliations
    workflows: Workflows
    proxies: ProxyPools
    one_shot_workers: OneShotWorkers
    wake: Waker  # notifies nodes of new runs
    queue_starter: QueueStarter | None = None  # set if there is a node
    loop: LoopRunner | None = None  # set if the node executes the runs of all users
    pool_keeper: PoolKeeper | None = None  # likewise
    standalone_limiter: StandaloneLimiter | None = None  # of an API process without a node
    message_source: MessageSource | None = None  # set if messages name the due runs
    hints: "CeleryHints | None" = None  # to other processes; None if one process does everything
    broker: "Broker | None" = None
    permits: Permits = field(default_factory=Permits)  # for pages that this process itself fetches
    heartbeat: NodeHeartbeat | None = None
    limits: WorkerLimits = field(default_factory=lambda: WorkerLimits(0, 0))  # of the node
    draining: bool = False  # set first when stopping: the process accepts nothing new
    timers: list[asyncio.Task[None]] = field(default_factory=list)
    sites: "SiteParts" = field(init=False)

    @property
    def broker_now(self) -> BrokerNow | None:
        return None if self.broker is None else BrokerNow(self.broker.depths, self.broker.problem)

    async def start_work(self) -> None:
        if self.broker is not None:
            self.timers.append(asyncio.create_task(self.broker.run(), name="broker"))
        if self.standalone_limiter is not None:
            InProcessHolder(self.permits).enter(self.standalone_limiter.limiter)
            await self.standalone_limiter.start()
            self.timers.append(asyncio.create_task(self.permits.run(), name="permits"))
        if self.node is not None:
            InProcessHolder(self.permits).enter(self.node.limiter)
            await self.node.start()
            if self.heartbeat is not None:
                self.heartbeat.start()
            self.timers.append(asyncio.create_task(self.permits.run(), name="permits"))
            self.timers.append(asyncio.create_task(self.learning.run(), name="learning"))
            self.timers.append(asyncio.create_task(self._follow_defaults(), name="defaults"))
            self.timers.append(asyncio.create_task(self.sites.keeper.run(), name="campaigns"))
            if self.sweeper is not None and self.settings.queue_feed:
                self.feed_queue()
            if self.loop is not None and self.settings.queue_feed:
                self.timers.append(asyncio.create_task(self.loop.run(), name="loop"))
            if self.pool_keeper is not None:
                self.timers.append(asyncio.create_task(self.pool_keeper.run(), name="proxies"))
            if self.sweeper is not None:
                self.timers.append(asyncio.create_task(self.sweeper.run(), name="sweep"))
            else:
                self.timers.append(asyncio.create_task(self.tidying.tidy(), name="tidy"))

    def feed_queue(self) -> None:
        """Start tasks of the queue until this process stops."""
        if self.queue_starter is not None:
            self.timers.append(asyncio.create_task(self.queue_starter.run(), name="queue"))

    async def _follow_defaults(self) -> None:
        """Apply defaults that were changed over HTTP on every node, including those without an API."""
        while True:
            with contextlib.suppress(StorageError):
                self.limits.total = (await self.store.jobs.defaults()).max_concurrent_runs
            await asyncio.sleep(_FOLLOW_S)

    async def stop_work(self) -> None:
        """Stop timers and claims; active runs finish or return to the queue. A second call does nothing."""
        node, self.node = self.node, None
        # Start this first, so that the node claims nothing while the other parts stop.
        stopping = None if node is None else asyncio.create_task(node.stop(), name="stop node")
        heartbeat, self.heartbeat = self.heartbeat, None
        if heartbeat is not None:
            heartbeat.mark_stopping()
        timers, self.timers = self.timers, []
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)
        await self.one_shot_workers.close()
        if stopping is not None:
            await stopping
            await self.learning.flush()
        standalone_limiter, self.standalone_limiter = self.standalone_limiter, None
        if standalone_limiter is not None:
            await standalone_limiter.stop()
        if heartbeat is not None:
            await heartbeat.leave()


@dataclass(frozen=True, slots=True)
class _RunNotifier:
    """Notifies the node of this process, or other processes, of runs that wait or have to stop."""

    pulse: ChangeSignal
    node: Node | None
    hints: "CeleryHints | None"

    def wake(self, *waiting: Waiting) -> None:
        self.pulse.beat()
        if self.hints is not None and waiting:
            self.hints.send([hint_of(run) for run in waiting])
        elif self.node is not None:
            self.node.wake()

    def abort(self, run_id: str) -> None:
        self.pulse.beat()
        if self.node is not None:
            self.node.abort(run_id)


def assemble(
    settings: Settings,
    store: Store,
    probe: Prober,
    keys: Keyring,
    *,
    work: WorkPlan | None,
    hints: "CeleryHints | None",
    standalone_limiter: StandaloneLimiter | None = None,
) -> App:
    pulse, learning = ChangeSignal(), SiteMemoryWriter(store)
    egress, vault = EgressPolicy(settings.egress_allow), vault_of(settings)
    processes = None if work is None else work.processes
    proxy_options = ProxyOptions(functools.partial(load_proxy_config, settings), functools.partial(_seal, vault))
    options = node_options(settings, keys, KeySource(vault.keys, keys), processes=processes, proxies=proxy_options)
    node = None if work is None else _make_node(settings, store, options, pulse, learning, work=work)
    notifier, policy_of = _RunNotifier(pulse, node, hints), usual_policy(settings)
    submitter = _make_submitter(settings, store, probe, notifier, policy_of)
    folder = ArtifactFolder(settings.artifacts_dir)
    builds = BuildRetention(BuildFolders(datasets_dir(settings)), settings.dataset_retention_days)
    tidying = Tidying(store, folder, settings.artifacts_max_bytes, FileFolder(settings.files_dir), builds)
    sweeper = None if processes else _make_sweeper(settings, store, submitter, notifier, tidying)
    jobs = Jobs(store, probe, egress, proxy_options.seal, policy_of)
    offers, one_shot = available_strategies(settings), _make_one_shot_workers(settings, vault, node, standalone_limiter)
    pools = ProxyPools(store, proxy_options.seal, proxy_options.read_config, notifier.wake)
    return App(
        settings=settings,
        store=store,
        jobs=jobs,
        submitter=submitter,
        sessions=Sessions(store, vault, one_shot.perform, offers, wake=notifier.wake),
        pulse=pulse,
        artifacts=folder,
        tidying=tidying,
        node=node,
        sweeper=sweeper,
        learning=learning,
        previews=Previews(store, one_shot.perform, egress, offers, options.timeouts_s),
        field_maps=FieldMaps(store.jobs, jobs),
        crawls=Crawls(store, egress, notifier.wake, policy_of),
        reconciliations=Reconciliations(store, notifier.wake),
        workflows=_make_workflows(settings, store, egress, notifier),
        proxies=pools,
        one_shot_workers=one_shot,
        wake=notifier.wake,
        **_make_background(settings, store, notifier, node, pools, is_full=sweeper is not None),
        standalone_limiter=standalone_limiter,
        hints=hints,
        limits=options.limits,
    )


def _make_one_shot_workers(
    settings: Settings, vault: Vault, node: Node | None, standalone_limiter: StandaloneLimiter | None
) -> OneShotWorkers:
    owner = node or standalone_limiter
    hear_proxies = refuse_proxies if node is None else node.proxies.hear
    limiter = None if owner is None else owner.limiter
    return OneShotWorkers(lambda: _preview_config(settings, vault), limiter, hear_proxies)


def _make_workflows(settings: Settings, store: Store, egress: EgressPolicy, notifier: _RunNotifier) -> Workflows:
    prepare = functools.partial(prepare_workflow, settings)
    return Workflows(store, egress, prepare, wake=notifier.wake, abort=notifier.abort)


def _make_submitter(
    settings: Settings, store: Store, probe: Prober, notifier: _RunNotifier, policy_of: UsualPolicy
) -> Submitter:
    wake, abort = notifier.wake, notifier.abort
    return Submitter(store, probe, wake=wake, abort=abort, usual_policy=policy_of, prices=prices_of(settings))


def _make_background(
    settings: Settings, store: Store, notifier: _RunNotifier, node: Node | None, pools: ProxyPools, *, is_full: bool
) -> dict[str, Any]:
    """Return the background parts of a node. `is_full`: it executes the runs of all users, not only of a command."""
    if node is None:
        return {}
    starter = _make_queue_starter(settings, store, notifier)
    if not is_full:
        return {"queue_starter": starter}
    return {
        "queue_starter": starter,
        "loop": _make_loop(settings, store, notifier, node),
        "pool_keeper": _make_pool_keeper(settings, store, pools, notifier),
    }


def _make_sweeper(
    settings: Settings, store: Store, submitter: Submitter, notifier: _RunNotifier, tidying: Tidying
) -> Sweeper:
    send = None if notifier.hints is None else notifier.hints.send
    scheduler = Scheduler(store, submitter)
    return Sweeper(store, scheduler, retention(settings), notifier.wake, tidying.tidy, send=send)


def _make_loop(settings: Settings, store: Store, notifier: _RunNotifier, node: Node) -> LoopRunner:
    registry = registry_key(settings.scraper_config)
    return LoopRunner(
        store.loop,
        store.runs.get,
        lambda: store.queue.has_work(registry),
        functools.partial(_make_reconciliation, settings),
        wake=notifier.wake,
        owner=node.owner,
    )


def _make_pool_keeper(settings: Settings, store: Store, pools: ProxyPools, notifier: _RunNotifier) -> PoolKeeper:
    return PoolKeeper(
        store,
        pools,
        functools.partial(load_proxy_config, settings),
        wake=notifier.wake,
        min_usable=settings.min_proxies_for_scraping,
        mirror=no_mirror if notifier.hints is None else refresh_mirror(settings),
        publish=live_file_writer(settings, store),
    )


def _make_reconciliation(settings: Settings) -> ReconcilePayload:
    from corral.wiring.coverage import make_payload  # noqa: PLC0415 - an idle node does without it

    return make_payload(settings, [], is_imported=True)


def _make_queue_starter(settings: Settings, store: Store, notifier: _RunNotifier) -> QueueStarter:
    feeder = QueueFeeder(store.queue, registry_key(settings.scraper_config), notifier.wake)
    return QueueStarter(
        feeder,
        functools.partial(load_scrapers, settings),
        notifier.pulse.wait,
        queue_limits(settings, settings.script_concurrency),
    )


def _make_node(
    settings: Settings,
    store: Store,
    options: NodeOptions,
    pulse: ChangeSignal,
    learning: SiteMemoryWriter,
    *,
    work: WorkPlan,
) -> Node:
    recorder = RecipeRecorder(store.recipes, learning.flush)
    options = replace(options, site_paces=work.site_paces)
    return Node(
        store, retry_policy(settings), options, pulse, learning.note, record_recipes=recorder.keep, source=work.source
    )


def _seal(vault: Vault, text: Secret[str], bound: str) -> str:
    return vault.keys_to_seal().seal_text(text, bound)


def _preview_config(settings: Settings, vault: Vault) -> dict[str, Any]:
    """Return the configuration of a one-shot worker: it stores no artifacts, because no run refers to them."""
    return asdict(replace(worker_config(settings, vault.keys()), artifacts_dir=None))
