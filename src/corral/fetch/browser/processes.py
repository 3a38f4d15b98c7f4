"""Processes of ours as /proc shows them. Where there is no /proc, nothing is found and nothing is ended by force."""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process, not a number: the number may be somebody else's by now."""

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "ProcessRecord | None":
        ticks = _start_ticks(pid)
        return None if ticks is None else cls(pid, ticks)

    @classmethod
    def parse(cls, line: str) -> "ProcessRecord | None":
        parts = line.split()
        return cls(int(parts[0]), int(parts[1])) if len(parts) == 2 and all(map(str.isdigit, parts)) else None

    def __str__(self) -> str:
        return f"{self.pid} {self.start_ticks}"

    @property
    def is_alive(self) -> bool:
        return _start_ticks(self.pid) == self.start_ticks

    def kill(self) -> None:
        """End it, and its group where it leads one."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not self.is_alive:
                return
            if os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)


def _start_ticks(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat; None for a process that is gone or only waits to be buried."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The second field is the name, in brackets, and may contain anything.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def descendants(pid: int) -> Iterator[int]:
    """Every process below this one, parents first."""
    waiting = [pid]
    while waiting:
        below = list(children(waiting.pop()))
        yield from below
        waiting += below


def children(pid: int) -> Iterator[int]:
    # It may go at any moment, in the middle of this too.
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
    except OSError:
        return
    for thread in threads:
        with contextlib.suppress(OSError):
            yield from map(int, (thread / "children").read_text().split())


def carries(pid: int, marker: str) -> bool:
    """True where the process was started with this in its environment, as `NAME=value`."""
    try:
        return marker.encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def is_renderer(pid: int) -> bool:
    """True for a Chromium process that holds pages, and whose end costs only those."""
    return _has_argument(pid, b"--type=renderer")


def is_zygote(pid: int) -> bool:
    """True for a Chromium process that all its renderers are made from; without one there is no further page."""
    return _has_argument(pid, b"--type=zygote")


def _has_argument(pid: int, argument: bytes) -> bool:
    try:
        return argument in (_PROC / str(pid) / "cmdline").read_bytes().replace(b" ", b"\0").split(b"\0")
    except OSError:
        return False


def resident_bytes(pid: int) -> int:
    """Memory of its own: pages that are shared, such as the program text, would be counted once per process."""
    try:
        fields = (_PROC / str(pid) / "statm").read_text().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE_BYTES
