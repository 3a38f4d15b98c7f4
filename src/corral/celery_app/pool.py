"""Corral's pool for Celery. Runs go to the node, which executes many at once; other tasks go to a few threads.

Other pools work, too: there the task itself waits for the node, which costs a thread or a process for each run.
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
        # Filled by the node's thread for Celery's: an acknowledgement is a round trip to the broker.
        self._said: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def on_start(self) -> None:
        consumed = {Queue(name) for name in self.app.amqp.queues.consume_from if name in set(Queue)}
        self._host = hosting.start(int(self.limit or 1), tuple(sorted(consumed)))

    def on_stop(self) -> None:
        self._host.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._hear_all()

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
            self._say(lambda: done((0, how, time.monotonic() - began)))

        def report_start() -> None:
            self._say(lambda: accepted(os.getpid(), time.monotonic()))

        run_id = _read_run_id(args[3])
        if run_id is None:
            # Anyone can send a message; an exception here would end this worker, and the next one that gets it.
            report_start()
            report_end("no run is named")
            return
        self._host.ask(RunDelivery(run_id, report_start, report_end))

    def register_with_event_loop(self, hub: Any) -> None:
        hub.add_reader(self._bell, self._hear_all)

    def _say(self, said: Callable[[], None]) -> None:
        self._said.put(said)
        os.eventfd_write(self._bell, 1)

    def _hear_all(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        while True:
            try:
                said = self._said.get_nowait()
            except queue.Empty:
                return
            try:
                said()
            except Exception as error:  # noqa: BLE001 - the broker is away; the message will come again, for nothing
                log.warning("message_acknowledge_failed", reason=str(error) or type(error).__name__)

    def _get_info(self) -> dict[str, Any]:
        return {**super()._get_info(), "runs": "executed by the node of this worker"}


def _read_run_id(body: str | bytes | memoryview) -> str | None:
    """Return the run id of a `runs.execute(run_id)` message, or None if it is malformed."""
    try:
        given, named, *_ = json.loads(body if isinstance(body, str) else bytes(body))
        found = given[0] if given else named["run_id"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return found if isinstance(found, str) else None
