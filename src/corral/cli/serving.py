"""Serving until told to stop: what is checked before, what is said when it answers, and the order of stopping."""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from corral.cli.running import Stop, first_of
from corral.domain.errors import BadConfiguration

if TYPE_CHECKING:
    from corral.settings import Settings
    from corral.wiring import App

_ANSWER_WITHIN_S = 20.0
_SERVER_STOPS_WITHIN_S = 10.0


def checked_address(settings: "Settings", host: str, port: int) -> int:
    """The port that can be listened on (a free one for 0), or BadConfiguration before anything is started."""
    if settings.write_token is None and not _is_loopback(host):
        raise BadConfiguration(
            [
                f"no token is configured and {host} is not a loopback address: everybody could write; "
                "set APP_WRITE_TOKEN (16 characters or more), or leave --host at 127.0.0.1"
            ]
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as listener:
            found: int = listener.getsockname()[1]
            return found
    except (OSError, UnicodeError) as error:
        raise cannot_listen(host, port, error) from None


def cannot_listen(host: str, port: int, error: Exception) -> BadConfiguration:
    reason = getattr(error, "strerror", None) or str(error)
    return BadConfiguration(
        [f"cannot listen on {host}:{port}: {reason}; stop what listens there, or choose another with --port"]
    )


def _is_loopback(host: str) -> bool:
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
        return bool(found) and all(ipaddress.ip_address(address).is_loopback for address in found)
    except (OSError, UnicodeError, ValueError):
        return False


def base_url(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


def announcement(settings: "Settings", host: str, port: int, role: str) -> str:
    from corral import __version__

    url = base_url(host, port)
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
    host: str,
    port: int,
    stop: Stop,
    *,
    announce: Callable[[], None],
    beside: Coroutine[Any, Any, None] | None = None,
) -> None:
    """The API, and `beside` once it answers, until a stop is asked for; then the ordered stop."""
    from corral.api.server import serve

    ended = asyncio.Event()
    server = asyncio.create_task(serve(app, host, port, stop=ended), name="api")
    companion = None
    try:
        if await first_of(_answers(server, host, port), stop):
            announce()
            companion = asyncio.create_task(beside, name="beside") if beside is not None else None
            await _until_stopped(stop, server, companion)
    except OSError as error:
        raise cannot_listen(host, port, error) from None
    finally:
        # In this order: no new writes, no new work, what runs finishes or is given back, then nobody answers.
        app.draining = True
        if companion is not None:
            companion.cancel()
            await asyncio.gather(companion, return_exceptions=True)
        elif beside is not None:
            beside.close()
        await stop_working(app)
        ended.set()
        await _gone(server)


async def _answers(server: "asyncio.Task[None]", host: str, port: int) -> None:
    """Return when the port is served; raise what the server raised where it never was."""
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    async with asyncio.timeout(_ANSWER_WITHIN_S):
        while not server.done():
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(address, port)
                writer.close()
                return
            await asyncio.sleep(0.02)
    await server


async def _until_stopped(stop: Stop, server: "asyncio.Task[None]", companion: "asyncio.Task[None] | None") -> None:
    asked = asyncio.create_task(stop.wait(), name="stop")
    pending: set[asyncio.Task[None]] = {asked, server, *([companion] if companion else [])}
    try:
        while not asked.done() and not server.done():
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        asked.cancel()


async def stop_working(app: "App") -> None:
    if app.node is not None:
        await app.node.stop()


async def _gone(server: "asyncio.Task[None]") -> None:
    """A client that reads for ever does not keep us."""
    _, late = await asyncio.wait({server}, timeout=_SERVER_STOPS_WITHIN_S)
    if late:
        server.cancel()
    await asyncio.gather(server, return_exceptions=True)
