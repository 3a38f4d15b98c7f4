import pytest

from corral.domain.errors import WrongState
from corral.domain.ids import Owner
from corral.domain.jobs.job import Priority
from corral.domain.ports.execution import task_of
from corral.domain.runs.run import LIVE, TERMINAL, Lease, RunAction, RunState, advance, sources, spoken, target
from tests.domain.runs.builders import A_RUN


def test_no_move_leads_out_of_a_terminal_state() -> None:
    for move in RunAction:
        assert not sources(move) & TERMINAL


def test_every_live_state_can_be_left_and_every_state_reached() -> None:
    assert frozenset().union(*(sources(move) for move in RunAction)) == LIVE
    assert {target(move) for move in RunAction} == set(RunState)


@pytest.mark.parametrize("move", list(RunAction))
@pytest.mark.parametrize("state", list(RunState))
def test_advancing_agrees_with_the_table(state: RunState, move: RunAction) -> None:
    if state in sources(move):
        assert advance(state, move) is target(move)
        return
    with pytest.raises(WrongState) as refusal:
        advance(state, move)
    assert refusal.value.state == spoken(state, None)
    assert spoken(state, None) in refusal.value.message
    assert refusal.value.code == ("already_terminal" if state.is_terminal else "wrong_state")


def test_states_are_live_or_terminal_and_not_both() -> None:
    assert set(RunState) == LIVE | TERMINAL
    assert not LIVE & TERMINAL
    assert {state for state in RunState if state.is_terminal} == TERMINAL


def test_bands_are_served_from_the_most_urgent() -> None:
    assert sorted(Priority) == [Priority.CRITICAL, Priority.HIGH, Priority.MEDIUM, Priority.LOW]
    assert [band.label for band in sorted(Priority)] == ["critical", "high", "medium", "low"]


def test_a_task_has_what_an_executor_needs_of_a_lease() -> None:
    lease = Lease(A_RUN, Owner("me"))
    task = task_of(lease, 12.5)
    assert lease.key == ("r", 4)
    assert (task.run_id, task.epoch, task.kind, task.attempt) == ("r", 4, "page", 1)
    assert (task.strategy, task.payload, task.timeout_s) == ("http", A_RUN.payload, 12.5)
    assert Lease(A_RUN._replace(epoch=5), Owner("me")).key != lease.key
