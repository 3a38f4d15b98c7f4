"""The periodic work on the pool: record ends of refreshes, recheck after cool-downs, and start due refreshes."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from corral.domain.errors import CorralError
from corral.domain.ports.stores import EngineStore
from corral.domain.proxies.config import ProxyConfig
from corral.domain.proxies.refresh import RefreshProgress
from corral.domain.runs.queues import Waker
from corral.engine.refresh.usecases import ProxyPools, draft_check
from corral.engine.repeat import repeat_step

log = structlog.get_logger()

_EVERY_S = 1.0
_READ_CONFIG_EVERY_S = 15.0
_RECHECKS_AT_ONCE = 250
# If the sources yield too few proxies, they are not read again before this time.
_PAUSE_S = 600.0

Mirror = Callable[[RefreshProgress], Awaitable[bool]]  # returns whether the progress was written
Publisher = Callable[[RefreshProgress], Awaitable[None]]


async def no_mirror(_: RefreshProgress) -> bool:
    """Mirror nothing: there is no Redis."""
    return True


async def publish_nowhere(_: RefreshProgress) -> None:
    """Publish nothing: no file is configured."""


class PoolKeeper:
    """Every node maintains the pool; transactions decide which node starts something."""

    def __init__(
        self,
        store: EngineStore,
        pools: ProxyPools,
        read_config: Callable[[], ProxyConfig],
        *,
        wake: Waker,
        min_usable: int,
        mirror: Mirror = no_mirror,
        publish: Publisher = publish_nowhere,
    ) -> None:
        self._store = store
        self._pools = pools
        self._read_config = read_config
        self._wake = wake
        self._min_usable = min_usable
        self._mirror = mirror
        self._publish = publish
        self._published: str | None = None
        self._config = ProxyConfig()
        self._read_at = float("-inf")
        self._problem: str | None = None
        self._mirrored: RefreshProgress | None = None

    async def run(self) -> None:
        await repeat_step(self.step, _EVERY_S, lambda error: log.warning("proxy_pool_paused", reason=error.message))

    async def step(self) -> None:
        await self._follow_refresh()
        await self._load_config()
        if self._config.check.problem is None:
            await self._start_rechecks()
            await self._refresh_if_due()

    async def _follow_refresh(self) -> None:
        """Record the end of a refresh, publish its result, and mirror every change of the newest one."""
        for newest in await self._store.proxies.newest_refreshes(1):
            progress = newest
            if newest.completed_at is None:
                await self._store.proxies.note_refresh_ends()
                progress = await self._store.proxies.progress(newest.job_id)
            # A write that failed is repeated with the next step.
            if progress != self._mirrored and await self._mirror(progress):
                self._mirrored = progress
            if progress.completed_at is not None and progress.job_id != self._published:
                await self._publish(progress)
                self._published = progress.job_id

    async def _load_config(self) -> None:
        if time.monotonic() - self._read_at < _READ_CONFIG_EVERY_S:
            return
        self._read_at = time.monotonic()
        try:
            self._config, self._problem = await asyncio.to_thread(self._read_config), None
        except CorralError as error:
            if self._problem != error.message:
                log.warning("proxy_config_invalid", reason=error.message)
            self._config, self._problem = ProxyConfig(), error.message

    async def _start_rechecks(self) -> None:
        plan = self._config.check
        started = await self._store.proxies.start_rechecks(_RECHECKS_AT_ONCE, lambda ids: draft_check(ids, plan))
        if started:
            self._wake(*started)

    async def _refresh_if_due(self) -> None:
        if not self._config.sources:
            return
        pause_s = _PAUSE_S if await self._lacks_proxies() else None
        minutes = self._config.refresh_minutes
        if minutes:
            pause_s = minutes * 60 if pause_s is None else min(pause_s, minutes * 60)
        if pause_s is None:
            return
        progress, is_new = await self._pools.refresh(pause_s)
        if is_new:
            log.info("proxy_refresh_started", run=progress.job_id)

    async def _lacks_proxies(self) -> bool:
        counts = await self._store.proxies.count()
        return counts["alive"] < self._min_usable
