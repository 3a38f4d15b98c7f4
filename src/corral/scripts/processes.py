"""The processes of a script, as /proc lists them.

The script host loads this module, so it uses the standard library only.
"""

import contextlib
import os
import signal
from collections.abc import Iterator

_PAGE_MIB = 4096 / 2**20


class ProcessTree:
    """The descendants of this process. In its own process namespace, these are all other processes of /proc."""

    def __init__(self, *, owns_proc: bool) -> None:
        self._owns_proc = owns_proc
        self._me = os.getpid()

    def list_pids(self) -> list[int]:
        """Return the processes that have not ended; zombies only wait for their parent."""
        if self._owns_proc:
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
        else:
            pids = list(_descendants(self._me))
        return [pid for pid in pids if pid != self._me and _read_state(pid)[0] not in "ZX"]

    def memory_mib(self, pids: list[int]) -> float:
        """Return the resident memory without shared pages."""
        total = 0
        for pid in pids:
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123
                    fields = file.read().split()
                total += int(fields[1]) - int(fields[2])
        return total * _PAGE_MIB

    def kill_all(self) -> None:
        """Kill all processes. In a process namespace one signal reaches all of them, also while they fork."""
        if self._owns_proc:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
            return
        # Stopped processes cannot start others while the rest is killed.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for _ in range(100):
                pids = [pid for pid in self.list_pids() if number is signal.SIGKILL or _read_state(pid)[0] not in "Tt"]
                if not pids:
                    break
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, number)


def _read_state(pid: int) -> tuple[str, int]:
    """Return the state letter and the parent of a process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1])
    except (OSError, IndexError, ValueError):
        return "X", 0


def _descendants(pid: int) -> Iterator[int]:
    """Yield all processes below this one, from the kernel's lists of children, else from all of /proc."""
    if os.path.exists(f"/proc/{pid}/task/{pid}/children"):  # noqa: PTH110
        yield from _walk_children(pid)
        return
    parents = {int(name): _read_state(int(name))[1] for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
    descendants = {pid}
    while more := {child for child, parent in parents.items() if parent in descendants} - descendants:
        descendants |= more
    yield from descendants - {pid}


def _walk_children(pid: int) -> Iterator[int]:
    """Yield all descendants, without recursion: a chain of forks may be long."""
    waiting = [pid]
    while waiting:
        children = list(_children_of(waiting.pop()))
        yield from children
        waiting += children


def _children_of(pid: int) -> Iterator[int]:
    """Yield the children of a process; each thread has its own."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                yield from map(int, file.read().split())


def count_processes_of_user() -> int:
    """Return about the number that RLIMIT_NPROC counts: the threads of all processes of the user."""
    uid, count = os.getuid(), 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}").st_uid == uid:  # noqa: PTH116
                    count += len(os.listdir(f"/proc/{name}/task"))  # noqa: PTH208
    return count
