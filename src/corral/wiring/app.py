"""The composition root: the only place that knows concrete classes."""

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
from corral.engine.background.artifact_cleanup import KeptBuilds, Tidying
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


_FOLLOW_S = 2.0  # after a change of the defaults


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """The source from which a node takes its runs."""

    source: RunSource
    processes: int | None = None  # for a single run; None for a node that takes any run
    site_paces: SitePaces = field(default_factory=SitePaces)


@dataclass(slots=True)
class App:
    """One process's parts. `node` is None where this process only serves."""

    settings: Settings
    store: Store
    jobs: Jobs
    submitter: Submitter
    sessions: Sessions
    pulse: ChangeSignal
    artifacts: ArtifactFolder
    tidying: Tidying
    node: Node | None
    sweeper: Sweeper | None  # None where only one run is executed: the rest is not our business
    learning: SiteMemoryWriter
    previews: Previews
    field_maps: FieldMaps
    crawls: Crawls
    reconciliations: Reconciliations
    workflows: Workflows
    proxies: ProxyPools
    errands: OneShotWorkers
    wake: Waker  # tells nodes of runs that were added
    queue_starter: QueueStarter | None = None  # where there is a node
    loop: LoopRunner | None = None  # where a node executes the runs of anybody
    pool_keeper: PoolKeeper | None = None  # likewise
    door: StandaloneLimiter | None = None  # where there is no node
    asked: MessageSource | None = None  # where runs are named by messages
    hints: "CeleryHints | None" = None  # to other processes; None where one process does everything
    broker: "Broker | None" = None
    permits: Permits = field(default_factory=Permits)  # of what this process fetches itself
    roll: NodeHeartbeat | None = None
    limits: WorkerLimits = field(default_factory=lambda: WorkerLimits(0, 0))  # of the node
    draining: bool = False  # set first when stopping: nothing new is taken
    timers: list[asyncio.Task[None]] = field(default_factory=list)
    sites: "SiteParts" = field(init=False)

    @property
    def broker_now(self) -> BrokerNow | None:
        return None if self.broker is None else BrokerNow(self.broker.depths, self.broker.problem)

    async def start_work(self) -> None:
        if self.broker is not None:
            self.timers.append(asyncio.create_task(self.broker.run(), name="broker"))
        if self.door is not None:
            InProcessHolder(self.permits).enter(self.door.limiter)
            await self.door.start()
            self.timers.append(asyncio.create_task(self.permits.run(), name="permits"))
        if self.node is not None:
            InProcessHolder(self.permits).enter(self.node.limiter)
            await self.node.start()
            if self.roll is not None:
                self.roll.start()
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
        """Start the tasks of the queue, as long as this process works."""
        if self.queue_starter is not None:
            self.timers.append(asyncio.create_task(self.queue_starter.run(), name="queue"))

    async def _follow_defaults(self) -> None:
        """Apply defaults that were changed over HTTP on every node, including those without an API."""
        while True:
            with contextlib.suppress(StorageError):
                self.limits.most = (await self.store.jobs.defaults()).max_concurrent_runs
            await asyncio.sleep(_FOLLOW_S)

    async def stop_work(self) -> None:
        """No timers, no claims; what runs finishes or is given back. Harmless to ask twice."""
        node, self.node = self.node, None
        # Before anything else is waited for: nothing is claimed after a stop was asked for.
        stopping = None if node is None else asyncio.create_task(node.stop(), name="stop node")
        roll, self.roll = self.roll, None
        if roll is not None:
            roll.say_stopping()
        timers, self.timers = self.timers, []
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)
        await self.errands.close()
        if stopping is not None:
            await stopping
            await self.learning.flush()
        door, self.door = self.door, None
        if door is not None:
            await door.stop()
        if roll is not None:
            await roll.leave()


@dataclass(frozen=True, slots=True)
class _RunNotifier:
    """Tells the node here, or other processes, of runs that wait or have to stop."""

    pulse: ChangeSignal
    node: Node | None
    hints: "CeleryHints | None"

    def wake(self, *waiting: Waiting) -> None:
        self.pulse.beat()
        if self.hints is not None and waiting:
            self.hints.tell([hint_of(run) for run in waiting])
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
    door: StandaloneLimiter | None = None,
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
    builds = KeptBuilds(BuildFolders(datasets_dir(settings)), settings.dataset_retention_days)
    tidying = Tidying(store, folder, settings.artifacts_max_bytes, FileFolder(settings.files_dir), builds)
    sweeper = None if processes else _make_sweeper(settings, store, submitter, notifier, tidying)
    jobs = Jobs(store, probe, egress, proxy_options.seal, policy_of)
    offers, errands = available_strategies(settings), _make_errands(settings, vault, node, door)
    pools = ProxyPools(store, proxy_options.seal, proxy_options.read_config, notifier.wake)
    return App(
        settings=settings,
        store=store,
        jobs=jobs,
        submitter=submitter,
        sessions=Sessions(store, vault, errands.perform, offers, wake=notifier.wake),
        pulse=pulse,
        artifacts=folder,
        tidying=tidying,
        node=node,
        sweeper=sweeper,
        learning=learning,
        previews=Previews(store, errands.perform, egress, offers, options.timeouts_s),
        field_maps=FieldMaps(store.jobs, jobs),
        crawls=Crawls(store, egress, notifier.wake, policy_of),
        reconciliations=Reconciliations(store, notifier.wake),
        workflows=_make_workflows(settings, store, egress, notifier),
        proxies=pools,
        errands=errands,
        wake=notifier.wake,
        **_make_background(settings, store, notifier, node, pools, is_full=sweeper is not None),
        door=door,
        hints=hints,
        limits=options.limits,
    )


def _make_errands(
    settings: Settings, vault: Vault, node: Node | None, door: StandaloneLimiter | None
) -> OneShotWorkers:
    keeper = node or door
    hear_proxies = refuse_proxies if node is None else node.proxies.hear
    limiter = None if keeper is None else keeper.limiter
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
    """What runs beside a node. `is_full`: the node executes the runs of all users, not only those of a command."""
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
    tell = None if notifier.hints is None else notifier.hints.tell
    scheduler = Scheduler(store, submitter)
    return Sweeper(store, scheduler, retention(settings), notifier.wake, tidying.tidy, tell=tell)


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
    lessons = RecipeRecorder(store.recipes, learning.flush)
    options = replace(options, site_paces=work.site_paces)
    return Node(store, retry_policy(settings), options, pulse, learning.note, teach=lessons.keep, source=work.source)


def _seal(vault: Vault, text: Secret[str], bound: str) -> str:
    return vault.keys_to_seal().seal_text(text, bound)


def _preview_config(settings: Settings, vault: Vault) -> dict[str, Any]:
    """For a worker that previews pages: it keeps no artifacts, because no run refers to them."""
    return asdict(replace(worker_config(settings, vault.keys()), artifacts_dir=None))
