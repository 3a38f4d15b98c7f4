"""A Celery worker as `corral worker` starts it: quiet, with its own name and Corral's pool."""

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
    """Run until a stop is requested; return the exit code."""
    hosting.configured = settings
    # Celery warns root about pickled messages; Corral accepts only JSON.
    warnings.simplefilter("ignore", SecurityWarning)

    def ready(**_: Any) -> None:
        _install_stop_handlers()
        if beat:
            # A thread, because a fork would inherit the connections of the node. The scheduler is passed
            # explicitly: the default one of the embedded service keeps a file in the working directory.
            EmbeddedService(app, thread=True, scheduler_cls=app.conf.beat_scheduler).start()
        announce()

    def configure_celery_logging(**_: Any) -> None:
        """Log only Celery's warnings: a line for every message would be most of the log."""
        configure_logging(settings.log_level)
        logging.getLogger("celery").setLevel(logging.DEBUG if settings.log_level == "debug" else logging.WARNING)

    # Start the node before Celery, so that its errors are reported like those of other commands.
    concurrency = settings.workers * settings.runs_per_process
    hosting.start(concurrency, tuple(queues))
    signals.setup_logging.connect(configure_celery_logging, weak=False)
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
    """Exit soon after the node: a broker that does not answer would keep Celery from exiting."""
    hosting.wait_stopped()
    time.sleep(_CELERY_ENDS_WITHIN_S)
    logging.shutdown()
    os._exit(0)


def _install_stop_handlers() -> None:
    """Make the first stop signal end claiming at once, before Celery stops consuming, and the second one stop runs."""
    for number in (signal.SIGTERM, signal.SIGINT):
        first = signal.getsignal(number)
        received: list[int] = []

        def stop(caught: int, frame: Any, first: Any = first, received: list[int] = received) -> None:
            received.append(caught)
            if len(received) > 1:
                hosting.stop_now()
                return
            hosting.begin_stop()
            threading.Thread(target=_leave_without_celery, name="leave", daemon=True).start()
            if callable(first):
                first(caught, frame)

        signal.signal(number, stop)
