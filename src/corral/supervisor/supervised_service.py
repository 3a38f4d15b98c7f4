"""The state of one service in its supervisor: check results, times and processes."""

import signal
import time
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

from corral.supervisor.child import Child
from corral.supervisor.plan import (
    BAD_CONFIGURATION,
    FIRST_TRIES,
    Adopts,
    Service,
    ServiceFacts,
    ServiceHealth,
    ServiceState,
    failures_after,
    pause_s,
)
from corral.supervisor.status import ServiceStatus

_CHECK_OURS_S = 0.2  # while it starts
_CHECK_OTHERS_S = 0.5
_CHECK_AGAIN_S = 5.0
_STALLED = 75  # exit code of a node that stalled


class SupervisedService:
    """A service with its state. Only the supervisor changes it, under its lock."""

    def __init__(self, service: Service, log: Path) -> None:
        self.service = service
        self.log = log
        self.state = ServiceState.IDLE
        self.child: Child | None = None
        self.is_wanted = False
        self.ever_started = False
        self.checks = 0  # increases whenever earlier check results no longer count
        self._why_ended: str | None = None  # of the last process, until another one starts
        self._since = datetime.now(UTC)
        self._health: ServiceHealth | None = None
        self._tries = 0
        self._is_adopted = False
        self._was_up = False
        self._restarts = 0
        self._failures = 0
        self._well_since: float | None = None
        self._away_since: float | None = None
        self._ended_at = 0.0
        self._exit_code: int | None = None
        self._pending: Future[None] | None = None
        self._next_check = 0.0

    # -- requests ------------------------------------------------------------------------------------------

    def want(self) -> None:
        if self.is_wanted and not self.has_failed and self.state is not ServiceState.DOWN:
            return
        self.is_wanted = True
        self._is_adopted = self._was_up = False
        self._why_ended = None
        self._forget_health()
        self.forgive()
        self.enter(ServiceState.WAITING)

    def unwant(self) -> None:
        self.is_wanted = False
        self.checks += 1

    def mark_stopping(self) -> None:
        if self.child is not None:
            self.enter(ServiceState.STOPPING)

    def forgive(self) -> None:
        self._failures, self._ended_at, self._exit_code = 0, 0.0, None

    def mark_stopped(self) -> None:
        self.child = None
        self._is_adopted = self._was_up = False
        self._forget_health()
        if self.state is not ServiceState.IDLE:
            self.enter(ServiceState.STOPPED)

    # -- events --------------------------------------------------------------------------------------------

    def notice_exit(self, now: float) -> None:
        """Record the end of its process, if it has ended."""
        if not self.is_wanted or self.child is None or (code := self.child.exit_code) is None:
            return
        well_s = now - self._well_since if self._well_since is not None else 0.0
        self._failures = failures_after(self._failures, well_s)
        self._exit_code, self._ended_at = code, now
        self.child = None
        self._forget_health()
        self._why_ended = _describe_exit(code)

    def fail_late_start(self) -> None:
        problem = f" ({self._health.problem})" if self._health is not None else ""
        self._why_ended = f"it was not healthy within {self.service.start_s:g} s{problem}"
        child, self.child = self.child, None
        if child is not None:
            child.kill()

    def mark_adopted(self) -> None:
        self._is_adopted = self._was_up = True
        self._why_ended = None

    def mark_started(self, child: Child) -> None:
        self._restarts += int(self.ever_started)
        self.ever_started = True
        self.child = child
        self._is_adopted = False
        self._why_ended = None
        self._forget_health()

    def record_start_failure(self, problem: str, *, for_good: bool = False) -> None:
        self._failures = FIRST_TRIES if for_good else self._failures + 1
        self._ended_at = time.monotonic()
        self._why_ended = problem

    def record_health(self, health: ServiceHealth) -> None:
        self._health = health
        self._tries = 0 if health.is_well else self._tries + 1
        self._away_since = None if health.is_well else self._away_since or time.monotonic()
        if health.is_well and self.child is not None:
            self._was_up = True
            self._well_since = self._well_since or time.monotonic()

    def enter(self, state: ServiceState) -> None:
        if state is not self.state:
            self.state = state
            self._since = datetime.now(UTC)

    # -- checks ----------------------------------------------------------------------------------------

    def check_is_due(self, now: float) -> bool:
        is_checking = self._pending is not None and not self._pending.done()
        has_no_target = self.child is None and self.service.adopts is Adopts.NEVER
        return not is_checking and not has_no_target and now >= self._next_check

    def mark_checking(self, check: "Future[None]", now: float) -> None:
        self._pending = check
        is_well = self._health is not None and self._health.is_well
        soon_s = _CHECK_OTHERS_S if self.child is None else _CHECK_OURS_S
        self._next_check = now + (_CHECK_AGAIN_S if is_well else soon_s)

    def _forget_health(self) -> None:
        self.checks += 1
        self._health = None
        self._well_since = self._away_since = None
        self._tries = 0
        self._next_check = 0.0

    # -- state ---------------------------------------------------------------------------------------------

    @property
    def problem(self) -> str | None:
        """Why the service is unhealthy; None while a new process has not been well yet."""
        if self._why_ended is not None or self._health is None or self._health.is_well:
            return self._why_ended
        return self._health.problem if self._well_since is not None or self.child is None else None

    def run_check(self) -> ServiceHealth:
        """Check the service. Slow, so it is called without the lock."""
        child = self.child
        return self.service.check(child.pid if child is not None else None)

    @property
    def has_failed(self) -> bool:
        return self.state is ServiceState.FAILED

    @property
    def is_misconfigured(self) -> bool:
        return self._exit_code == BAD_CONFIGURATION

    @property
    def has_ended(self) -> bool:
        """Whether our process of this service has ended."""
        return not self._is_adopted and self.ever_started and (self.child is None or self.child.exit_code is not None)

    def observe(self, now: float, *, needs_are_up: bool) -> ServiceFacts:
        return ServiceFacts(
            is_running=self.child is not None,
            is_adopted=self._is_adopted,
            was_up=self._was_up,
            was_well=self._well_since is not None,
            needs_are_up=needs_are_up,
            health=self._health,
            tries=self._tries,
            away_s=now - self._away_since if self._away_since is not None else 0.0,
            running_s=now - self.child.began if self.child is not None else 0.0,
            failures=self._failures,
            ended_s=now - self._ended_at,
            exit_code=self._exit_code,
        )

    def status(self) -> ServiceStatus:
        is_ours = self.child is not None or (self.ever_started and not self._is_adopted)
        next_s = None
        if self.state is ServiceState.RESTARTING:
            next_s = round(max(0.0, pause_s(self._failures) - (time.monotonic() - self._ended_at)), 1)
        return ServiceStatus(
            name=self.service.name,
            state=self.state,
            since=self._since,
            is_ours=is_ours,
            pid=self.child.pid if self.child is not None else None,
            problem=self.problem,
            restarts=self._restarts,
            next_start_s=next_s,
            log=str(self.log) if is_ours else None,
        )


def _describe_exit(code: int) -> str:
    if code == _STALLED:
        return "it stalled and requested a restart"
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"
