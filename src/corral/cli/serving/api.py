"""Serve the API until a stop is requested, then stop in order."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from corral.api.server import serve
from corral.cli.running import Stop
from corral.cli.serving.listener import Listener
from corral.cli.serving.stopping import stop_working
from corral.domain.errors import CorralError
from corral.wiring.app import App

_SERVER_STOPS_WITHIN_S = 10.0
_FIRST_WORKER_S = 5.0


async def serve_api(
    app: App,
    listener: Listener,
    stop: Stop,
    *,
    announce: str,
    beside: Coroutine[Any, Any, None] | None = None,
) -> None:
    """Serve the API, with `beside` as a companion task, until a stop is requested; then shut down in order."""

    await _wait_for_first_worker(app)
    ended = asyncio.Event()
    serving = serve(app, listener.host, listener.port, stop=ended, listening=listener.socket)
    server = asyncio.create_task(serving, name="api")
    companion = asyncio.create_task(beside, name="beside") if beside is not None else None
    print(announce, flush=True)
    try:
        await _until_stopped(stop, server, companion)
    finally:
        # In this order: refuse writes, claim no runs, finish or requeue the running ones, then stop the server.
        app.draining = True
        if companion is not None:
            companion.cancel()
            await asyncio.gather(companion, return_exceptions=True)
        await stop_working(app, stop)
        ended.set()
        await _wait_for_exit(server)


async def _wait_for_first_worker(app: App) -> None:
    """Wait for the first worker before answering; until then connections wait in the socket's queue."""
    deadline = asyncio.get_running_loop().time() + _FIRST_WORKER_S
    while app.node is not None and not app.node.worker_count and asyncio.get_running_loop().time() < deadline:
        await app.pulse.wait(0.02)


async def _until_stopped(stop: Stop, server: asyncio.Task[None], companion: asyncio.Task[None] | None) -> None:
    stop_request = asyncio.create_task(stop.wait(), name="stop")
    pending: set[asyncio.Task[None]] = {stop_request, server, *([companion] if companion else [])}
    try:
        while not stop_request.done() and not server.done():
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        if not stop_request.done():
            raise CorralError("the API stopped by itself", hint="see the log lines above; start it again")
    finally:
        stop_request.cancel()


async def _wait_for_exit(server: asyncio.Task[None]) -> None:
    """Wait for the server to exit, for a limited time: a slow client must not prevent the shutdown."""
    _, late = await asyncio.wait({server}, timeout=_SERVER_STOPS_WITHIN_S)
    if late:
        server.cancel()
    await asyncio.gather(server, return_exceptions=True)
