"""The composition root: the only place that knows concrete classes."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corral.artifacts import ArtifactFolder
from corral.domain.address import EgressPolicy
from corral.domain.breaker import BreakerRules
from corral.domain.errors import BadInput
from corral.domain.gate import NO_GATES, GateRules, Gates
from corral.domain.job import Strategy
from corral.domain.pace import PaceRules
from corral.domain.ports import Prober
from corral.domain.proxy import OpenProxy, ProxyPolicy, with_credentials
from corral.domain.retention import Retention
from corral.domain.retry import RetryPolicy
from corral.domain.secret import Secret
from corral.engine.assign import Limits
from corral.engine.crawls import Crawls
from corral.engine.errand import Errands
from corral.engine.field_maps import FieldMaps
from corral.engine.gate import Inside
from corral.engine.jobs import Jobs
from corral.engine.learning import Learning
from corral.engine.lessons import Lessons
from corral.engine.node import Node, NodeOptions
from corral.engine.permits import Permits
from corral.engine.preview import Previews
from corral.engine.pulse import Pulse
from corral.engine.schedule import Scheduler
from corral.engine.sessions import Sessions
from corral.engine.submit import Submitter
from corral.engine.sweep import Sweeper
from corral.engine.tidying import Tidying
from corral.fetch.browser_args import find_chromium
from corral.fetch.browser_home import sweep_homes
from corral.fetch.egress import Egress
from corral.fetch.limits import FetchLimits
from corral.fetch.parse_pool import ParsePool
from corral.fetch.probe import probe
from corral.log import hide
from corral.presence import Presence
from corral.settings import Settings
from corral.stalls import watched_loop
from corral.store.open import open_store
from corral.store.store import Store
from corral.vault import Keyring, KeySource, SealBroken, Vault, check_keys
from corral.wiring_worker import WorkerConfig, page_cache

if TYPE_CHECKING:
    from corral.fetch.browser_login import LoginPage


@asynccontextmanager
async def prober(settings: Settings, gates: Gates = NO_GATES) -> AsyncIterator[Prober]:
    egress = Egress(EgressPolicy(settings.egress_allow), FetchLimits(), settings.user_agent)
    pool = ParsePool()
    try:
        cache = page_cache(worker_config(settings))
        budget_s = settings.probe_timeout_seconds
        yield functools.partial(probe, egress, budget_s=budget_s, reader=pool, cache=cache, gates=gates)
    finally:
        await pool.close()
        await egress.close()


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
    turns: Permits = field(default_factory=Permits)  # of what this process fetches itself
    draining: bool = False  # set first when stopping: nothing new is taken
    timers: list[asyncio.Task[None]] = field(default_factory=list)

    async def start_work(self) -> None:
        if self.node is not None:
            Inside(self.turns).enter(self.node.gate)
            await self.node.start()
            self.timers.append(asyncio.create_task(self.turns.run(), name="turns"))
            self.timers.append(asyncio.create_task(self.learning.run(), name="learning"))
            if self.sweeper is not None:
                self.timers.append(asyncio.create_task(self.sweeper.run(), name="sweep"))
            else:
                self.timers.append(asyncio.create_task(self.tidying.tidy(), name="tidy"))

    async def stop_work(self) -> None:
        """No timers, no claims; what runs finishes or is given back. Harmless to ask twice."""
        timers, self.timers = self.timers, []
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)
        await self.errands.close()
        node, self.node = self.node, None
        if node is not None:
            await node.stop()
            await self.learning.flush()


@asynccontextmanager
async def opened(settings: Settings, *, works: bool, only_run: str | None = None) -> AsyncIterator[App]:
    """Open the store and, where this process works, start its node; close both in order."""
    hide(settings.secrets())
    store = open_store(settings.store_url)
    pulse = Pulse()
    turns = Permits()
    try:
        keys = await checked_keys(settings, store)
        async with watched_loop("node" if works else "client"), prober(settings, turns if works else NO_GATES) as probe:
            app = _assembled(settings, store, probe, pulse, keys, works=works, only_run=only_run)
            app.turns = turns
            presence = Presence(settings.data_dir / "nodes")
            await _take_over(store, presence)
            if app.node is not None:
                presence.enter(app.node.owner)
            owner = app.node.owner if app.node is not None else None
            await app.start_work()
            try:
                yield app
            finally:
                await app.stop_work()
                if owner is not None:
                    presence.leave(owner)
    finally:
        await store.close()


async def _take_over(store: Store, presence: Presence) -> None:
    """What nodes held that died in this folder is to be had at once."""
    gone = presence.gone()
    for owner in gone:
        await store.expire(owner)
    if gone:
        await store.reap()
    for owner in gone:
        presence.forget(owner)


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
    from corral.fetch.browser_login import login_page  # noqa: PLC0415 - it brings Playwright

    egress = Egress(EgressPolicy(settings.egress_allow), FetchLimits(), settings.user_agent)
    await asyncio.to_thread(sweep_homes)
    try:
        agent, trusted, upstream = settings.user_agent, frozenset(trusted_hosts), opened_proxy(settings, proxy)
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
    where = str(settings.data_dir / "vault.key") if vault.is_file else "APP_VAULT_KEY"
    check_keys(keys, await store.session_kids(), where)
    return keys


def _assembled(
    settings: Settings,
    store: Store,
    probe: Prober,
    pulse: Pulse,
    keys: Keyring,
    *,
    works: bool,
    only_run: str | None,
) -> App:
    learning = Learning(store)
    vault = vault_of(settings)
    options = node_options(settings, only_run, keys, KeySource(vault.keys, keys))
    lessons = Lessons(store, learning.flush)
    node = Node(store, retry_policy(settings), options, pulse, learning.note, teach=lessons.kept) if works else None

    def wake() -> None:
        pulse.beat()
        if node is not None:
            node.look()

    def abort(run_id: str) -> None:
        pulse.beat()
        if node is not None:
            node.abort(run_id)

    submitter = Submitter(store, probe, wake=wake, abort=abort)
    folder = ArtifactFolder(settings.artifacts_dir)
    tidying = Tidying(store, folder, settings.artifacts_max_bytes)
    scheduler = Scheduler(store, submitter)
    sweeper = None if only_run else Sweeper(store, scheduler, retention(settings), wake, tidying.tidy)

    def seal(text: Secret[str], bound: str) -> str:
        return vault.keys_to_seal().seal_text(text, bound)

    jobs = Jobs(store, probe, EgressPolicy(settings.egress_allow), seal)
    crawls = Crawls(store, EgressPolicy(settings.egress_allow), wake)

    def apart() -> dict[str, Any]:
        # A look is no run: nobody would ever ask for what it left behind.
        return asdict(replace(worker_config(settings, vault.keys()), artifacts_dir=None))

    errands = Errands(apart, None if node is None else node.gate)
    offers = offered_strategies()
    sessions = Sessions(store, vault, errands.perform, offers, wake=wake)
    previews = Previews(store, errands.perform, EgressPolicy(settings.egress_allow), offers, options.timeouts_s)
    parts = (settings, store, jobs, submitter, sessions, pulse, folder, tidying, node, sweeper, learning)
    return App(*parts, previews, FieldMaps(store, jobs), crawls, errands)


def retry_policy(settings: Settings) -> RetryPolicy:
    return RetryPolicy(
        base_s=settings.retry_base_seconds,
        factor=settings.retry_factor,
        cap_s=settings.retry_cap_seconds,
        max_wait_s=settings.retry_max_wait_seconds,
        offers=offered_strategies(),
    )


def offered_strategies() -> frozenset[Strategy]:
    """What the workers of this machine can do. Playwright's own browsers lie in its cache folder."""
    offers = {Strategy.HTTP, Strategy.API_REPLAY}
    if find_chromium() or any((Path.home() / ".cache/ms-playwright").glob("chromium*")):
        offers.add(Strategy.BROWSER)
    return frozenset(offers)


def node_options(
    settings: Settings,
    only_run: str | None = None,
    keys: Keyring | None = None,
    keys_for: Callable[[Iterable[str]], list[str] | None] = lambda _: None,
) -> NodeOptions:
    return NodeOptions(
        workers=1 if only_run else settings.workers,
        limits=Limits(settings.concurrency, min(settings.browser_concurrency, settings.concurrency)),
        grace_s=settings.grace_seconds,
        timeouts_s={
            Strategy.HTTP: settings.http_timeout_seconds,
            Strategy.API_REPLAY: settings.http_timeout_seconds,
            Strategy.BROWSER: settings.browser_nav_timeout_ms / 1000,
        },
        config=asdict(worker_config(settings, keys)),
        crawls=settings.max_concurrent_tasks,
        gates=gate_rules(settings),
        only_run=only_run,
        keys_for=keys_for,
    )


def gate_rules(settings: Settings) -> GateRules:
    delay_s = settings.host_delay_seconds
    most_s = max(delay_s, settings.host_max_delay_seconds)
    pace = PaceRules(settings.host_concurrency, delay_s, max_delay_s=most_s)
    return GateRules(pace, BreakerRules(settings.breaker_failures, settings.breaker_open_seconds))


def worker_config(settings: Settings, keys: Keyring | None = None) -> WorkerConfig:
    return WorkerConfig(
        egress_allow=[str(entry) for entry in settings.egress_allow],
        user_agent=settings.user_agent,
        max_body_bytes=settings.max_body_bytes,
        browser_concurrency=settings.browser_concurrency,
        artifacts_dir=str(settings.artifacts_dir.absolute()) if settings.artifacts_max_bytes else None,
        cache_mode=settings.http_cache.value,
        cache_dir=str(settings.cache_dir.absolute()),
        cache_max_bytes=settings.http_cache_max_bytes,
        retry_base_s=settings.retry_base_seconds,
        retry_factor=settings.retry_factor,
        retry_cap_s=settings.retry_cap_seconds,
        vault_keys=keys.texts() if keys else [],
    )


def retention(settings: Settings) -> Retention:
    return Retention(
        settings.retention_days,
        settings.retention_max_runs,
        settings.retention_keep_records,
        settings.crawl_retention_hours or None,
    )
