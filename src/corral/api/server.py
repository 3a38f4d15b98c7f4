"""Serve the application inside a running event loop."""

import asyncio
import contextlib
import functools
import socket
from collections.abc import Iterator
from typing import Any, cast

import uvicorn

from corral.api.app import create_app
from corral.api.binding import BACKLOG, bind_listener
from corral.api.http.connections import Connections
from corral.api.http.protocol import CountAnswer, GuardedProtocol, MethodsOf
from corral.wiring.app import App

# Event streams notice a shutdown within half a second; connections still open after this time are closed.
_GRACE_S = 3


class Server(uvicorn.Server):
    """A server that leaves signals to the command that runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def make_server(application: Any, connections: Connections, count: CountAnswer, methods_of: MethodsOf) -> Server:
    protocol = functools.partial(GuardedProtocol, connections=connections, count=count, methods_of=methods_of)
    return Server(
        uvicorn.Config(
            application,
            http=cast(Any, protocol),
            ws="none",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=connections.limits.keep_alive_s,
            server_header=False,
            # Any client could send these headers and pose as another one.
            proxy_headers=False,
            lifespan="off",
            backlog=BACKLOG,
        )
    )


async def serve(app: App, host: str, port: int, *, stop: asyncio.Event, listening: socket.socket | None = None) -> None:
    """Serve until `stop` is set."""
    api = create_app(app)
    connections: Connections = api.state.connections
    server = make_server(api, connections, api.state.metrics.count, api.state.methods.methods_of)
    serving = asyncio.create_task(server.serve(sockets=[listening or bind_listener(host, port)]), name="http")
    sweeping = asyncio.create_task(connections.sweep_forever(), name="connections")
    stopping = asyncio.create_task(stop.wait(), name="stop")
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    server.should_exit = True
    try:
        await serving
    finally:
        sweeping.cancel()
