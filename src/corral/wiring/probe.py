"""Probe a target from this process; the fetching and parsing modules are imported on first use."""

import asyncio
import functools
import importlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.net.address import EgressPolicy
from corral.domain.ports.execution import Prober
from corral.settings import Settings
from corral.wiring.options import worker_config

if TYPE_CHECKING:
    from corral.fetch.egress.client import Egress


@asynccontextmanager
async def prober(settings: Settings, host_access: HostAccess = UNLIMITED) -> AsyncIterator[Prober]:
    """Yield a prober that loads the fetching modules with its first probe: that saves an idle process ten megabytes."""
    async with AsyncExitStack() as stack:
        opening = asyncio.Lock()
        opened: list[Prober] = []

        async def probe(*args: Any, **options: Any) -> Any:
            async with opening:
                if not opened:
                    # In a thread, so that the import does not block the event loop.
                    await asyncio.to_thread(importlib.import_module, "corral.wiring.worker")
                    opened.append(await stack.enter_async_context(_open_prober(settings, host_access)))
            return await opened[0](*args, **options)

        yield probe


@asynccontextmanager
async def _open_prober(settings: Settings, host_access: HostAccess) -> AsyncIterator[Prober]:
    from corral.fetch.parsing.pool import ParsePool  # noqa: PLC0415 - see above
    from corral.fetch.probe import probe  # noqa: PLC0415
    from corral.wiring.worker import page_cache  # noqa: PLC0415

    egress = make_egress(settings)
    pool = ParsePool()
    try:
        cache = page_cache(worker_config(settings))
        budget_s = settings.probe_timeout_seconds
        yield functools.partial(probe, egress, budget_s=budget_s, reader=pool, cache=cache, host_access=host_access)
    finally:
        await pool.close()
        await egress.close()


def make_egress(settings: Settings) -> "Egress":
    from corral.fetch.egress.client import Egress  # noqa: PLC0415
    from corral.fetch.limits import FetchLimits  # noqa: PLC0415

    return Egress(EgressPolicy(settings.egress_allow), FetchLimits(), settings.agent)
