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
    """`concurrency` is the number of concurrent runs, in all of its worker processes together."""
    global _host  # noqa: PLW0603 - one per process is the point
    settings = configured or load_settings()
    configure_logging(settings.log_level)
    keep_files_private()
    workers = min(settings.workers, max(1, concurrency))
    each = -(-concurrency // workers)
    browsers = min(settings.browser_concurrency, each)
    sized = settings.model_copy(
        update={
            "workers": workers,
            "runs_per_process": each,
            "browser_concurrency": browsers,
            "transport": Transport.CELERY,
        }
    )
    with _lock:
        if _host is None:
            host = NodeHost(sized, queues)
            host.start()
            _host = host
        return _host


def the_host() -> NodeHost:
    settings = configured or load_settings()
    return _host or start(settings.workers * settings.runs_per_process, EVERY_QUEUE)


def execute(run_id: str) -> str:
    """Wait until the run was executed here, or turns out to belong elsewhere."""
    done: Future[str] = Future()
    the_host().ask(RunDelivery(run_id, lambda: None, done.set_result))
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
