"""`corral` as a process of its own without the second it takes to start one: a fork of one that has loaded everything.

For tests of what a command does. Those of how a process starts, and of what others see of it, start a real one.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.waiting import block_until

# With this in its environment, a fork has forks for its workers and parsers, and for the services that it supervises.
WORKERS = "CORRAL_TEST_FORKED_WORKERS"
# Where forks are to be had; the processes that share the tests share the one who gives them.
_ADDRESS = "CORRAL_TEST_FORKS"
# Modules that a fork starts as forks, too.
_FORKED_MODULES = ("corral", "corral.entrypoints.worker_process", "corral.entrypoints.parser_process")
_CLIENT = Path(__file__).parent / "client.py"
_ours = ExitStack()


def provide() -> None:
    """Start it for the processes that are started from here; those that nobody did so for do it when they need it."""
    if sys.platform == "linux" and _ADDRESS not in os.environ:
        os.environ[_ADDRESS] = _ours.enter_context(_server())


def end() -> None:
    """End what this process has started."""
    _ours.close()


def address() -> str | None:
    """Where to ask for forks, where there are any."""
    provide()
    return os.environ.get(_ADDRESS)


def command(program: str = "corral") -> tuple[str, ...]:
    """Return the start of the command of a fork. Its process passes on signals, and ends as the fork ends.

    A program is a module, a file or, as "-c", the code that follows.
    """
    where = address()
    return (sys.executable, "-I", "-S", str(_CLIENT), where, program) if where else real_command(program)


def real_command(program: str) -> tuple[str, ...]:
    """Return the start of the same command without a fork."""
    is_module = program != "-c" and not program.endswith(".py")
    return (sys.executable, *(("-m",) if is_module else ()), program)


def python() -> str:
    """What takes the place of `sys.executable` for a node whose workers and parsers are to be forks.

    The node has a process that stands for the fork: signals that cannot be handled reach the fork as a kill.
    """
    where = address()
    return str(Path(where).with_name("python")) if where else sys.executable


def wait_until_ready() -> None:
    """For a node in this process: it gives a worker less time to start than a busy machine takes to load everything."""
    where = address()
    if where is not None:
        block_until(Path(where).with_name("ready").exists, within_s=60, otherwise="nobody forks yet")


@contextmanager
def fork_processes() -> Iterator[None]:
    """Fork the workers and parsers that this process starts in the meantime."""
    wait_until_ready()
    real, before = sys.executable, os.environ.get(WORKERS)
    sys.executable = os.environ[WORKERS] = python()  # a forked worker starts parsers itself
    try:
        yield
    finally:
        sys.executable = real
        if before is None:
            del os.environ[WORKERS]
        else:
            os.environ[WORKERS] = before


def install(folder: Path, *names: str) -> None:
    """Put programs into a folder that are forks of the modules of these names, `corral` at least."""
    for name in ("corral", *names):
        program = folder / name
        words = " ".join(f"'{word}'" for word in command(name))
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        program.chmod(0o755)


def _write_python(program: Path, where: str) -> None:
    """Write a Python whose workers, parsers and commands of Corral are forks."""
    patterns = "|".join(f'"-m {module}"' for module in _FORKED_MODULES)
    program.write_text(
        f'#!/bin/sh\ncase "$1 $2" in {patterns})\n'
        f"shift; exec '{sys.executable}' -I -S '{_CLIENT}' '{where}' \"$@\";;\nesac\n"
        f"exec '{sys.executable}' \"$@\"\n"
    )
    program.chmod(0o755)


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="corral-forks-") as folder:
        where = f"{folder}/socket"
        _write_python(Path(folder) / "python", where)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(where)
            listener.listen(64)  # who asks before everything is loaded waits
            number = listener.fileno()
            command = [sys.executable, "-m", "tests.forked.server", str(number), where]
            root = Path(__file__).parents[2]
            server = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, pass_fds=(number,))
        with server:
            yield where
            assert server.stdin is not None
            server.stdin.close()
