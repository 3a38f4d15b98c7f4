"""When the loop reconciles: every so many minutes, after a drain, later after failures, never in a window."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from corral.domain.errors import BadInput
from corral.domain.loop.state import LoopPhase, LoopState, end_cycle, find_phase, is_due
from corral.domain.loop.windows import is_maintenance
from corral.domain.runs.run import RunState

_NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)  # a Monday
_ON = LoopState(is_on=True, every_s=600, next_at=_NOW.timestamp())


def _end(state: LoopState, ended: RunState | None = RunState.COMPLETED, **stats: int) -> LoopState:
    return end_cycle(state, ended, stats, None, _NOW.timestamp())


@pytest.mark.parametrize(
    "window, hour, day, found",
    [
        ("22:00-06:00", 23, 0, True),
        ("22:00-06:00", 5, 0, True),
        ("22:00-06:00", 6, 0, False),
        ("02:00-04:00", 3, 0, True),
        ("02:00-04:00", 4, 0, False),
        ("sun 22:00-06:00", 5, 0, True),  # Monday morning
        ("sun 22:00-06:00", 23, 0, False),
        ("00:00-24:00", 12, 3, True),
    ],
)
def test_maintenance_windows(window: str, hour: int, day: int, found: bool) -> None:
    now = datetime(2026, 11, 16, hour, tzinfo=UTC) + timedelta(days=day)
    assert is_maintenance([window], now) is found


@pytest.mark.parametrize("text", ["", "22-06", "25:00-26:00", "10:00-10:00", "someday 10:00-11:00", "xyz 10:00-11:00"])
def test_other_windows_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="maintenance window"):
        is_maintenance([text], _NOW)


def test_a_reconciliation_is_due_by_time_unless_something_forbids_it() -> None:
    assert is_due(_ON, _NOW, has_open_tasks=True)
    assert not is_due(_ON, _NOW - timedelta(seconds=1), has_open_tasks=False)
    for forbidden in (
        replace(_ON, is_on=False),
        replace(_ON, run_id="run"),
        replace(_ON, windows=("11:00-13:00",)),
    ):
        assert not is_due(forbidden, _NOW, has_open_tasks=False)


def test_after_a_drain_the_next_one_comes_early() -> None:
    found = _end(_ON, tasks=3)
    soon = _NOW + timedelta(seconds=10)
    assert not is_due(found, soon, has_open_tasks=True)
    assert is_due(found, soon, has_open_tasks=False)
    assert find_phase(found, soon, has_open_tasks=True) is LoopPhase.DRAINING
    idle = _end(_ON, tasks=0, waiting=0, stuck=7)
    assert not is_due(idle, soon, has_open_tasks=False)
    assert find_phase(idle, soon, has_open_tasks=False) is LoopPhase.IDLE
    assert is_due(idle, _NOW + timedelta(seconds=600), has_open_tasks=False)


def test_failures_back_off_and_a_success_ends_that() -> None:
    state, waits = _ON, []
    for _ in range(12):
        state = _end(state, RunState.FAILED)
        waits.append(state.next_at - _NOW.timestamp())
    assert waits[:3] == [1200, 2400, 4800]
    assert waits[-1] == 6 * 3600
    assert find_phase(state, _NOW, has_open_tasks=False) is LoopPhase.BACKING_OFF
    assert not is_due(state, _NOW + timedelta(seconds=30), has_open_tasks=False)
    state = _end(state, RunState.PARTIAL)
    assert (state.failures, state.next_at - _NOW.timestamp()) == (0, 600)
