"""Find and kill our own processes with the help of /proc. Without /proc, nothing is found and nothing is killed."""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class BrowserProcess:
    """A process by pid and start time: a pid alone may be reused."""

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "BrowserProcess | None":
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks)

    @classmethod
    def parse(cls, line: str) -> "BrowserProcess | None":
        parts = line.split()
        return cls(int(parts[0]), int(parts[1])) if len(parts) == 2 and all(map(str.isdigit, parts)) else None

    def __str__(self) -> str:
        return f"{self.pid} {self.start_ticks}"

    @property
    def is_alive(self) -> bool:
        return _start_ticks(self.pid) == self.start_ticks

    def kill(self) -> None:
        """Kill the process, and its group if it leads one."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not self.is_alive:
                return
            if os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)


def _start_ticks(pid: int) -> int | None:
    """Return field 22 of /proc/PID/stat; None for a process that is gone or a zombie."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The second field is the name in parentheses, which may contain anything.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def descendants(pid: int) -> Iterator[int]:
    """Yield all descendants, parents first."""
    waiting = [pid]
    while waiting:
        below = list(children(waiting.pop()))
        yield from below
        waiting += below


def children(pid: int) -> Iterator[int]:
    # The process may end at any moment.
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        with contextlib.suppress(OSError):
            yield from map(int, (thread / "children").read_text().split())


def carries(pid: int, marker: str) -> bool:
    """True if the environment of the process contains this `NAME=value`."""
    try:
        return marker.encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def is_renderer(pid: int) -> bool:
    """True for a Chromium renderer: killing it ends only its pages."""
    return _has_argument(pid, b"--type=renderer")


def is_zygote(pid: int) -> bool:
    """True for a Chromium zygote, which forks all renderers: without it no page can open."""
    return _has_argument(pid, b"--type=zygote")


def _has_argument(pid: int, argument: bytes) -> bool:
    try:
        return argument in (_PROC / str(pid) / "cmdline").read_bytes().replace(b" ", b"\0").split(b"\0")
    except OSError:
        return False


def resident_bytes(pid: int) -> int:
    """Return private memory: shared pages, such as program text, would be counted for every process."""
    try:
        fields = (_PROC / str(pid) / "statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
