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


def install(folder: Path) -> None:
    """Put it into a folder by the name of `corral`."""
    program = folder / "corral"
    words = " ".join(f"'{word}'" for word in command())
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(0o755)


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="corral-forks-") as folder:
        where = f"{folder}/socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(where)
            listener.listen(64)  # who asks before everything is loaded waits
            number = listener.fileno()
            command = [sys.executable, "-m", "tests.forked.server", str(number)]
            root = Path(__file__).parents[2]
            server = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, pass_fds=(number,))
        with server:
            yield where
            assert server.stdin is not None
            server.stdin.close()
