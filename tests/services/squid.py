"""A proxy as others run it: squid, with one port for everyone, one with a password, and one with Debian's rules.

It connects from 127.0.0.2: a request that a target gets from 127.0.0.1 did not come through it.
"""

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

SQUID_ADDRESS = "127.0.0.2"
_HELPER = """#!/bin/sh
while read -r user password; do
  if [ "$user:$password" = "$1" ]; then echo OK; else echo ERR; fi
done
"""


@dataclass(frozen=True)
class Squid:
    port: int
    closed: int  # the port with a password
    strict: int  # the port that opens tunnels to 443 only, as squid does unless configured
    log: Path

    def list_tunnels(self) -> list[str]:
        """The targets of CONNECT that it accepted."""
        lines = (line.split() for line in self.log.read_text(errors="replace").splitlines())
        return [words[6] for words in lines if len(words) > 6 and words[5] == "CONNECT" and words[3].endswith("/200")]


@contextmanager
def squid(user: str, password: str) -> Iterator[Squid]:
    server = find_binary("squid", service="squid", directories=[Path("/usr/sbin")])
    directory = Path(tempfile.mkdtemp(prefix="corral-squid-"))
    directory.chmod(0o777)
    found = Squid(free_port(), free_port(), free_port(), directory / "access.log")
    helper = directory / "login"
    helper.write_text(_HELPER)
    helper.chmod(0o755)
    (directory / "conf").write_text("\n".join(_write_config(found, directory, f"{user}:{password}")) + "\n")
    process = launch([server, "-N", "-f", directory / "conf"], directory=directory, log=directory / "out.log")
    try:
        wait_until_ready(process, lambda: _listens(found.strict), log=directory / "out.log")
        yield found
    finally:
        end(process, signal.SIGKILL)
        shutil.rmtree(directory, ignore_errors=True)


def _write_config(found: Squid, directory: Path, login: str) -> list[str]:
    return [
        *(f"http_port 127.0.0.1:{port}" for port in (found.port, found.closed, found.strict)),
        f"auth_param basic program {directory / 'login'} {login}",
        "auth_param basic children 1 startup=1",
        f"acl open localport {found.port}",
        f"acl strict localport {found.strict}",
        "acl tls port 443",
        "acl known proxy_auth REQUIRED",
        "http_access deny CONNECT strict !tls",
        "http_access allow strict",
        "http_access allow open",
        "http_access allow known",
        "http_access deny all",
        f"tcp_outgoing_address {SQUID_ADDRESS}",
        f"access_log stdio:{found.log}",
        f"cache_log {directory / 'cache.log'}",
        f"coredump_dir {directory}",
        "pid_filename none",
        "cache deny all",
        "pinger_enable off",
        "buffered_logs off",
    ]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
