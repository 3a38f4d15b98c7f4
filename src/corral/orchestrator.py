"""`with Orchestrator() as orch:` — Redis, a Celery worker and the work on sites, from a plain script.

Services that already run are used and never stopped. Services that were started here end with the block: at its end,
by an exception, Ctrl-C or SIGTERM, and by the kernel if this process is killed.
"""

import atexit
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, NoReturn, Self

import structlog

from corral.domain.proxies.pooled import ProxyState
from corral.log import configure_logging, hide
from corral.settings import Settings, Transport, load_settings
from corral.supervisor.plan import ServiceState
from corral.supervisor.supervisor import Supervisor
from corral.views.proxies import progress_view
from corral.wiring.proxies.wait import (
    count_proxies,
    read_refresh_progress,
    run_cancellable,
    start_refresh,
    wait_for_proxies,
)
from corral.wiring.services import FIRST_WORKER, REDIS, Installation
from corral.wiring.sites.starters import (
    CelerySites,
    NodeThread,
    SiteStarter,
    check_sites,
    read_progress,
    run_in_thread,
)

_STOPS = (signal.SIGINT, signal.SIGTERM)


class Orchestrator:
    """Start and stop services, and start work on sites. Every method can be called repeatedly."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        if not structlog.is_configured():  # otherwise structlog writes to standard output, which belongs to the script
            configure_logging(self.settings.log_level)
        hide(self.settings.secrets())
        self._installation = Installation(self.settings, warn=_warn)
        self._supervisor: Supervisor | None = None
        self._handlers: dict[int, Any] = {}
        self._wants_celery = False
        self._node: NodeThread | None = None

    # -- the block --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        # Python turns SIGINT into an exception, which unwinds the block; by default SIGTERM ends the process at once.
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._handlers[signal.SIGTERM] = signal.signal(signal.SIGTERM, _unwind)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop_all()
        finally:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            self._handlers = {}

    # -- services ---------------------------------------------------------------------------------------

    def start_redis(self) -> bool:
        """Use the Redis that answers, or start one. Return True once it answers; raise CorralError if it cannot."""
        self._installation.check()
        return self._bring_up(REDIS)

    def start_celery(self) -> bool:
        """Use the Celery worker that answers, or start one with beat, after the services it needs."""
        self._installation.check()
        self._wants_celery = True
        return self._bring_up(FIRST_WORKER)

    def is_celery_alive(self) -> bool:
        """Return whether a Celery worker answers through the broker: ours, or one that already ran."""
        return self._supervise().check_now(FIRST_WORKER)

    def restart_celery_if_dead(self) -> bool:
        """Restart a dead worker; return whether it is alive. A worker that only does not answer is left running."""
        supervisor = self._supervise()
        if not supervisor.is_running(FIRST_WORKER) and not supervisor.check_now(FIRST_WORKER):
            supervisor.want_anew(FIRST_WORKER)
        return self._bring_up(FIRST_WORKER)

    def stop_all(self) -> None:
        """Stop the services that were started here: the worker, then Redis. A second signal kills them."""
        node, self._node = self._node, None
        if node is not None:
            atexit.unregister(node.stop)
            node.stop()
        supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            atexit.unregister(supervisor.close)
            with _stop_now_on_signals(supervisor.stop_now.set):
                supervisor.close()

    def _bring_up(self, name: str) -> bool:
        supervisor = self._supervise()
        supervisor.want([name])
        supervisor.wait_up([name])
        return supervisor.state(name) in (ServiceState.UP, ServiceState.UNHEALTHY)

    def _supervise(self) -> Supervisor:
        if self._supervisor is None:
            self._supervisor = Supervisor(self._installation.services(), self._installation.data_dir)
            atexit.register(self._supervisor.close)  # for use without `with`
        return self._supervisor

    # -- sites ------------------------------------------------------------------------------------------

    def start_site_scraping(self, site: str, urls: Sequence[str]) -> str:
        """Queue these pages; return the id of the job."""
        return self.start_all_sites_scraping({site: urls})[site]

    def start_all_sites_scraping(self, sites: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Start one job per site and return {site: job id}. If one is rejected, none is started."""
        check_sites(self.settings, sites)
        return self._sites().start(sites)

    def get_scraping_progress(self, job_id: str) -> dict[str, Any]:
        """Return {job_id, site, status, total, done, failed, skipped, pending, percent, error_rate, health, started_at,
        finished_at}, read from the rows of the job."""
        return run_in_thread(read_progress(self.settings, job_id))

    def _sites(self) -> SiteStarter:
        """Return the starter of runs for sites: Celery workers execute them, or a node in a thread of this process."""
        is_celery = self.settings.transport is Transport.CELERY or self._wants_celery
        if is_celery:
            return CelerySites(self.settings)
        if self._node is None:
            self._node = NodeThread(self.settings)
            atexit.register(self._node.stop)
        return self._node

    # -- proxies ----------------------------------------------------------------------------------------

    def get_proxy_count(self) -> int:
        """Return the number of proxies in the pool, in any state."""
        return sum(run_cancellable(count_proxies(self.settings)).values())

    def get_usable_proxy_count(self) -> int:
        return run_cancellable(count_proxies(self.settings))[ProxyState.ALIVE.value]

    def trigger_proxy_refresh(self) -> str:
        """Queue a refresh and return its job id, or that of the refresh under way. A node executes it."""
        return run_cancellable(start_refresh(self._with_hints()))

    def wait_for_proxies(self, min_count: int = 10, timeout: float = 2400) -> bool:
        """Refresh the pool if it has fewer usable proxies, and wait; return whether it has enough then.

        The time limit is also bounded by the number of chunks and workers. Without a running node, the checks are
        executed here.
        """
        return run_cancellable(wait_for_proxies(self._with_hints(), min_count, timeout))

    def get_refresh_progress(self, job_id: str) -> dict[str, Any]:
        """Return {job_id, total_chunks, completed_chunks, failed_chunks, status, started_at, completed_at,
        result_count, error}, read from the rows of the refresh."""
        view = progress_view(run_cancellable(read_refresh_progress(self.settings, job_id)))
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in view.items()}

    def _with_hints(self) -> Settings:
        """Return settings that announce new runs to the Celery worker, if one is alive."""
        if self._supervisor is None or not self.is_celery_alive():
            return self.settings
        return self.settings.model_copy(update={"transport": Transport.CELERY})


def _warn(text: str) -> None:
    sys.stderr.write(f"corral: {text}\n")


def _unwind(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


@contextlib.contextmanager
def _stop_now_on_signals(stop_now: Callable[[], None]) -> Iterator[None]:
    """Make signals inside the block hasten the stop instead of aborting it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop_now()) for number in _STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
