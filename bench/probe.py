"""Small measuring tools shared by the competitors."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil


def percentile(samples: Iterable[float], share: float) -> float:
    """The nearest-rank percentile; `share` is between 0 and 1."""
    ordered = sorted(samples)
    if not ordered:
        raise ValueError("no samples")
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def latency_ms(call: Callable[[], object], samples: int) -> tuple[float, float]:
    """The p50 and p99 of calling one after the other, in milliseconds."""
    taken = []
    for _ in range(samples):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    return percentile(taken, 0.50), percentile(taken, 0.99)


def memory_mb(pids: Iterable[int]) -> float:
    """Proportional memory of these processes and all their descendants: shared pages count once."""
    processes: dict[int, psutil.Process] = {}
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            root = psutil.Process(pid)
            processes.update((process.pid, process) for process in (root, *root.children(recursive=True)))
    total = 0
    for process in processes.values():
        with contextlib.suppress(psutil.NoSuchProcess):
            try:
                total += process.memory_full_info().pss
            except psutil.AccessDenied:
                total += process.memory_info().rss
    return total / 2**20


def wait_until(ready: Callable[[], bool], timeout_s: float, what: str, pause_s: float = 0.01) -> None:
    """Poll until it holds, or say what did not happen."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(pause_s)


def wait_for_file(path: Path, process: subprocess.Popen[bytes], timeout_s: float = 30.0) -> None:
    """Wait for the file by which a worker process says that it is ready."""

    def there() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"worker ended with status {process.returncode}")
        return path.exists()

    wait_until(there, timeout_s, f"{path.name} of a worker", pause_s=0.002)


def stop(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """Ask workers to end, and end those that do not."""
    waiting = list(processes)
    for process in waiting:
        if process.poll() is None:
            process.terminate()
    for process in waiting:
        try:
            process.wait(8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
