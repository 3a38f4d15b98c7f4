"""The composition root: the only place that knows concrete classes."""

import asyncio
import contextlib
import os
import platform
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import structlog

from corral import __version__
from corral.domain.errors import BadInput, StorageError
from corral.domain.hosts.limiter import NO_GATES
from corral.domain.ids import Owner
from corral.domain.net.address import EgressPolicy
from corral.domain.net.proxy import OpenProxy, ProxyPolicy, with_credentials
from corral.domain.ports.execution import Prober
from corral.domain.runs.node import BrokerNow, NodeInfo, NodeRole
from corral.domain.runs.queues import EVERY_QUEUE, Queue, Waiting, hint_of
from corral.domain.secret import Secret
from corral.engine.background.artifact_cleanup import Tidying
from corral.engine.background.recipe_recorder import Lessons
from corral.engine.background.schedule import Scheduler
from corral.engine.background.site_memory_writer import Learning
from corral.engine.background.sweep import Sweeper
from corral.engine.hosts.limiter import Inside
from corral.engine.hosts.permits import Permits
from corral.engine.hosts.standalone_limiter import Doorman
from corral.engine.node.assign import Limits
from corral.engine.node.change_signal import Pulse
from corral.engine.node.heartbeat_record import Roll
from corral.engine.node.node import Node
from corral.engine.node.sources import Asked, Oldest, OnlyRun, Source
from corral.engine.oneshot import Errands
from corral.engine.usecases.crawls import Crawls
from corral.engine.usecases.field_maps import FieldMaps
from corral.engine.usecases.jobs import Jobs
from corral.engine.usecases.preview import Previews
from corral.engine.usecases.sessions import Sessions
from corral.engine.usecases.submit import Submitter
from corral.files.artifacts import ArtifactFolder
from corral.files.saved_files import FileFolder
from corral.log import configure_logging, hide
from corral.runtime.loop_monitor import watched_loop
from corral.runtime.node_locks import Presence
from corral.runtime.private_files import make_data_folder
from corral.secrets.vault import Keyring, KeySource, SealBroken, Vault, check_keys
from corral.settings import Settings, Transport
from corral.store.open import open_store
from corral.store.store import Store
from corral.wiring.options import gate_rules, node_options, offered_strategies, retention, retry_policy, worker_config
from corral.wiring.probe import make_egress, prober

if TYPE_CHECKING:
    from corral.fetch.browser.login import LoginPage
    from corral.transport.broker import Broker
    from corral.transport.celery import CeleryHints


_FOLLOW_S = 2.0  # after a change of the defaults


@dataclass(slots=True)
class App:
    """One process's parts. `node` is None where this process only serves."""

    settings: Settings
    store: Store
    jobs: Jobs
    submitter: Submitter
    sessions: Sessions
    pulse: Pulse
    artifacts: ArtifactFolder
    tidying: Tidying
    node: Node | None
    sweeper: Sweeper | None  # None where only one run is executed: the rest is not our business
    learning: Learning
    previews: Previews
    field_maps: FieldMaps
    crawls: Crawls
    errands: Errands
    door: Doorman | None = None  # who keeps the gates where there is no node
    asked: Asked | None = None  # where runs are named by messages
    hints: "CeleryHints | None" = None  # to other processes; None where one process does everything
    broker: "Broker | None" = None
    turns: Permits = field(default_factory=Permits)  # of what this process fetches itself
    roll: Roll | None = None
    limits: Limits = field(default_factory=lambda: Limits(0, 0))  # of the node
    draining: bool = False  # set first when stopping: nothing new is taken
    timers: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def broker_now(self) -> BrokerNow | None:
        return None if self.broker is None else BrokerNow(self.broker.depths, self.broker.problem)

    async def start_work(self) -> None:
        if self.broker is not None:
            self.timers.append(asyncio.create_task(self.broker.run(), name="broker"))
        if self.door is not None:
            Inside(self.turns).enter(self.door.gate)
            await self.door.start()
            self.timers.append(asyncio.create_task(self.turns.run(), name="turns"))
        if self.node is not None:
            Inside(self.turns).enter(self.node.gate)
            await self.node.start()
            if self.roll is not None:
                self.roll.start()
            self.timers.append(asyncio.create_task(self.turns.run(), name="turns"))
            self.timers.append(asyncio.create_task(self.learning.run(), name="learning"))
            self.timers.append(asyncio.create_task(self._follow_defaults(), name="defaults"))
            if self.sweeper is not None:
                self.timers.append(asyncio.create_task(self.sweeper.run(), name="sweep"))
            else:
                self.timers.append(asyncio.create_task(self.tidying.tidy(), name="tidy"))

    async def _follow_defaults(self) -> None:
        """What somebody changes over HTTP holds on every node, also on those without an API."""
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


@asynccontextmanager
async def opened(
    settings: Settings,
    *,
    works: bool,
    only_run: str | None = None,
    processes: int = 1,
    queues: Sequence[Queue] = EVERY_QUEUE,
    hears_messages: bool = False,
    role: NodeRole = NodeRole.EMBEDDED,
    serves: bool = False,
) -> AsyncIterator[App]:
    """Open the store and, where this process works, start its node; close both in order.

    One that executes only one run does so with so many `processes`.
    With `hears_messages` it is woken by the messages of a broker, and reports to it which runs it executes.
    One that does not work, but `serves`, keeps gates of its own for what it looks at.
    """
    _prepare_process(settings)
    store = open_store(settings.store_url)
    pulse = Pulse()
    turns = Permits()
    hints, broker = _transport(settings)
    asked = Asked(store, queues) if hears_messages else None
    source = asked or (OnlyRun(store, only_run) if only_run else Oldest(store, queues))
    served, role = ((), NodeRole.SINGLE) if only_run else (queues, NodeRole.WORKER if hears_messages else role)
    transport = Transport.CELERY if hears_messages else Transport.EMBEDDED
    door = Doorman(store.hosts, gate_rules(settings)) if serves and not works else None
    gates = turns if works or serves else NO_GATES
    try:
        keys = await checked_keys(settings, store)
        async with watched_loop("node" if works else "client"), prober(settings, gates) as probe:
            work = _Work(source, processes if only_run else None) if works else None
            app = _assembled(settings, store, probe, pulse, keys, work=work, hints=hints, door=door)
            app.turns, app.asked, app.hints, app.broker = turns, asked, hints, broker
            if asked is not None and app.node is not None:
                asked.wake = app.node.look
            if app.node is not None:
                app.roll = Roll(store.nodes, worker_card(settings, app.node.owner, served, transport, role), app.node)
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


def _prepare_process(settings: Settings) -> None:
    hide(settings.secrets())
    if not structlog.is_configured():  # without this, warnings would go to the standard output
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
    """In this folder; what nodes held that died here is to be had at once."""
    presence = Presence(settings.data_dir / "nodes")
    gone = presence.gone()
    for owner in gone:
        await store.runs.expire(owner)
    if gone:
        await store.runs.reap()
    for owner in gone:
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


def worker_card(
    settings: Settings, owner: Owner, queues: Sequence[Queue], transport: Transport, role: NodeRole
) -> NodeInfo:
    """What a node says of itself. One that executes a single run takes no other from any queue."""
    names = tuple(queue.value for queue in queues)
    concurrency = settings.workers * settings.runs_per_process if queues else 1
    host, pid = platform.node() or "unknown", os.getpid()
    return NodeInfo(owner, host, pid, role, transport.value, names, concurrency, __version__)


@asynccontextmanager
async def login_browser(
    settings: Settings,
    trusted_hosts: Iterable[str],
    *,
    headed: bool,
    proxy: ProxyPolicy | None = None,
    verifies_tls: bool = True,
) -> AsyncIterator["LoginPage"]:
    """A page a person or a script can log in on; it goes through the egress like every other."""
    from corral.fetch.browser.login import login_page  # noqa: PLC0415 - it brings Playwright
    from corral.fetch.browser.profile_folder import sweep_homes  # noqa: PLC0415

    egress = make_egress(settings)
    await asyncio.to_thread(sweep_homes)
    try:
        agent, trusted, upstream = settings.agent, frozenset(trusted_hosts), opened_proxy(settings, proxy)
        async with login_page(
            egress, trusted, agent, headed=headed, upstream=upstream, verifies_tls=verifies_tls
        ) as page:
            yield page
    finally:
        await egress.close()


def opened_proxy(settings: Settings, policy: ProxyPolicy | None) -> OpenProxy | None:
    """The proxy of a job with what it knows us by; None where there is none."""
    if policy is None or policy.is_direct:
        return None
    if policy.sealed is None:
        return with_credentials(policy, None)
    try:
        return with_credentials(policy, vault_of(settings).keys().open_text(policy.sealed, policy.bound).reveal())
    except SealBroken as problem:
        hint = "set the job's proxy_policy again"
        raise BadInput(f"the job's proxy cannot be used: {problem}", field="proxy_policy", hint=hint) from None


def vault_of(settings: Settings) -> Vault:
    given = settings.vault_key
    return Vault(settings.data_dir / "vault.key", None if given is None else Secret(given.get_secret_value()))


async def checked_keys(settings: Settings, store: Store) -> Keyring:
    """The keys of the vault; BadConfiguration where sessions are stored that they do not open."""
    vault = vault_of(settings)
    keys = vault.keys()
    check_keys(keys, await store.sessions.count_keys(), vault.place)
    return keys


@dataclass(frozen=True, slots=True)
class _Work:
    """What a process that executes runs does."""

    source: Source
    processes: int | None = None  # that execute the one run there is; None where it is any


@dataclass(frozen=True, slots=True)
class _Bell:
    """Who is to hear of a run that waits, or is to be stopped."""

    pulse: Pulse
    node: Node | None
    hints: "CeleryHints | None"

    def wake(self, *waiting: Waiting) -> None:
        self.pulse.beat()
        if self.hints is not None and waiting:
            self.hints.tell([hint_of(run) for run in waiting])
        elif self.node is not None:
            self.node.look()

    def abort(self, run_id: str) -> None:
        self.pulse.beat()
        if self.node is not None:
            self.node.abort(run_id)


def _assembled(
    settings: Settings,
    store: Store,
    probe: Prober,
    pulse: Pulse,
    keys: Keyring,
    *,
    work: _Work | None,
    hints: "CeleryHints | None",
    door: Doorman | None = None,
) -> App:
    learning = Learning(store)
    vault = vault_of(settings)
    processes = None if work is None else work.processes
    options = node_options(settings, keys, KeySource(vault.keys, keys), processes=processes)
    lessons = Lessons(store.recipes, learning.flush)
    node = None
    if work is not None:
        parts = (store, retry_policy(settings), options, pulse, learning.note)
        node = Node(*parts, teach=lessons.kept, source=work.source)

    bell = _Bell(pulse, node, hints)
    submitter = Submitter(store, probe, wake=bell.wake, abort=bell.abort)
    folder = ArtifactFolder(settings.artifacts_dir)
    tidying = Tidying(store, folder, settings.artifacts_max_bytes, FileFolder(settings.files_dir))
    scheduler = Scheduler(store, submitter)
    tell = None if hints is None else hints.tell
    kept = retention(settings)
    sweeper = None if processes else Sweeper(store, scheduler, kept, bell.wake, tidying.tidy, tell=tell)

    def seal(text: Secret[str], bound: str) -> str:
        return vault.keys_to_seal().seal_text(text, bound)

    jobs = Jobs(store, probe, EgressPolicy(settings.egress_allow), seal)
    crawls = Crawls(store, EgressPolicy(settings.egress_allow), bell.wake)

    def apart() -> dict[str, Any]:
        # A look is no run: nobody would ever ask for what it left behind.
        return asdict(replace(worker_config(settings, vault.keys()), artifacts_dir=None))

    keeper = node or door
    errands = Errands(apart, None if keeper is None else keeper.gate)
    offers = offered_strategies()
    sessions = Sessions(store, vault, errands.perform, offers, wake=bell.wake)
    previews = Previews(store, errands.perform, EgressPolicy(settings.egress_allow), offers, options.timeouts_s)
    made = (settings, store, jobs, submitter, sessions, pulse, folder, tidying, node, sweeper, learning)
    return App(*made, previews, FieldMaps(store.jobs, jobs), crawls, errands, door, limits=options.limits)
