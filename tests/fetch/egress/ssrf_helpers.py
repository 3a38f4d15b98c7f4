"""Helpers of the tests of ssrf, shared with other tests."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from tests.fetch.hostile import Hostile

AT_ONCE = 40


Check = Callable[[str], Any]


@asynccontextmanager
async def canary() -> AsyncIterator[Hostile]:
    """Listens on every address of this machine, old and new."""
    heard = Hostile()
    server, beside = await _listen_on_both(heard)
    heard.port = server.sockets[0].getsockname()[1]
    try:
        yield heard
    finally:
        server.close()
        beside.close()


async def _listen_on_both(heard: Hostile) -> tuple[asyncio.Server, asyncio.Server]:
    """One port for both families; another test may hold it in one of them, so take the next."""
    while True:
        server = await asyncio.start_server(heard.serve, None, 0, family=socket.AF_INET6)
        try:
            return server, await asyncio.start_server(heard.serve, "0.0.0.0", server.sockets[0].getsockname()[1])
        except OSError:
            server.close()


async def each(urls: tuple[str, ...], check: Check) -> None:
    """The check on every URL, some at a time."""
    waiting = iter(urls)

    async def work() -> None:
        for url in waiting:
            await check(url)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


def patient(hostile: Hostile) -> Egress:
    """May reach the hostile server; many ask at once, and a busy machine takes its time."""
    return Egress(EgressPolicy((AllowEntry.parse(f"127.0.0.1/32:{hostile.port}"),)), FetchLimits(), "t")
