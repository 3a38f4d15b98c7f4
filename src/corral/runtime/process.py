"""Process setup: event loop, garbage collection, memory, and the tie to the parent process."""

import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_ARENAS = 2
_TRIM_THRESHOLD_BYTES = 8 * 1024 * 1024
_MMAP_THRESHOLD_BYTES = 4 * 1024 * 1024
# Hundreds of concurrent runs are thousands of small objects, almost none of them in a cycle. Collecting after every
# 700 new objects, Python's default, takes a tenth of a busy node's time.
COLLECT_AFTER = 10_000
# Send buffer of a link between two of our processes. The kernel grants less if net.core.wmem_max is lower.
_LINK_BYTES = 1024 * 1024


def serve(work: Coroutine[Any, Any, T]) -> T:
    """Run a long-lived coroutine until it ends."""
    import uvloop  # noqa: PLC0415 - a worker sends heartbeats before this is loaded

    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    return uvloop.run(work)


def limit_malloc_arenas() -> None:
    """Limit malloc arenas: one per thread costs memory, and threads that wait for the interpreter lock gain nothing."""
    _set_malloc({_M_ARENA_MAX: _ARENAS})


def keep_freed_memory() -> None:
    """Keep some megabytes of freed memory instead of returning them to the kernel. Children inherit this.

    The tree of a page is large and short-lived: returning and requesting its memory again for each page would take a
    quarter of the time of reading.
    """
    _set_malloc({_M_TRIM_THRESHOLD: _TRIM_THRESHOLD_BYTES, _M_MMAP_THRESHOLD: _MMAP_THRESHOLD_BYTES})


def _set_malloc(options: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries than glibc have no mallopt
    if mallopt is not None:
        for name, value in options.items():
            mallopt(name, value)


def load_structlog_alone() -> None:
    """Load structlog without Rich, which it would import for tracebacks: three megabytes in every process.

    Commands that print tables on a terminal load Rich themselves.
    """
    load_without("rich", "structlog")


def load_without(excluded: str, module: str) -> None:
    """Import a module as if its optional dependency were not installed."""
    if module in sys.modules or excluded in sys.modules:
        return
    sys.modules[excluded] = None  # type: ignore[assignment]  # makes the import of this name fail
    try:
        importlib.import_module(module)
    finally:
        del sys.modules[excluded]


def make_link() -> tuple[socket.socket, socket.socket]:
    """Return a socket pair with large buffers: with small ones a writer wakes up many times for one message."""
    ends = socket.socketpair()
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LINK_BYTES)
    return ends


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent dies, whatever it is doing then."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # the parent died before this call
        os._exit(0)


def environment_without_settings() -> dict[str, str]:
    """Return the environment for a child process. Settings hold secrets, which no script may see."""
    return {name: value for name, value in os.environ.items() if not name.startswith("APP_")}


def process_state(pid: int) -> str:
    """Return the state letter of the kernel, such as `T` for stopped; empty if the process is gone."""
    try:
        # The name of the program may contain spaces and parentheses; the state follows the last parenthesis.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


class OomKills:
    """Counts processes of this control group that the kernel killed for lack of memory."""

    def __init__(self) -> None:
        self._counter = _oom_counter()
        self._last_count = 0
        self._last_count = self._read()

    def count_new(self) -> int:
        """Return the number since the last call."""
        before, self._last_count = self._last_count, self._read()
        return self._last_count - before

    def _read(self) -> int:
        try:
            lines = [] if self._counter is None else self._counter.read_text().splitlines()
        except OSError:
            return self._last_count
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _oom_counter() -> Path | None:
    """Return the file with the counter: `memory.events` of control groups v2, or `memory.oom_control` of v1."""
    try:
        groups = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return None
    for _, controllers, path in groups:
        if controllers == "":
            candidate = Path(f"/sys/fs/cgroup{path}/memory.events")
        elif "memory" in controllers.split(","):
            candidate = Path(f"/sys/fs/cgroup/memory{path}/memory.oom_control")
        else:
            continue
        if candidate.exists():
            return candidate
    return None
