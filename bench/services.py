"""PostgreSQL and Redis for the length of one measurement: own folder, free loopback port, always stopped.

PostgreSQL has its default durability, `fsync` and `synchronous_commit` on. `redis` keeps nothing on disk,
`redis-aof` appends every write to a file and syncs it once a second.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15.0


class ServiceUnavailable(RuntimeError):
    """The service is not installed here, or did not start."""


@dataclass(frozen=True)
class Service:
    """A running server: its address and the process at the root of its tree."""

    name: str
    url: str
    pid: int


def free_port() -> int:
    """Return a loopback port on which no process listens at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes], what: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if ready():
            return
        time.sleep(0.02)
    tail = log.read_text(errors="replace")[-800:] if log.exists() else ""
    raise ServiceUnavailable(f"{what} did not start: {tail.strip()}")


def stopped(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    if process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def accepts(port: int) -> bool:
    with socket.socket() as sock:
        sock.settimeout(0.5)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def _redis_pongs(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5) as sock:
            sock.sendall(b"PING\r\n")
            return sock.recv(16).startswith(b"+PONG")
    except OSError:
        return False


@contextlib.contextmanager
def redis(*, append_only: bool = False) -> Iterator[Service]:
    """A Redis server without snapshots; with `append_only`, an append-only file synced every second."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise ServiceUnavailable("redis-server is not installed")
    folder = Path(tempfile.mkdtemp(prefix="bench-redis-"))
    port = free_port()
    arguments = [binary, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(folder)]
    arguments += ["--appendonly", "yes" if append_only else "no", "--appendfsync", "everysec"]
    log = folder / "redis.log"
    with log.open("wb") as out:
        process = subprocess.Popen(arguments, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait_for(lambda: _redis_pongs(port), process, "redis-server", log)
        yield Service("redis-aof" if append_only else "redis", f"redis://127.0.0.1:{port}/0", process.pid)
    finally:
        stopped(process, signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


def _postgres_binaries() -> Path:
    installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    found = sorted(installed, key=lambda path: float(path.parts[4]))
    if found:
        return found[-1].parent
    binary = shutil.which("postgres")
    if binary is None:
        raise ServiceUnavailable("PostgreSQL is not installed")
    return Path(binary).parent


def _postgres_account() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root, so root lends it the system account `postgres`."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError as error:
        raise ServiceUnavailable("running as root and there is no account `postgres`") from error


@contextlib.contextmanager
def postgres() -> Iterator[Service]:
    """A fresh PostgreSQL cluster with its default durability, trust authentication, loopback only."""
    binaries, account = _postgres_binaries(), _postgres_account()
    user = account.pw_uid if account else None
    group = account.pw_gid if account else None
    folder = Path(tempfile.mkdtemp(prefix="bench-postgres-"))
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
    data, log, port = folder / "data", folder / "postgres.log", free_port()
    process: subprocess.Popen[bytes] | None = None
    try:
        setup = [
            str(binaries / "initdb"),
            "-D",
            str(data),
            "-U",
            "bench",
            "--auth=trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        made = subprocess.run(setup, user=user, group=group, cwd=folder, capture_output=True, check=False)
        if made.returncode != 0:
            raise ServiceUnavailable(f"initdb failed: {made.stderr.decode(errors='replace')[-400:]}")
        command = [str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
        for setting in ("listen_addresses=127.0.0.1", "max_connections=200", "shared_buffers=256MB"):
            command += ["-c", setting]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, user=user, group=group, cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        ready = [str(binaries / "pg_isready"), "-h", "127.0.0.1", "-p", str(port), "-q"]
        wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, process, "postgres", log)
        yield Service("postgres", f"postgresql://bench@127.0.0.1:{port}/postgres", process.pid)
    finally:
        if process is not None:
            stopped(process, signal.SIGINT)
        shutil.rmtree(folder, ignore_errors=True)
