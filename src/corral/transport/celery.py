"""Hints by Celery: one `runs.execute(run_id)` message per run, sent to its queue. Best effort, from a thread."""

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import structlog
from celery import Celery
from kombu.entity import Exchange
from kombu.entity import Queue as BrokerQueue

from corral.domain.jobs.job import Priority
from corral.domain.runs.queues import EVERY_QUEUE, Hint, Queue

log = structlog.get_logger()

EXECUTE = "runs.execute"
SWEEP = "runs.sweep"
SWEEP_EVERY_S = 1.0
# Redis keeps a list per priority step and reads the first one first.
STEPS = {Priority.CRITICAL: 0, Priority.HIGH: 3, Priority.MEDIUM: 6, Priority.LOW: 9}

_MAX_UNSENT = 20_000
_AT_ONCE = 200
_PAUSE_S = 1.0
_FLUSH_S = 2.0
_SENT_WITHIN_S = 2.0


def make_celery(broker_url: str, **more: Any) -> Celery:
    """Return a Celery app for hints: JSON only, acknowledged before the work, without delays and results.

    A lost message costs nothing, because the lease in the database recovers the run.
    """
    app = Celery("corral", set_as_current=False)
    app.conf.update(
        broker_url=broker_url,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "priority_steps": sorted(STEPS.values()),
            "queue_order_strategy": "priority",
            "socket_keepalive": True,
            "health_check_interval": 10,
            "socket_connect_timeout": 2,
            "retry_on_timeout": False,
        },
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        task_acks_late=False,
        task_default_queue=Queue.HTTP.value,
        task_queues=[_queue(name.value) for name in EVERY_QUEUE],
        task_create_missing_queues=False,
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        # A sweep that no node takes at once is useless a moment later.
        beat_schedule={
            "sweep": {
                "task": SWEEP,
                "schedule": SWEEP_EVERY_S,
                "options": {"queue": Queue.HTTP.value, "priority": 0, "expires": 3 * SWEEP_EVERY_S, "retry": False},
            }
        },
        beat_max_loop_interval=SWEEP_EVERY_S,
        # Beat needs no state: the next sweep makes up for a missed one.
        beat_scheduler="celery.beat:Scheduler",
        **more,
    )
    return app


def _queue(name: str) -> BrokerQueue:
    return BrokerQueue(name, Exchange(name), routing_key=name)  # type: ignore[no-untyped-call]


class CeleryHints:
    """Sends hints from a separate thread, one after the other; drops them while there is no broker."""

    def __init__(self, app: Celery) -> None:
        # A frozen broker must not block the sending thread: later hints would wait behind the first forever.
        options = {**app.conf.broker_transport_options, "socket_timeout": _SENT_WITHIN_S}
        app.conf.broker_transport_options = options
        self._app = app
        self._unsent: deque[Hint] = deque(maxlen=_MAX_UNSENT)
        self._has_hints = threading.Event()
        self._stopping = threading.Event()
        self._is_down = False
        self._producer: Any = None  # with its own connection; None after a failure
        self._thread = threading.Thread(target=self._send_all, name="hints", daemon=True)
        self._thread.start()

    def send(self, hints: Sequence[Hint]) -> None:
        self._unsent.extend(hints)
        self._has_hints.set()

    def close(self) -> None:
        """Send the remaining hints, if that takes only a moment."""
        self._stopping.set()
        self._has_hints.set()
        self._thread.join(_FLUSH_S)

    def _send_all(self) -> None:
        while True:
            self._has_hints.wait()
            self._has_hints.clear()
            while self._unsent:
                try:
                    self._send_some()
                except Exception:  # noqa: BLE001 - see below
                    self._reconnect()
            if self._stopping.is_set():
                self._disconnect()
                return

    def _reconnect(self) -> None:
        """Send over a new connection: the old one may lead to a broker that has ended."""
        self._disconnect()
        try:
            self._send_some()
        except Exception as error:  # noqa: BLE001 - the thread must survive any error to send later hints
            self._disconnect()
            self._drop_hints(error)
            self._stopping.wait(_PAUSE_S)

    def _send_some(self) -> None:
        if self._producer is None:
            connection = self._app.connection_for_write()
            connection.connect()  # once: by default it would retry until there is a broker
            self._producer = self._app.amqp.Producer(connection.channel(), auto_declare=False)
        for _ in range(_AT_ONCE):
            if not self._unsent:
                break
            self._send_hint(self._unsent[0], self._producer)
            self._unsent.popleft()
        if self._is_down:
            log.info("broker_reconnected")
            self._is_down = False

    def _disconnect(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(Exception):  # the hint is dropped in any case
                producer.channel.connection.client.close()

    def _send_hint(self, hint: Hint, producer: Any) -> None:
        self._app.send_task(
            EXECUTE,
            args=[hint.run_id],
            task_id=hint.run_id,  # `celery inspect` and Flower show a run under its own id
            queue=hint.queue.value,
            priority=STEPS[hint.priority],
            producer=producer,
            retry=False,
        )

    def _drop_hints(self, error: Exception) -> None:
        """Drop the hints while the broker is down: a node with room finds the runs in the database."""
        if not self._is_down:
            log.warning("broker_hints_dropped", reason=str(error))
        self._is_down = True
        self._unsent.clear()
