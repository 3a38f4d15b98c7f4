"""The host limiter of a process without a node: an API process that fetches pages for previews."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import structlog

from corral.domain.errors import StorageError
from corral.domain.hosts.limiter import HostRules
from corral.domain.ports.stores import HostStore
from corral.engine.hosts.limiter_sync import LimiterSync
from corral.engine.hosts.site_paces import SitePaces
from corral.runtime.new_ids import new_owner

log = structlog.get_logger()
T = TypeVar("T")


class StandaloneLimiter:
    def __init__(self, store: HostStore, rules: HostRules, sites: SitePaces | None = None) -> None:
        self._store = store
        self._owner = new_owner()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._sync = LimiterSync(store, self._owner, rules, _write_once, self._spawn, sites=sites)
        self.limiter = self._sync.limiter

    async def start(self) -> None:
        await self._sync.start(self._spawn)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            await self._store.drop_quotas(self._owner, self._sync.shared_host_keys)
        except StorageError as error:
            log.debug("host_quota_release_failed", reason=error.message)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        self._tasks.add(task := asyncio.get_running_loop().create_task(work))
        task.add_done_callback(self._discard_task)

    def _discard_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("host_state_write_failed", reason=str(error))


async def _write_once(write: Callable[[], Awaitable[T]]) -> T:
    """Write without a retry: a preview is not a run."""
    return await write()
