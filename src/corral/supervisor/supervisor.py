"""Start services as soon as their needs are up, watch and restart them, and stop them in reverse order.

One thread does all of that. It lives as long as this process, because the kernel ends the processes that a thread
started when that thread ends. The owner of the supervisor requests services, waits for them and reads their status.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import structlog

from corral.domain.errors import BadConfiguration, CorralError
from corral.runtime.private_files import make_data_folder
from corral.runtime.process import environment_without_settings
from corral.supervisor import logs
from corral.supervisor.child import STOP_POLL_S, Reaper, StopSequence, spawn
from corral.supervisor.plan import (
    HEAD_START_S,
    NextAction,
    Service,
    ServiceHealth,
    ServiceState,
    display_state,
    next_step,
    start_order,
    with_needs,
)
from corral.supervisor.records import AlreadySupervised, ProcessRecords
from corral.supervisor.status import ServiceStatus, write_status
from corral.supervisor.supervised_service import SupervisedService

log = structlog.get_logger()

_ROUND_S = 0.1
_MAX_CHANGES = 1_000
_WRITE_EVERY_S = 2.0
_TIDY_EVERY_S = 5.0
_STARTED = (ServiceState.UP, ServiceState.UNHEALTHY, ServiceState.DOWN)


class ServiceFailed(CorralError):
    code = "service_failed"


class Supervisor:
    def __init__(self, services: Sequence[Service], data_dir: Path) -> None:
        self._order = start_order(services)
        self._services = list(services)
        self._run_dir = data_dir / "run"
        self._log_dir = data_dir / "log"
        self._entries = {
            service.name: SupervisedService(service, self._log_dir / f"{service.name}.log") for service in services
        }
        # Status changes, for the terminal. Printing may block on a full pipe, so the supervisor does not print.
        self.changes: deque[ServiceStatus] = deque(maxlen=_MAX_CHANGES)
        self._records = ProcessRecords(self._run_dir)
        self._reaper = Reaper()
        self._check_pool = ThreadPoolExecutor(max(1, len(services)), thread_name_prefix="check")
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self.stop_now = threading.Event()
        self._began = datetime.now(UTC)
        self._reported: list[ServiceStatus] = []
        self._written = self._tidied = 0.0

    def claim(self) -> None:
        """Become the only supervisor of this folder, or raise AlreadySupervised. End leftovers of an earlier one."""
        make_data_folder(self._run_dir.parent)
        self._records.claim()

    # -- requests of the owner ------------------------------------------------------------------------------

    def want(self, names: Iterable[str]) -> None:
        """Request these services and those they need. Services that failed before are tried again."""
        with self._lock:
            for name in with_needs(names, self._services):
                self._entries[name].want()
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
                self._thread.start()
        self._report()

    def wait_up(self, names: Iterable[str], unless: Callable[[], bool] = lambda: False) -> None:
        """Wait until all of these are up; raise ServiceFailed with the reason if one of them cannot start."""
        wanted = self._in_order(with_needs(names, self._services))
        while not unless():
            with self._changed:
                # The states of the last report: the status file has them before this call returns.
                states = {each.name: each.state for each in self._reported}
                failed = next((each for each in wanted if states.get(each.service.name) is ServiceState.FAILED), None)
                if failed is not None:
                    raise _failure(failed)
                if all(states.get(each.service.name) in _STARTED for each in wanted):
                    return
                self._changed.wait(_ROUND_S)

    def check_now(self, name: str) -> bool:
        """Check the service now, regardless of earlier results."""
        entry = self._entries[name]
        if entry.has_ended:
            return False
        health = entry.run_check()
        with self._lock:
            entry.record_health(health)
        return health.is_well

    def state(self, name: str) -> ServiceState:
        with self._lock:
            return self._entries[name].state

    def status(self) -> list[ServiceStatus]:
        with self._lock:
            return [each.status() for each in self._in_order(self._entries)]

    def is_running(self, name: str) -> bool:
        """Return whether our process runs, regardless of its health."""
        entry = self._entries[name]
        return entry.child is not None and entry.child.exit_code is None

    def want_anew(self, name: str) -> None:
        """Check and start the service at once, without waiting for the backoff."""
        with self._lock:
            self._entries[name].notice_exit(time.monotonic())
            self._entries[name].unwant()
        self.want([name])

    def stop(self, names: Iterable[str] | None = None) -> None:
        """Stop those of these services that we started; adopted ones are left running.

        All stop at the same time, except that a service outlives those that need it.
        """
        left = self._in_order(self._entries if names is None else names)
        with self._lock:
            for entry in left:
                entry.unwant()  # at once, so that nothing is restarted while others still stop
        stops: dict[str, StopSequence] = {}
        while left:
            for entry in [each for each in left if not self._is_needed(each, left)]:
                self._stop_step(entry, stops)
            left = [entry for entry in left if entry.child is not None or entry.service.name not in stops]
            if left:
                time.sleep(STOP_POLL_S)

    def _is_needed(self, entry: SupervisedService, by: Iterable[SupervisedService]) -> bool:
        name = entry.service.name
        return any(name in with_needs(other.service.needs, self._services) for other in by if other is not entry)

    def _stop_step(self, entry: SupervisedService, stops: "dict[str, StopSequence]") -> None:
        """Send TERM the first time; later, notice that the process has ended, or kill it when its time is up."""
        stopping = stops.get(entry.service.name)
        if stopping is None:
            with self._lock:
                entry.mark_stopping()
            self._report()
            stops[entry.service.name] = stopping = StopSequence(entry.child, entry.service.stop_s)
        if stopping.is_over(stop_now=self.stop_now.is_set()):
            with self._lock:
                entry.mark_stopped()
            self._report()

    def close(self) -> None:
        """Stop everything and end the supervision. Idempotent."""
        self.stop()
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._check_pool.shutdown(wait=False, cancel_futures=True)
        self._reaper.close()
        self._records.leave()

    def _in_order(self, names: Iterable[str]) -> list[SupervisedService]:
        wanted = set(names)
        return [self._entries[name] for name in self._order if name in wanted]

    # -- the thread -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._closing.wait(_ROUND_S):
            try:
                self._round()
            except Exception as error:
                # A full disk or process table: running services continue, and the next round tries again.
                log.error("supervision_failed", exc_info=error)

    def _round(self) -> None:
        now = time.monotonic()
        with self._lock:
            for entry in self._in_order(self._entries):
                entry.notice_exit(now)
                if entry.is_wanted and not entry.has_failed:
                    needs_are_up = all(self._entries[need].state in _STARTED for need in entry.service.needs)
                    needs_are_up = needs_are_up and not self._is_ahead(entry.service.after, now)
                    self._act(entry, now, needs_are_up=needs_are_up)
                    # Only then: the check may use a service that it needs.
                    if needs_are_up or entry.child is not None:
                        self._check(entry, now)
        self._report()
        if now - self._tidied >= _TIDY_EVERY_S:
            self._tidied = now
            self._reaper.ensure_running()
            for entry in self._entries.values():
                logs.rotate(entry.log)

    def _is_ahead(self, names: Iterable[str], now: float) -> bool:
        """Return whether one of these services is still starting and within its head start."""
        starting = [self._entries[name] for name in names if self._entries[name].is_wanted]
        return any(
            each.state is ServiceState.WAITING
            or (
                each.state is ServiceState.STARTING and each.child is not None and now - each.child.began < HEAD_START_S
            )
            for each in starting
        )

    def _act(self, entry: SupervisedService, now: float, *, needs_are_up: bool) -> None:
        facts = entry.observe(now, needs_are_up=needs_are_up)
        step = next_step(entry.service, facts)
        if step is NextAction.ADOPT:
            entry.mark_adopted()
        elif step is NextAction.START:
            self._start(entry)
        elif step is NextAction.FAIL and entry.child is not None:
            entry.fail_late_start()
        entry.enter(display_state(entry.observe(now, needs_are_up=needs_are_up), step))

    def _start(self, entry: SupervisedService) -> None:
        try:
            self.claim()
            logs.rotate(entry.log)
            entry.service.prepare()
            child = spawn(
                entry.service.name,
                entry.service.command,
                environment=_environment_of(entry.service),
                log=entry.log,
                records=self._records,
                guard=self._reaper,
            )
        except AlreadySupervised as error:
            entry.record_start_failure(error.message, for_good=True)
        except OSError as error:  # out of processes, memory or file descriptors
            entry.record_start_failure(f"it cannot be started: {error.strerror or error}")
        else:
            entry.mark_started(child)

    def _check(self, entry: SupervisedService, now: float) -> None:
        """Start a health check if one is due, without waiting for the result."""
        if not entry.check_is_due(now):
            return
        with contextlib.suppress(RuntimeError):  # we are closing
            check: Future[None] = self._check_pool.submit(self._run_check, entry, entry.checks)
            entry.mark_checking(check, now)

    def _run_check(self, entry: SupervisedService, number: int) -> None:
        try:
            health = entry.run_check()
        except Exception as error:
            log.error("service_check_failed", service=entry.service.name, exc_info=error)
            health = ServiceHealth(is_well=False, problem=f"the check failed ({type(error).__name__})")
        with self._changed:
            if entry.checks == number:  # its state has not changed in the meantime
                entry.record_health(health)
            self._changed.notify_all()

    def _report(self) -> None:
        """Write the status file, at once if something changed."""
        with self._changed:
            status = [each.status() for each in self._in_order(self._entries)]
            before = {each.name: each for each in self._reported}
            changed = [each for each in status if _differs(each, before.get(each.name))]
            now = time.monotonic()
            if self._records.are_ours and (changed or now - self._written >= _WRITE_EVERY_S):
                self._written = now
                with contextlib.suppress(OSError):
                    write_status(self._run_dir, status, self._began)
            self._reported = status
            self.changes.extend(changed)
            self._changed.notify_all()


def _differs(new: ServiceStatus, old: ServiceStatus | None) -> bool:
    fields = (new.state, new.pid, new.problem)
    return new.state is not ServiceState.IDLE if old is None else fields != (old.state, old.pid, old.problem)


def _environment_of(service: Service) -> dict[str, str]:
    """Return the environment of a program. Settings hold secrets, so it gets only those that its service names."""
    return {**(environment_without_settings() if service.inherits else {}), **service.environment()}


def _failure(entry: SupervisedService) -> CorralError:
    problem = entry.problem or "it was not healthy in time"
    last_lines = logs.tail(entry.log, 3) if entry.ever_started else []
    more = f"; last output: {' / '.join(last_lines)}" if last_lines else ""
    hint = f"see {entry.log}" if entry.ever_started else None
    if entry.is_misconfigured:
        return BadConfiguration([f"{entry.service.name}: {problem}{more}; {hint}"])
    return ServiceFailed(f"{entry.service.name}: {problem}{more}", hint=hint)
