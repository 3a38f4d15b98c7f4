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
_KEPT_BYTES = 8 * 1024 * 1024
_MAPPED_BYTES = 4 * 1024 * 1024
# Hundreds of concurrent runs are thousands of small objects, almost none of them in a cycle. Collecting after every
# 700 new objects, Python's default, takes a tenth of a busy node's time.
COLLECT_AFTER = 10_000
# What is under way between two of our processes, at most; the kernel gives less where it has been told to.
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
    """Keep some megabytes that were freed instead of returning them to the kernel.

    The tree of a page is large and short-lived: returned and fetched anew for each page, its memory takes a quarter of
    the time of reading. Children inherit it.
    """
    _set_malloc({_M_TRIM_THRESHOLD: _KEPT_BYTES, _M_MMAP_THRESHOLD: _MAPPED_BYTES})


def _set_malloc(options: dict[int, int]) -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # of glibc; other C libraries have none of these
    if mallopt is not None:
        for name, value in options.items():
            mallopt(name, value)


def load_structlog_alone() -> None:
    """Without Rich, which structlog loads for tracebacks where it is installed: three megabytes in every process.

    Tables at a terminal load it when they are shown.
    """
    load_without("rich", "structlog")


def load_without(spared: str, module: str) -> None:
    """Import a module as if its optional dependency were not installed."""
    if module in sys.modules or spared in sys.modules:
        return
    sys.modules[spared] = None  # type: ignore[assignment]  # how Python marks what must not be imported
    try:
        importlib.import_module(module)
    finally:
        del sys.modules[spared]


def make_link() -> tuple[socket.socket, socket.socket]:
    """Return a socket pair with large buffers: a writer that waits for room is woken again and again."""
    ends = socket.socketpair()
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LINK_BYTES)
    return ends


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent dies, whatever it is doing then."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # the parent died before this call
        os._exit(0)


def process_state(pid: int) -> str:
    """Return the state letter of the kernel, such as `T` for stopped; empty if the process is gone."""
    try:
        # The name of a program may hold spaces and parentheses; the state stands behind the last one.
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


class OomKills:
    """Counts processes of this control group that the kernel killed for lack of memory."""

    def __init__(self) -> None:
        self._counter = _oom_counter()
        self._seen = 0
        self._seen = self._read()

    def count_new(self) -> int:
        """Return the number since the last call."""
        before, self._seen = self._seen, self._read()
        return self._seen - before

    def _read(self) -> int:
        try:
            lines = [] if self._counter is None else self._counter.read_text().splitlines()
        except OSError:
            return self._seen
        return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def _oom_counter() -> Path | None:
    """`memory.events` of control groups v2, or `memory.oom_control` of v1."""
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
