"""Serving until told to stop: what is checked before, what is said when it answers, and the order of stopping."""

import asyncio
import ipaddress
import json
import os
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corral.cli.running import Stop
from corral.domain.errors import BadConfiguration, CorralError, StorageError, StorageMoved

if TYPE_CHECKING:
    from corral.settings import Settings
    from corral.wiring.app import App

_SERVER_STOPS_WITHIN_S = 10.0
_FIRST_WORKER_S = 5.0
_STORAGE_ANSWERS_S = 1.0


@dataclass(frozen=True, slots=True)
class Listener:
    """A port that is ours already, before anything is served on it or executed."""

    socket: Any  # only handed on to the server
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def listening(settings: "Settings", host: str, port: int) -> Listener:
    """Take the port (a free one for 0), or BadConfiguration before anything is started."""
    from corral.api.binding import bound

    if settings.write_token is None and not _is_loopback(host):
        raise BadConfiguration(
            [
                f"no token is configured and {host} is not a loopback address: everybody could write; "
                "set APP_WRITE_TOKEN (16 characters or more), or leave --host at 127.0.0.1"
            ]
        )
    taken = bound(host, port)
    return Listener(taken, *taken.getsockname()[:2])


def _is_loopback(host: str) -> bool:
    """Judged by how it is written: what a name leads to may be another machine tomorrow."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def announcement(settings: "Settings", listener: Listener, role: str, *, as_json: bool = False, **more: object) -> str:
    """What is said once it answers. As JSON it is one line, so that a program can wait for it."""
    from corral import __version__

    url = listener.url
    if as_json:
        told = {"status": role, "url": url, "port": listener.port, "data_dir": str(settings.data_dir.absolute())}
        about = {"version": __version__, "pid": os.getpid(), "needs_token": settings.write_token is not None}
        return json.dumps({**told, **more, **about})
    lines = [
        f"Corral {__version__} {role}",
        f"  dashboard  {url}/",
        f"  API docs   {url}/docs",
        f"  data       {settings.data_dir.absolute()}",
    ]
    if settings.write_token is None:
        lines.append("  no token configured: bound to loopback only")
    lines.append("  Ctrl-C stops it; what has not finished is gone on with at the next start")
    return "\n".join(lines)


async def serve_api(
    app: "App",
    listener: Listener,
    stop: Stop,
    *,
    announce: str,
    beside: Coroutine[Any, Any, None] | None = None,
) -> None:
    """The API, and `beside` with it, until a stop is asked for; then the ordered stop."""
    from corral.api.server import serve

    await _first_worker(app)
    ended = asyncio.Event()
    serving = serve(app, listener.host, listener.port, stop=ended, listening=listener.socket)
    server = asyncio.create_task(serving, name="api")
    companion = asyncio.create_task(beside, name="beside") if beside is not None else None
    print(announce, flush=True)
    try:
        await _until_stopped(stop, server, companion)
    finally:
        # In this order: no new writes, no new work, what runs finishes or is given back, then nobody answers.
        app.draining = True
        if companion is not None:
            companion.cancel()
            await asyncio.gather(companion, return_exceptions=True)
        await stop_working(app, stop)
        ended.set()
        await _gone(server)


async def _first_worker(app: "App") -> None:
    """Whoever is answered finds somebody working; until then connections wait in the socket's queue."""
    deadline = asyncio.get_running_loop().time() + _FIRST_WORKER_S
    while app.node is not None and not app.node.worker_count and asyncio.get_running_loop().time() < deadline:
        await app.pulse.wait(0.02)


async def _until_stopped(stop: Stop, server: "asyncio.Task[None]", companion: "asyncio.Task[None] | None") -> None:
    asked = asyncio.create_task(stop.wait(), name="stop")
    pending: set[asyncio.Task[None]] = {asked, server, *([companion] if companion else [])}
    try:
        while not asked.done() and not server.done():
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        if not asked.done():
            raise CorralError("the API stopped by itself", hint="the log lines above say why; start it again")
    finally:
        asked.cancel()


async def stop_working(app: "App", stop: Stop) -> None:
    """Let what runs finish for a while, and give back the rest."""
    asking = asyncio.create_task(_asked_for_storage(app, stop), name="storage")
    if app.node is not None and app.node.executing:
        grace_s = app.settings.shutdown_grace_seconds
        said = f"stopping: {app.node.executing} under way may finish within {grace_s:g} s; once more stops at once"
        print(said, file=sys.stderr, flush=True)
    try:
        await app.stop_work()
        await asyncio.wait({asking}, timeout=_STORAGE_ANSWERS_S)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)


async def _asked_for_storage(app: "App", stop: Stop) -> None:
    """Until it answers; where it never does, the process does not wait for it."""
    while True:
        try:
            await app.store.ping()
        except StorageMoved:
            return  # nothing is ever written there again
        except StorageError:
            await asyncio.sleep(0.1)
        else:
            stop.storage_answers()
            return


async def _gone(server: "asyncio.Task[None]") -> None:
    """A client that reads for ever does not keep us."""
    _, late = await asyncio.wait({server}, timeout=_SERVER_STOPS_WITHIN_S)
    if late:
        server.cancel()
    await asyncio.gather(server, return_exceptions=True)
