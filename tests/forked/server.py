"""Loads all of Corral once, and forks for everybody who asks: `python -m tests.forked.server LISTENER_FD`.

Lives as long as its standard input is open. It has no thread but this one, so that a fork is whole.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import corral
from corral.__main__ import main
from corral.runtime.process import die_with_parent
from tests import cpu, forked

# What Corral loads when it needs it, beyond its own modules.
_LOADED_LATE = (
    "alembic.command",
    "celery.apps.beat",
    "celery.apps.worker",
    "kombu.transport.redis",
    "playwright.async_api",
    "psycopg",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.httptools_impl",
    "uvloop",
)


# What does more when it is loaded: starts a thread, or reads settings.
_NOT_LOADED = (
    "__main__",
    ".migrations",
    "corral.celery_app",
    "corral.export.parquet",
    "corral.entrypoints.image_process",
    "corral.images.decode",
    "corral.images.hashes",
)


@dataclass
class Asked:
    """What a fork is to do: run the module that is named first, with the rest."""

    arguments: list[str]
    variables: dict[str, str]
    folder: str
    streams: list[int]
    files: list[int]


def _load() -> None:
    root = Path(corral.__path__[0])
    for path in sorted(root.rglob("*.py")):
        module = ".".join(("corral", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if not any(name in module for name in _NOT_LOADED):
            importlib.import_module(module)
    for name in _LOADED_LATE:
        importlib.import_module(name)
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:
        raise RuntimeError(f"loading Corral has started {threads - 1} threads: a fork would be without them")
    gc.freeze()


class Server:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)
        self._process_of: dict[socket.socket, tuple[int, int]] = {}  # the process, and what tells of its end
        self._client_of: dict[int, socket.socket] = {}
        self._test_of: dict[int, str] = {}

    def serve(self) -> Asked | None:
        """Serve; returns in a fork, with what it is to do, and at the end, with nothing."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj is self._listener:
                    asked = self._accept()
                    if asked is not None:
                        return asked
                elif isinstance(key.fileobj, socket.socket):
                    self._forward_signal(key.fileobj)
                else:
                    self._report_exit(key.fd)

    def _accept(self) -> Asked | None:
        client, _ = self._listener.accept()
        length, received, _, _ = socket.recv_fds(client, 4, 8)
        text = _read(client, int.from_bytes(length, "big"))
        if not text:  # who asked has ended already
            client.close()
            for each in received:
                os.close(each)
            return None
        server = os.getpid()
        process = os.fork()
        if process == 0:
            self._forget(client)
            die_with_parent(server)
            os.setsid()
            arguments, variables, folder = json.loads(text)
            return Asked(arguments, variables, folder, received[:3], received[3:])
        for each in received:
            os.close(each)
        if cpu.is_measured():
            self._test_of[process] = json.loads(text)[1].get("PYTEST_CURRENT_TEST", "a process without a test")
        ends = os.pidfd_open(process)
        with contextlib.suppress(ConnectionError):  # its end is noticed with that of the connection
            client.sendall(f"{process}\n".encode())
        self._process_of[client], self._client_of[ends] = (process, ends), client
        self._selector.register(client, selectors.EVENT_READ)
        self._selector.register(ends, selectors.EVENT_READ)
        return None

    def _forget(self, client: socket.socket) -> None:
        """A fork has nothing to do with the others."""
        client.close()
        for other, (_, ends) in self._process_of.items():
            other.close()
            os.close(ends)
        self._listener.close()
        self._selector.close()

    def _forward_signal(self, client: socket.socket) -> None:
        """A signal to pass on; the end of who asked is the end of what it asked for."""
        if client not in self._process_of:
            return  # the process has ended: both events came with one call of select
        _, ends = self._process_of[client]
        try:
            told = client.recv(64)
        except ConnectionError:
            told = b""
        if not told:
            self._selector.unregister(client)
        for number in told or [signal.SIGKILL]:
            signal.pidfd_send_signal(ends, number)

    def _report_exit(self, ends: int) -> None:
        client = self._client_of.pop(ends)
        process, _ = self._process_of.pop(client)
        _, status, used = os.wait4(process, 0)
        if cpu.is_measured():
            cpu.note(cpu.sum_seconds(used), "fork", self._test_of.pop(process).partition(" (")[0])
        self._selector.unregister(ends)
        os.close(ends)
        if client in self._selector.get_map():
            self._selector.unregister(client)
            with contextlib.suppress(ConnectionError):
                client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        client.close()


def _read(client: socket.socket, size: int) -> bytes:
    """Read this many bytes; return nothing if the connection ends before."""
    text = b""
    while len(text) < size:
        with contextlib.suppress(ConnectionError):
            if more := client.recv(size - len(text)):
                text += more
                continue
        return b""
    return text


def _become(asked: Asked) -> None:
    """As if this process had been started for it."""
    os.environ.clear()
    os.environ.update(asked.variables)
    time.tzset()
    os.chdir(asked.folder)
    sys.argv = asked.arguments
    if asked.files:  # of a worker or parser: open files, and the parent to die with
        count = len(asked.files)
        sys.argv[1 : 2 + count] = [*map(str, asked.files), str(os.getppid())]
    if asked.variables.get(forked.WORKERS):
        sys.executable = asked.variables[forked.WORKERS]
    sys.path[0] = asked.folder
    for number, stream in enumerate(asked.streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # type: ignore[misc]  # noqa: SIM115


def _run() -> int:
    try:
        if sys.argv[0] == "corral":
            main()
        elif sys.argv[0].startswith("corral.entrypoints."):
            sys.modules[sys.argv[0]].main()
        else:
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if not isinstance(ended.code, str):
            return int(ended.code or 0)
        print(ended.code, file=sys.stderr)  # noqa: T201
        return 1
    except BaseException:  # noqa: BLE001 - said as Python says it
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """As Python ends, without taking all that was loaded apart, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C at the terminal is for the tests
    _load()
    with contextlib.suppress(FileNotFoundError):  # nobody needed it, and the folder is gone
        Path(sys.argv[2]).with_name("ready").touch()
    given = Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    if given is not None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _become(given)
        _end(_run())
