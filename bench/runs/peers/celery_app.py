"""The Celery application that the worker and the enqueuer share; configured from the environment.

Finished tasks are counted in memory-mapped files, one per worker process, so counting costs no round trip.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from pathlib import Path
from typing import Any

from celery import Celery, signals

SLOT = struct.Struct("<Q")
folder = Path(os.environ["BENCH_FOLDER"])
backend = os.environ.get("BENCH_RESULTS") or None

app = Celery("bench", broker=os.environ["BENCH_BROKER"], backend=backend)
app.conf.update(
    task_serializer="json",
    accept_content=["json"],
    result_serializer="json",
    task_ignore_result=backend is None,
    task_acks_late=os.environ["BENCH_ACKS_LATE"] == "1",
    worker_prefetch_multiplier=int(os.environ["BENCH_PREFETCH"]),
    worker_disable_rate_limits=True,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    task_store_eager_result=False,
)


class _Counter:
    """How many tasks this process has finished, in a file that the enqueuer can read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.value = 0
        self.page: mmap.mmap | None = None

    def add(self) -> None:
        with self.lock:
            if self.page is None:
                self.page = self._map()
            self.value += 1
            SLOT.pack_into(self.page, 0, self.value)

    def _map(self) -> mmap.mmap:
        path = folder / f"done-{os.getpid()}"
        path.write_bytes(SLOT.pack(0))
        with path.open("r+b") as file:
            return mmap.mmap(file.fileno(), SLOT.size)


_counter = _Counter()


def done() -> int:
    """How many tasks all worker processes have finished."""
    contents = [path.read_bytes() for path in folder.glob("done-*")]
    return sum(SLOT.unpack(content)[0] for content in contents if content)


@app.task(name="noop")
def noop(number: int) -> None:
    """Nothing."""


@signals.task_postrun.connect
def _count(**_: Any) -> None:
    """Runs after the result has been stored."""
    _counter.add()


@signals.worker_ready.connect
def _ready(**_: Any) -> None:
    (folder / "ready").touch()
