"""Serving the application inside a running event loop."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from corral.api.app import create_app
from corral.api.binding import bound
from corral.wiring import App

# Streams notice that we are stopping within half a second; whoever is slower is cut.
_FAREWELL_S = 3


class _Server(uvicorn.Server):
    """Signals belong to the command that runs us, not to the server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(app: App, host: str, port: int, *, stop: asyncio.Event, listening: socket.socket | None = None) -> None:
    """Until `stop` is set."""
    config = uvicorn.Config(
        create_app(app),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_FAREWELL_S,
        server_header=False,
        lifespan="off",
        h11_max_incomplete_event_size=64 * 1024,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening or bound(host, port)]), name="http")
    stopping = asyncio.create_task(stop.wait(), name="stop")
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    await serving
