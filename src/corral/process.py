"""How our processes begin: those that serve for long, and those that are started by another."""

import ctypes
import gc
import os
import signal
import socket
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1
# Hundreds of runs under way are thousands of small objects, next to none of them in a cycle. Looking for cycles after
# every 700 new ones, as Python does by itself, takes a tenth of a busy node's time.
COLLECT_AFTER = 10_000
# What is under way between two of our processes, at most; the kernel gives less where it has been told to.
_LINK_BYTES = 1024 * 1024


def serve(work: Coroutine[Any, Any, T]) -> T:
    """Run what serves until it is told to stop."""
    import uvloop  # noqa: PLC0415 - a worker's heart beats before this is loaded

    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    return uvloop.run(work)


def linked() -> tuple[socket.socket, socket.socket]:
    """Two ends with room for several pages: a writer that waits for room is woken again and again."""
    ends = socket.socketpair()
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LINK_BYTES)
    return ends


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent dies, whatever it is doing then."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before we asked
        os._exit(0)
