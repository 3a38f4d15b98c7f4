"""The port of the API, and the message that is printed once it answers."""

import ipaddress
import json
import os
from dataclasses import dataclass
from typing import Any

from corral import __version__
from corral.api.binding import bind_listener
from corral.cli.options import ListenOptions
from corral.domain.errors import BadConfiguration
from corral.settings import Settings


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound port, before anything is served or executed."""

    socket: Any  # passed to the server
    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL for a browser on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def open_listener(settings: Settings, options: ListenOptions) -> Listener:
    """Bind the port (a free one for 0); raise BadConfiguration before anything is started."""

    if settings.write_token is None and not _is_loopback(options.host):
        raise BadConfiguration(
            [
                f"no token is configured and {options.host} is not a loopback address: anyone could write; "
                "set APP_WRITE_TOKEN (16 characters or more), or leave --host at 127.0.0.1"
            ]
        )
    bound = bind_listener(options.host, options.port)
    return Listener(bound, *bound.getsockname()[:2])


def _is_loopback(host: str) -> bool:
    """Return whether the text is a loopback address. Names are not resolved: they may change."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def announcement(settings: Settings, listener: Listener, role: str, *, as_json: bool = False, **more: object) -> str:
    """Return the message for when the server answers. JSON is one line, so that a program can wait for it."""

    url = listener.url
    if as_json:
        server = {"status": role, "url": url, "port": listener.port, "data_dir": str(settings.data_dir.absolute())}
        about = {"version": __version__, "pid": os.getpid(), "needs_token": settings.write_token is not None}
        return json.dumps({**server, **more, **about})
    lines = [
        f"Corral {__version__} {role}",
        f"  dashboard  {url}/",
        f"  API docs   {url}/docs",
        f"  data       {settings.data_dir.absolute()}",
    ]
    if settings.write_token is None:
        lines.append("  no token configured: bound to loopback only")
    lines.append("  Ctrl-C stops it; unfinished runs continue at the next start")
    return "\n".join(lines)
