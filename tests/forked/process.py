"""A fork with the face of `subprocess.Popen`, for tests that look at the process itself and at what it starts."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

from tests import forked


class Process(Protocol):
    """What tests ask of a process, however it began."""

    @property
    def pid(self) -> int: ...
    @property
    def stdout(self) -> IO[bytes] | None: ...
    @property
    def returncode(self) -> int | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Fork:
    """It ends when this is no longer there, at the latest with the test's process."""

    def __init__(self, server: socket.socket, stdout: IO[bytes] | None) -> None:
        self.pid = int(_line(server))
        self.stdout = stdout
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                self.returncode = int(_line(self._server))
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout or 0) from error
            self._server.close()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            self._server.sendall(bytes([sig]))

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_process(
    arguments: Sequence[str],
    *,
    module: str = "corral",
    env: Mapping[str, str],
    cwd: Path,
    stdout: IO[bytes] | None = None,
    stderr: IO[bytes] | None = None,
) -> Process:
    """Start a module, a file or, as module "-c", code. Without `stdout`, the output can be read, errors included."""
    address = forked.address()
    if address is None:
        return subprocess.Popen(
            [*forked.real_command(module), *arguments],
            env=env,
            cwd=cwd,
            stdout=stdout or subprocess.PIPE,
            stderr=stderr or subprocess.STDOUT,
        )
    server = socket.socket(socket.AF_UNIX)
    server.connect(address)
    reading, writing = (None, stdout.fileno()) if stdout is not None else os.pipe()
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        umask = os.umask(0)
        os.umask(umask)
        asked = json.dumps([[module, *arguments], dict(env), str(cwd), umask, None]).encode()
        errors = stderr.fileno() if stderr is not None else writing
        socket.send_fds(server, [len(asked).to_bytes(4, "big")], [nothing.fileno(), writing, errors])
        server.sendall(asked)
    if reading is None:
        return Fork(server, None)
    os.close(writing)
    return Fork(server, os.fdopen(reading, "rb"))


def _line(server: socket.socket) -> bytes:
    """What the server says comes in one piece."""
    told = server.recv(64)
    if not told:
        raise ConnectionError("the one who forks is gone")
    return told
