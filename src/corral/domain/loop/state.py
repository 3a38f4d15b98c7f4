"""The state of the loop: its phase, and when the next reconciliation is due."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from corral.domain.loop.windows import is_maintenance
from corral.domain.runs.run import RunState

DEFAULT_EVERY_S = 15 * 60.0
_LONGEST_BACKOFF_S = 6 * 3600.0
# Minimum time from the end of a reconciliation to the one after a drain, which shows what is left.
_AFTER_DRAIN_S = 5.0


class LoopPhase(StrEnum):
    OFF = "off"
    RECONCILING = "reconciling"
    DRAINING = "draining"  # tasks of the last reconciliation are open
    IDLE = "idle"  # nothing that could be collected is missing
    WAITING = "waiting"  # for the next reconciliation
    BACKING_OFF = "backing_off"  # the last reconciliation failed
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True)
class LoopState:
    """The row of the loop. Times are seconds since 1970."""

    is_on: bool = False
    every_s: float = DEFAULT_EVERY_S
    windows: tuple[str, ...] = ()
    owner: str | None = None
    epoch: int = 0
    lease_until: float = 0.0
    next_at: float = 0.0
    run_id: str | None = None  # the reconciliation that is under way
    failures: int = 0  # in a row
    last: Mapping[str, Any] = field(default_factory=dict)  # how the last reconciliation ended

    @property
    def found_tasks(self) -> bool:
        return bool(self.last.get("tasks") or self.last.get("waiting"))


def find_phase(state: LoopState, now: datetime, *, has_open_tasks: bool) -> LoopPhase:
    if not state.is_on:
        return LoopPhase.OFF
    if state.run_id is not None:
        return LoopPhase.RECONCILING
    if is_maintenance(state.windows, now):
        return LoopPhase.MAINTENANCE
    if state.failures:
        return LoopPhase.BACKING_OFF
    if state.found_tasks:
        return LoopPhase.DRAINING if has_open_tasks else LoopPhase.WAITING
    return LoopPhase.IDLE if state.last else LoopPhase.WAITING


def is_due(state: LoopState, now: datetime, *, has_open_tasks: bool) -> bool:
    """True if a reconciliation should start."""
    if not state.is_on or state.run_id is not None or is_maintenance(state.windows, now):
        return False
    moment = now.timestamp()
    if moment >= state.next_at:
        return True
    is_drained = state.found_tasks and not state.failures and not has_open_tasks
    return is_drained and moment >= float(state.last.get("ended_at", 0)) + _AFTER_DRAIN_S


def end_cycle(
    state: LoopState, ended: RunState | None, stats: Mapping[str, Any], problem: str | None, now: float
) -> LoopState:
    """Return the state after a reconciliation; `ended` is None if there was no run, or it was deleted."""
    has_failed = ended not in {RunState.COMPLETED, RunState.PARTIAL}
    failures = state.failures + 1 if has_failed else 0
    names = ("expected", "present", "absent", "gaps", "completeness", "tasks", "waiting", "stuck")
    last = {name: stats[name] for name in names if name in stats}
    last |= {"run_id": state.run_id, "state": None if ended is None else ended.value, "ended_at": now}
    if problem:
        last["problem"] = problem[:500]
    return replace(state, next_at=now + _wait_s(state, failures), run_id=None, failures=failures, last=last)


def _wait_s(state: LoopState, failures: int) -> float:
    """Return the wait until the next reconciliation: doubled by each failure in a row, up to six hours."""
    longest_s = max(_LONGEST_BACKOFF_S, state.every_s)
    return min(state.every_s * 2.0 ** min(failures, 16), longest_s)
