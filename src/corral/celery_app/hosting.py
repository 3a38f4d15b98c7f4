"""The node of this process, started on first use."""

import threading
from concurrent.futures import Future

from corral.celery_app.host import NodeHost
from corral.domain.runs.queues import EVERY_QUEUE, Queue
from corral.engine.node.sources import RunDelivery
from corral.log import configure_logging
from corral.runtime.private_files import keep_files_private
from corral.settings import Settings, Transport, load_settings

_lock = threading.Lock()
_host: NodeHost | None = None
configured: Settings | None = None  # from the command line; otherwise from the environment


def start(concurrency: int, queues: tuple[Queue, ...]) -> NodeHost:
    """Start the node of this process, once. `concurrency` counts the runs of all its worker processes together."""
    global _host  # noqa: PLW0603 - one per process is the point
    settings = configured or load_settings()
    configure_logging(settings.log_level)
    keep_files_private()
    workers = min(settings.workers, max(1, concurrency))
    runs_per_process = -(-concurrency // workers)
    browsers = min(settings.browser_concurrency, runs_per_process)
    resized = settings.model_copy(
        update={
            "workers": workers,
            "runs_per_process": runs_per_process,
            "browser_concurrency": browsers,
            "transport": Transport.CELERY,
        }
    )
    with _lock:
        if _host is None:
            host = NodeHost(resized, queues)
            host.start()
            _host = host
        return _host


def the_host() -> NodeHost:
    settings = configured or load_settings()
    return _host or start(settings.workers * settings.runs_per_process, EVERY_QUEUE)


def execute(run_id: str) -> str:
    """Wait until this node has executed or declined the run; return which, as a text for Celery."""
    done: Future[str] = Future()
    the_host().deliver(RunDelivery(run_id, lambda: None, done.set_result))
    return done.result()


def begin_stop() -> None:
    if _host is not None:
        _host.begin_stop()


def wait_stopped() -> None:
    if _host is not None:
        _host.wait_stopped()


def stop_now() -> None:
    if _host is not None:
        _host.stop_now()
