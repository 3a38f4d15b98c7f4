"""A Celery worker as `corral worker` starts it: quiet, with a name of its own, and no other pool than ours."""

import logging
import os
import platform
import signal
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from celery import signals
from celery.beat import EmbeddedService
from celery.platforms import SecurityWarning

from corral.celery_app import app, hosting
from corral.domain.runs.queues import Queue
from corral.log import configure_logging
from corral.settings import Settings

_CELERY_ENDS_WITHIN_S = 0.3


def work(settings: Settings, queues: Sequence[Queue], *, beat: bool, announce: Callable[[], None]) -> int:
    """Until it is told to stop; the exit code."""
    hosting.configured = settings
    # It warns root of pickled messages, of which there are none: only JSON is accepted.
    warnings.simplefilter("ignore", SecurityWarning)

    def ready(**_: Any) -> None:
        _hurry_at_the_second_signal()
        if beat:
            # A thread: a fork would hold on to the connections of the node. The embedded service does not look at
            # the configured scheduler by itself, and its own keeps a file in the working directory.
            EmbeddedService(app, thread=True, scheduler_cls=app.conf.beat_scheduler).start()
        announce()

    def logging_as_ours(**_: Any) -> None:
        """Of Celery only what is wrong: a line for every message would be most of the log."""
        configure_logging(settings.log_level)
        logging.getLogger("celery").setLevel(logging.DEBUG if settings.log_level == "debug" else logging.WARNING)

    # Before Celery: what keeps the node from starting is said as everywhere else.
    concurrency = settings.workers * settings.runs_per_process
    hosting.start(concurrency, tuple(queues))
    signals.setup_logging.connect(logging_as_ours, weak=False)
    signals.worker_ready.connect(ready, weak=False)
    worker = app.Worker(
        hostname=f"corral-{os.getpid()}@{platform.node()}",
        concurrency=concurrency,
        queues=[str(queue) for queue in queues],
        quiet=True,
        without_mingle=True,
        without_gossip=True,
        loglevel=settings.log_level.upper(),
    )
    worker.start()
    return int(worker.exitcode or 0)


def _leave_without_celery() -> None:
    """End soon after the node has: a broker that does not answer would keep Celery from ending at all."""
    hosting.wait_stopped()
    time.sleep(_CELERY_ENDS_WITHIN_S)
    logging.shutdown()
    os._exit(0)


def _hurry_at_the_second_signal() -> None:
    """The first one makes Celery stop consuming, which takes it a while; the node stops claiming at once."""
    for number in (signal.SIGTERM, signal.SIGINT):
        first = signal.getsignal(number)
        asked: list[int] = []

        def stop(caught: int, frame: Any, first: Any = first, asked: list[int] = asked) -> None:
            asked.append(caught)
            if len(asked) > 1:
                hosting.stop_now()
                return
            hosting.begin_stop()
            threading.Thread(target=_leave_without_celery, name="leave", daemon=True).start()
            if callable(first):
                first(caught, frame)

        signal.signal(number, stop)
