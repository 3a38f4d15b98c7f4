"""The composition root: the only place that knows concrete classes."""

import asyncio
import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from corral.domain.address import EgressPolicy
from corral.domain.job import Strategy
from corral.domain.ports import Prober
from corral.domain.retention import Retention
from corral.domain.retry import RetryPolicy
from corral.engine.assign import Limits
from corral.engine.jobs import Jobs
from corral.engine.learning import Learning
from corral.engine.node import Node, NodeOptions
from corral.engine.pulse import Pulse
from corral.engine.schedule import Scheduler
from corral.engine.submit import Submitter
from corral.engine.sweep import Sweeper
from corral.fetch.browser_args import find_chromium
from corral.fetch.egress import Egress
from corral.fetch.limits import FetchLimits
from corral.fetch.probe import probe
from corral.settings import Settings
from corral.store.open import open_store
from corral.store.store import Store
from corral.wiring_worker import WorkerConfig


@asynccontextmanager
async def prober(settings: Settings) -> AsyncIterator[Prober]:
    egress = Egress(EgressPolicy(settings.egress_allow), FetchLimits(), settings.user_agent)
    try:
        yield functools.partial(probe, egress, budget_s=settings.probe_timeout_seconds)
    finally:
        await egress.close()


@dataclass(slots=True)
class App:
    """One process's parts. `node` is None where this process only serves."""

    settings: Settings
    store: Store
    jobs: Jobs
    submitter: Submitter
    pulse: Pulse
    node: Node | None
    sweeper: Sweeper | None  # None where only one run is executed: the rest is not our business
    learning: Learning
    draining: bool = False  # set first when stopping: nothing new is taken
    timers: list[asyncio.Task[None]] = field(default_factory=list)

    async def start_work(self) -> None:
        if self.node is not None:
            await self.node.start()
            self.timers.append(asyncio.create_task(self.learning.run(), name="learning"))
            if self.sweeper is not None:
                self.timers.append(asyncio.create_task(self.sweeper.run(), name="sweep"))

    async def stop_work(self) -> None:
        """No timers, no claims; what runs finishes or is given back. Harmless to ask twice."""
        timers, self.timers = self.timers, []
        for timer in timers:
            timer.cancel()
        await asyncio.gather(*timers, return_exceptions=True)
        node, self.node = self.node, None
        if node is not None:
            await node.stop()
            await self.learning.flush()


@asynccontextmanager
async def opened(settings: Settings, *, works: bool, only_run: str | None = None) -> AsyncIterator[App]:
    """Open the store and, where this process works, start its node; close both in order."""
    store = open_store(settings.store_url)
    pulse = Pulse()
    try:
        async with prober(settings) as probe:
            app = _assembled(settings, store, probe, pulse, works=works, only_run=only_run)
            await app.start_work()
            try:
                yield app
            finally:
                await app.stop_work()
    finally:
        await store.close()


def _assembled(
    settings: Settings, store: Store, probe: Prober, pulse: Pulse, *, works: bool, only_run: str | None
) -> App:
    learning = Learning(store)
    options = node_options(settings, only_run)
    node = Node(store, retry_policy(settings), options, pulse, learning.note) if works else None

    def wake() -> None:
        pulse.beat()
        if node is not None:
            node.look()

    def abort(run_id: str) -> None:
        pulse.beat()
        if node is not None:
            node.abort(run_id)

    submitter = Submitter(store, probe, wake=wake, abort=abort)
    sweeper = None if only_run else Sweeper(store, Scheduler(store, submitter), retention(settings), wake)
    jobs = Jobs(store, probe, EgressPolicy(settings.egress_allow))
    return App(settings, store, jobs, submitter, pulse, node, sweeper, learning)


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
    offers = {Strategy.HTTP}
    if find_chromium() or any((Path.home() / ".cache/ms-playwright").glob("chromium*")):
        offers.add(Strategy.BROWSER)
    return frozenset(offers)


def node_options(settings: Settings, only_run: str | None = None) -> NodeOptions:
    return NodeOptions(
        workers=1 if only_run else settings.workers,
        limits=Limits(settings.concurrency, min(settings.browser_concurrency, settings.concurrency)),
        grace_s=settings.grace_seconds,
        timeouts_s={
            Strategy.HTTP: settings.http_timeout_seconds,
            Strategy.API_REPLAY: settings.http_timeout_seconds,
            Strategy.BROWSER: settings.browser_nav_timeout_ms / 1000,
        },
        config=asdict(worker_config(settings)),
        only_run=only_run,
    )


def worker_config(settings: Settings) -> WorkerConfig:
    return WorkerConfig(
        egress_allow=[str(entry) for entry in settings.egress_allow],
        user_agent=settings.user_agent,
        max_body_bytes=settings.max_body_bytes,
        browser_concurrency=settings.browser_concurrency,
    )


def retention(settings: Settings) -> Retention:
    return Retention(settings.retention_days, settings.retention_max_runs, keep_records=settings.retention_keep_records)
