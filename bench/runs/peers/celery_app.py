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

_lock = threading.Lock()
_counter: mmap.mmap | None = None
_done = 0


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
    global _counter, _done
    with _lock:
        if _counter is None:
            path = folder / f"done-{os.getpid()}"
            path.write_bytes(SLOT.pack(0))
            with path.open("r+b") as file:
                _counter = mmap.mmap(file.fileno(), SLOT.size)
        _done += 1
        SLOT.pack_into(_counter, 0, _done)


@signals.worker_ready.connect
def _ready(**_: Any) -> None:
    (folder / "ready").touch()
