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

# With this in its environment, a fork has forks for its workers and parsers, too.
WORKERS = "CORRAL_TEST_FORKED_WORKERS"
# Where forks are to be had; the processes that share the tests share the one who gives them.
_ADDRESS = "CORRAL_TEST_FORKS"
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


def command(module: str = "corral") -> tuple[str, ...]:
    """What is started instead of `python -m MODULE`: it passes on signals, and ends as the fork ends."""
    where = address()
    return (sys.executable, "-I", "-S", str(_CLIENT), where, module) if where else (sys.executable, "-m", module)


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


def install(folder: Path) -> None:
    """Put it into a folder by the name of `corral`."""
    program = folder / "corral"
    words = " ".join(f"'{word}'" for word in command())
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)


def _write_python(program: Path, where: str) -> None:
    """Python, except for workers and parsers."""
    program.write_text(
        f'#!/bin/sh\ncase "$1 $2" in "-m corral.entrypoints.worker_process"|"-m corral.entrypoints.parser_process")\n'
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
