"""Serve the site over real HTTP, beside the other work of the process."""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from corral.demo.site import create_site

_START_WITHIN_S = 10.0
_STOP_WITHIN_S = 1
_POLL_EVERY_S = 0.01

# A separate logger: uvicorn reports a dropped connection as an error, and /reset drops them on purpose. Silencing
# the loggers of uvicorn would also silence Corral's API, which may run in the same process.
_log = logging.getLogger("corral.demo.server")
_log.addHandler(logging.NullHandler())
_log.propagate = False


@dataclass(frozen=True, slots=True)
class RunningSite:
    host: str
    port: int

    @property
    def url(self) -> str:
        """The address without a trailing slash."""
        return f"http://{self.host}:{self.port}"


class _QuietProtocol(H11Protocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _log
        self.access_log = False


@asynccontextmanager
async def running_site(host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[RunningSite]:
    """Serve a new site until the block ends. Port 0 chooses a free one.

    It runs in a thread with its own event loop: a caller that blocks its loop does not stall the site, and outside
    the main thread uvicorn installs no signal handlers.
    """
    listener = socket.create_server((host, port), backlog=1024)
    bound_port: int = listener.getsockname()[1]
    server = uvicorn.Server(_config())
    thread = threading.Thread(target=server.run, args=([listener],), name="demo site", daemon=True)
    thread.start()
    try:
        async with asyncio.timeout(_START_WITHIN_S):
            await _wait_until_started(server, thread)
        yield RunningSite(host, bound_port)
    finally:
        server.should_exit = True
        await asyncio.shield(asyncio.to_thread(thread.join))
        listener.close()


async def serve_site(host: str = "127.0.0.1", port: int = 0) -> None:
    """Serve a new site until SIGINT or SIGTERM, and print its address as one line."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_site(host, port) as site:
        print(f"demo site at {site.url}", flush=True)
        await stop.wait()


def _config() -> uvicorn.Config:
    return uvicorn.Config(
        create_site(),
        http=_QuietProtocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_STOP_WITHIN_S,
    )


async def _wait_until_started(server: uvicorn.Server, thread: threading.Thread) -> None:
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the demo site stopped before it served anything")
        await asyncio.sleep(_POLL_EVERY_S)
