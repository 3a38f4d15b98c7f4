"""Starting and ending the programs behind the services."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
import pytest

from tests.forked.process import Process
from tests.waiting import pauses

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class ServiceFailed(Exception):
    """A service did not start; the message ends with its log."""


def find_binary(name: str, *, service: str, directories: Sequence[Path] = ()) -> Path:
    """Where a program is. Without it a laptop skips the test, and CI (CI=true) fails it."""
    path = os.pathsep.join([*map(str, directories), os.environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=path)
    if found:
        return Path(found)
    message = f"{name} is not installed; run `scripts/services {service}`"
    if os.environ.get("CI") == "true":
        raise FileNotFoundError(message)
    pytest.skip(message)


def launch(
    command: Sequence[str | Path], *, directory: Path, log: Path, user: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a program that dies with the thread that started it, even when that one is killed."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=user,
            # A Ctrl-C at the terminal is for pytest, which then stops its services in order.
            start_new_session=True,
            # Runs after the change of user, which would undo it.
            preexec_fn=_die_with_parent,  # noqa: PLW1509
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
        )


def _die_with_parent() -> None:
    if _libc is not None:
        # SIGQUIT: PostgreSQL takes its children along; to everything else it is as good as any.
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)


def wait_until_ready(
    process: subprocess.Popen[bytes], is_ready: Callable[[], bool], *, log: Path, timeout_s: float = 30
) -> None:
    deadline = time.monotonic() + timeout_s
    looks = pauses()
    while not is_ready():
        if process.poll() is not None:
            raise ServiceFailed(f"exit code {process.returncode} at start\n{_tail(log)}")
        if time.monotonic() > deadline:
            raise ServiceFailed(f"not ready after {timeout_s} s\n{_tail(log)}")
        time.sleep(next(looks))


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2000:]


def end(process: Process, how: signal.Signals, *, timeout_s: float = 15) -> None:
    """Send a signal and wait; kill what does not listen."""
    if process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        kill_tree(process)


def kill_tree(process: Process) -> None:
    """SIGKILL for a program and all its descendants, as if the machine had lost power."""
    if process.poll() is not None:
        return
    root = psutil.Process(process.pid)
    root.suspend()  # so that no child is born while we count
    children = root.children(recursive=True)
    for victim in [root, *children]:
        try:
            victim.kill()
        except psutil.NoSuchProcess:
            continue
    process.wait()
    psutil.wait_procs(children, timeout=15)
