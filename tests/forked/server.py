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
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest import mock

import corral
from corral.__main__ import main
from corral.runtime.process import die_with_parent
from corral.supervisor.records import MARKER
from corral.wiring import services
from tests import cpu, forked, statements
from tests.services import sqlite
from tests.waiting import block_until

# What Corral loads when it needs it, beyond its own modules.
_LOADED_LATE = (
    "alembic.command",
    "alembic.config",
    "babel.numbers",
    "billiard.pool",
    "billiard.reduction",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.events.dispatcher",
    "celery.fixups.django",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer.delayed_delivery",
    "dateparser.date",
    "fastapi_swagger",
    "kombu.transport.redis",
    "playwright._impl.protocol_channels",
    "playwright.async_api",
    "psycopg",
    "uvicorn.lifespan.off",
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


_WARM_UP = (
    ("job", "add", "http://127.0.0.1/", "--fields", "title", "--no-check"),
    ("run", "list"),
    ("run", "list", "--json"),
    ("run", "show", "nonsense"),
    ("scrape", "http://127.0.0.1/", "--fields", "title", "--dry-run"),
    ("crawl", "-h"),
    ("status",),
)


@dataclass
class Asked:
    """What a fork is to do: run the program that is named first, with the rest."""

    arguments: list[str]
    variables: dict[str, str]
    folder: str
    umask: int
    client: int | None  # the process that stands for the fork
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
    statements.share()
    statements.compile_for_sqlite()
    _warm_up()
    # The threads of a command may end a moment after it.
    block_until(
        lambda: len(list(Path("/proc/self/task").iterdir())) == 1,
        otherwise=f"loading Corral has started threads, which a fork would be without: {threading.enumerate()}",
    )
    gc.freeze()


def _warm_up() -> None:
    """Run commands here, so that forks inherit what Corral and its libraries prepare at their first use."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nothing:  # noqa: PTH123
        sqlite.migrate(Path(folder) / "corral.db")
        variables = {**os.environ, "APP_DATA_DIR": folder}
        for command in _WARM_UP:
            with (
                mock.patch.dict(os.environ, variables, clear=True),
                mock.patch.object(sys, "argv", ["corral", *command]),
                contextlib.redirect_stdout(nothing),
                contextlib.redirect_stderr(nothing),
                contextlib.suppress(SystemExit),
            ):
                main()


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
            arguments, variables, folder, umask, requester = json.loads(text)
            return Asked(arguments, variables, folder, umask, requester, received[:3], received[3:])
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
    os.umask(asked.umask)
    sys.argv = asked.arguments
    if asked.files:  # of a worker or parser: open files, and the parent to die with
        count = len(asked.files)
        sys.argv[1 : 2 + count] = [*map(str, asked.files), str(os.getppid())]
    if asked.variables.get(forked.WORKERS):
        sys.executable = asked.variables[forked.WORKERS]
        services._CORRAL = (sys.executable, "-m", "corral")
    if asked.client is not None and MARKER in asked.variables and sys.argv[:2] == ["corral", "worker"]:
        _assume_pid(asked.client)
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent) if sys.argv[0].endswith(".py") else asked.folder
    for number, stream in enumerate(asked.streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # type: ignore[misc]  # noqa: SIM115


def _assume_pid(pid: int) -> None:
    """A supervisor knows a Celery worker by the pid of the process that it started."""
    from corral.celery_app import command  # reads the settings

    command.os = SimpleNamespace(getpid=lambda: pid, _exit=os._exit)  # type: ignore[attr-defined,assignment]


def _start_program() -> None:
    program = sys.argv[0]
    if program == "corral":
        main()
    elif program.startswith("corral.entrypoints."):
        sys.modules[program].main()
    elif program == "-c":
        sys.modules["__main__"] = module = ModuleType("__main__")
        exec(sys.argv.pop(1), module.__dict__)
    elif program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _run() -> int:
    try:
        _start_program()
    except SystemExit as ended:
        if not isinstance(ended.code, str):
            return int(ended.code or 0)
        print(ended.code, file=sys.stderr)  # noqa: T201
        return 1
    except BaseException as error:  # noqa: BLE001 - said as Python says it
        sys.excepthook(*sys.exc_info())
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _end(code: int) -> None:
    """As Python ends, without taking all that was loaded apart, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
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
