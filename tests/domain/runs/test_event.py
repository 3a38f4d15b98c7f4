from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.runs.event import Event, EventKind, fold
from corral.domain.runs.run import RunAction, RunState, sources, target

NOW = datetime(2026, 1, 1, tzinfo=UTC)

# The event each move is recorded by.
RECORDED_BY = {
    RunAction.CLAIM: EventKind.STARTED,
    RunAction.COMPLETE: EventKind.COMPLETED,
    RunAction.COMPLETE_PARTLY: EventKind.PARTIAL,
    RunAction.FAIL: EventKind.FAILED,
    RunAction.RETRY: EventKind.RETRY_SCHEDULED,
    RunAction.RELEASE: EventKind.RELEASED,
    RunAction.HOLD: EventKind.WAITING,
    RunAction.PAUSE: EventKind.PAUSED,
    RunAction.RESUME: EventKind.RESUMED,
    RunAction.CANCEL: EventKind.CANCELLED,
}
# Events that tell something without moving the run.
SILENT = [kind for kind in EventKind if fold([kind]) is None]


def test_every_move_is_recorded_by_an_event_that_leads_where_it_leads() -> None:
    assert set(RECORDED_BY) == set(RunAction)
    for move, kind in RECORDED_BY.items():
        assert fold([EventKind.CREATED, kind]) is target(move)


@given(st.data())
def test_replaying_a_history_gives_the_state_it_came_from(data: st.DataObject) -> None:
    state, kinds = RunState.QUEUED, [EventKind.CREATED]
    for _ in range(data.draw(st.integers(0, 20))):
        kinds += data.draw(st.lists(st.sampled_from(SILENT), max_size=2))
        moves = sorted(move for move in RunAction if state in sources(move))
        if not moves:
            break
        move = data.draw(st.sampled_from(moves))
        state = target(move)
        kinds.append(RECORDED_BY[move])
    assert fold(kinds) is state


def test_an_empty_history_leads_nowhere() -> None:
    assert fold([]) is None


@pytest.mark.parametrize("kind", list(EventKind))
def test_every_kind_has_a_level_and_a_message(kind: EventKind) -> None:
    event = Event(1, "r", 1, kind, {}, NOW)
    assert event.level in {"info", "warn", "error"}
    assert event.message


def test_only_an_end_is_the_last_event() -> None:
    last = {kind for kind in EventKind if Event(1, "r", 1, kind, {}, NOW).is_last}
    assert last == {EventKind.COMPLETED, EventKind.PARTIAL, EventKind.FAILED, EventKind.CANCELLED}
