"""Corral's pool for Celery. Runs go to the node, which executes many at once; other tasks go to a few threads.

Other pools work, too: there each task waits for the node itself, which costs a thread or a process per run.
"""

import contextlib
import json
import os
import queue
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from celery.concurrency.base import BasePool, apply_target

from corral.celery_app import hosting
from corral.domain.runs.queues import Queue
from corral.engine.node.sources import RunDelivery
from corral.transport.celery import EXECUTE

log = structlog.get_logger()

_THREADS = 2


class NodePool(BasePool):  # type: ignore[misc]  # publishes no types
    signal_safe = False
    body_can_be_buffer = True

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="task")
        # Callbacks from the node's thread for Celery's thread: an acknowledgement is a round trip to the broker.
        self._callbacks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._wakeup_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def on_start(self) -> None:
        consumed = {Queue(name) for name in self.app.amqp.queues.consume_from if name in set(Queue)}
        self._host = hosting.start(int(self.limit or 1), tuple(sorted(consumed)))

    def on_stop(self) -> None:
        self._host.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._run_callbacks()

    def on_terminate(self) -> None:
        self._host.stop_now()
        self.on_stop()

    def terminate_job(self, pid: int, signal: Any = None) -> None:
        """Ignore revoke(terminate=True): a run is cancelled through Corral."""

    def on_apply(self, target: Any, args: Any = None, kwargs: Any = None, **options: Any) -> None:
        accepted, done = options["accept_callback"], options["callback"]
        if args[0] != EXECUTE:
            self._threads.submit(apply_target, target, args, kwargs, done, accepted)
            return
        began = time.monotonic()

        def report_end(how: str) -> None:
            self._enqueue(lambda: done((0, how, time.monotonic() - began)))

        def report_start() -> None:
            self._enqueue(lambda: accepted(os.getpid(), time.monotonic()))

        run_id = _read_run_id(args[3])
        if run_id is None:
            # Any client can send a message. An exception here would end this worker, and each that receives it next.
            report_start()
            report_end("no run is named")
            return
        self._host.deliver(RunDelivery(run_id, report_start, report_end))

    def register_with_event_loop(self, hub: Any) -> None:
        hub.add_reader(self._wakeup_fd, self._run_callbacks)

    def _enqueue(self, callback: Callable[[], None]) -> None:
        self._callbacks.put(callback)
        os.eventfd_write(self._wakeup_fd, 1)

    def _run_callbacks(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wakeup_fd)
        while True:
            try:
                callback = self._callbacks.get_nowait()
            except queue.Empty:
                return
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - the broker is away; it delivers the message again, to no effect
                log.warning("message_acknowledge_failed", reason=str(error) or type(error).__name__)

    def _get_info(self) -> dict[str, Any]:
        return {**super()._get_info(), "runs": "executed by the node of this worker"}


def _read_run_id(body: str | bytes | memoryview) -> str | None:
    """Return the run id of a `runs.execute(run_id)` message, or None if it is malformed."""
    try:
        positional, keywords, *_ = json.loads(body if isinstance(body, str) else bytes(body))
        run_id = positional[0] if positional else keywords["run_id"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return run_id if isinstance(run_id, str) else None
