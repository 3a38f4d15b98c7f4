"""A proxy as others run it: tinyproxy, for HTTP and for tunnels, with or without a password."""

import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.ports import free_port
from tests.services.process import end, find_binary, launch, wait_until_ready


@dataclass(frozen=True)
class Tinyproxy:
    port: int
    log: Path

    def list_requests(self) -> list[str]:
        """What it was asked for, one line a request."""
        return [
            line.partition(": ")[2] for line in self.log.read_text(errors="replace").splitlines() if "Request" in line
        ]


@contextmanager
def tinyproxy(user: str = "", password: str = "") -> Iterator[Tinyproxy]:
    server = find_binary("tinyproxy", service="tinyproxy", directories=[Path("/usr/sbin")])
    directory = Path(tempfile.mkdtemp(prefix="corral-tinyproxy-"))
    port, log = free_port(), directory / "log"
    lines = [f"Port {port}", "Listen 127.0.0.1", "Allow 127.0.0.1", "Timeout 20", "LogLevel Connect"]
    lines += [f"BasicAuth {user} {password}"] if user else []
    (directory / "conf").write_text("\n".join(lines) + "\n")
    process = launch([server, "-d", "-c", directory / "conf"], directory=directory, log=log)
    try:
        wait_until_ready(process, lambda: _listens(port), log=log)
        yield Tinyproxy(port, log)
    finally:
        end(process, signal.SIGTERM)
        shutil.rmtree(directory, ignore_errors=True)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
