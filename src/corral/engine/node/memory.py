"""The memory limit of workers: a worker beyond it gets no new runs and is replaced when its runs have ended."""

import contextlib
import os
import time
from pathlib import Path

import structlog

from corral.domain.runs.loss import DeathCause
from corral.engine.node.pool import WorkerPool, WorkerProcess

log = structlog.get_logger()

_EVERY_S = 1.0
# A worker beyond one and a half times the limit is killed: its current runs may be the cause of the growth.
_KILL_FACTOR = 1.5
_PAGE = 4096
# The default limit is half of the memory divided by the workers, within these bounds. An idle worker takes 30 MiB, one
# with a hundred runs a few hundred; beyond 2 GiB it leaks or parses something absurd.
_MIN_MIB = 512
_MAX_MIB = 2048
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def default_limit_mib(workers: int, machine_mib: float | None = None) -> int:
    """Return the default memory limit of each worker process."""
    memory_mib = available_mib() if machine_mib is None else machine_mib
    return round(min(_MAX_MIB, max(_MIN_MIB, memory_mib / 2 / workers)))


def available_mib() -> float:
    """Return the memory of the machine, or of the container that this process runs in."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CGROUP_LIMITS:
        with contextlib.suppress(OSError, ValueError):  # missing, or "max"
            limits.append(int(path.read_text()))
    return min(limits) / 2**20


class MemoryLimit:
    def __init__(self, pool: WorkerPool, limit_mib: int) -> None:
        self._pool = pool
        self._limit_mib = limit_mib
        self._next = 0.0

    def enforce(self) -> None:
        """Check the memory, at most once a second."""
        now = time.monotonic()
        if not self._limit_mib or now < self._next:
            return
        self._next = now + _EVERY_S
        for worker in list(self._pool.workers.values()):
            self._check(worker, _resident_mib(worker.process.pid))

    def _check(self, worker: WorkerProcess, mib: float) -> None:
        if mib > self._limit_mib * _KILL_FACTOR and worker.held and not worker.retiring:
            why = f"killed at {mib:.0f} MiB of memory ({self._limit_mib} are allowed)"
            log.warning("worker_memory_exceeded_killed", pid=worker.process.pid, mib=round(mib))
            self._pool.kill_for(worker, why, DeathCause.MEMORY)
        elif mib > self._limit_mib or worker.outgrown:
            if not worker.outgrown:
                log.info("worker_memory_exceeded_replaced", pid=worker.process.pid, mib=round(mib))
            worker.outgrown = True
            if not worker.held:
                self._pool.kill(worker)


def _resident_mib(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 2**20
    except (OSError, IndexError, ValueError):  # the process has ended; the pool handles that
        return 0.0
