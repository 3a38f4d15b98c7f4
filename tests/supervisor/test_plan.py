"""What to do next, decided without starting anything."""

import pytest

from corral.domain.errors import BadConfiguration
from corral.supervisor.plan import (
    FIRST_TRIES,
    TRIES,
    WELL,
    Adopts,
    Health,
    Seen,
    Service,
    State,
    Step,
    failures_after,
    next_step,
    pause_s,
    shown_state,
    start_order,
    stop_order,
    with_needs,
)

AWAY = Health(is_well=False, problem="nobody answers")
REFUSED = Health(is_well=False, problem="it asks for a password", hopeless=True)
LOADING = Health(is_well=False, problem="it is loading", is_there=True)


def service(name: str, *needs: str, adopts: Adopts = Adopts.ALWAYS, command: tuple[str, ...] = ("run",)) -> Service:
    return Service(name, lambda _: WELL, needs=needs, command=command, adopts=adopts)


REDIS = service("redis")
WORKER = service("worker", "redis", adopts=Adopts.FIRST)
API = service("api", "worker", adopts=Adopts.NEVER)
POSTGRES = service("postgres", command=())


def test_what_is_needed_starts_first_and_stops_last() -> None:
    services = [API, WORKER, POSTGRES, REDIS]
    assert start_order(services) == ["postgres", "redis", "worker", "api"]
    assert stop_order(services) == ["api", "worker", "redis", "postgres"]
    assert with_needs(["worker"], services) == {"worker", "redis"}


@pytest.mark.parametrize(
    "services, sentence",
    [
        ([service("a", "b"), service("b", "a")], "the services a, b wait for each other"),
        ([service("a", "a")], "the services a wait for each other"),
        ([service("a", "elsewhere")], "a needs elsewhere, which is no service"),
        ([service("a"), service("a")], "there are two services a"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_a_sentence(services: list[Service], sentence: str) -> None:
    with pytest.raises(BadConfiguration, match=sentence):
        start_order(services)


def test_pauses_double_up_to_a_minute_and_a_minute_of_health_forgives() -> None:
    assert [pause_s(failures) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_s(10_000) == 60
    assert failures_after(5, well_s=59) == 6
    assert failures_after(5, well_s=60) == 1


@pytest.mark.parametrize(
    "seen, step",
    [
        (Seen(), Step.WAIT),  # health before action
        (Seen(health=WELL), Step.ADOPT),
        (Seen(health=AWAY), Step.START),
        (Seen(health=WELL, needs_are_up=False), Step.WAIT),
        (Seen(health=REFUSED), Step.FAIL),
        (Seen(health=LOADING, tries=1), Step.WAIT),
        (Seen(health=LOADING, tries=TRIES), Step.FAIL),
        (Seen(health=AWAY, failures=1, ended_s=0.9), Step.WAIT),
        (Seen(health=AWAY, failures=1, ended_s=1.0), Step.START),
        (Seen(health=AWAY, failures=FIRST_TRIES, ended_s=99), Step.FAIL),
        (Seen(health=AWAY, failures=1, ended_s=99, exit_code=78), Step.FAIL),
    ],
)
def test_the_first_step(seen: Seen, step: Step) -> None:
    assert next_step(REDIS, seen) is step


def test_what_is_never_adopted_is_started_without_asking_and_what_has_no_command_is_never_started() -> None:
    assert next_step(API, Seen()) is Step.START
    assert next_step(API, Seen(needs_are_up=False)) is Step.WAIT
    assert next_step(POSTGRES, Seen(health=AWAY)) is Step.FAIL
    assert next_step(POSTGRES, Seen(health=WELL)) is Step.ADOPT
    assert next_step(POSTGRES, Seen(is_adopted=True, was_up=True, health=AWAY, away_s=1e6)) is Step.KEEP


def test_busy_is_not_dead() -> None:
    silent = Seen(is_running=True, was_up=True, was_well=True, health=AWAY, tries=1000, away_s=1e6, running_s=1e6)
    assert next_step(REDIS, silent) is Step.KEEP
    assert shown_state(silent, Step.KEEP) is State.UNHEALTHY
    late = Seen(is_running=True, health=AWAY, running_s=REDIS.start_s + 1)
    assert next_step(REDIS, late) is Step.FAIL


def test_what_was_up_once_is_started_again_for_ever() -> None:
    ended = Seen(was_up=True, health=AWAY, failures=1000, ended_s=60, exit_code=78)
    assert next_step(REDIS, ended) is Step.START
    assert next_step(WORKER, Seen(was_up=True, failures=2, ended_s=1.9)) is Step.WAIT
    assert next_step(WORKER, Seen(was_up=True, failures=2, ended_s=2.0)) is Step.START
    assert next_step(WORKER, Seen(was_up=True, failures=2, ended_s=2.0, needs_are_up=False)) is Step.START


def test_somebody_who_took_its_place_is_adopted_where_that_makes_sense() -> None:
    replaced = Seen(was_up=True, health=WELL, failures=1, ended_s=9)
    assert next_step(REDIS, replaced) is Step.ADOPT
    assert next_step(WORKER, replaced) is Step.START  # ours is one more
    assert next_step(REDIS, Seen(was_up=True, health=REFUSED, failures=1, ended_s=9)) is Step.WAIT


def test_what_somebody_else_runs_is_missed_after_half_a_minute() -> None:
    away = Seen(is_adopted=True, was_up=True, health=AWAY, away_s=29)
    assert next_step(REDIS, away) is Step.KEEP
    assert shown_state(away, Step.KEEP) is State.DOWN
    assert next_step(REDIS, Seen(is_adopted=True, was_up=True, health=AWAY, away_s=30)) is Step.START
    assert next_step(REDIS, Seen(is_adopted=True, was_up=True, health=LOADING, away_s=30)) is Step.KEEP


@pytest.mark.parametrize(
    "seen, step, state",
    [
        (Seen(), Step.WAIT, State.WAITING),
        (Seen(is_running=True), Step.KEEP, State.STARTING),
        (Seen(is_running=True, was_up=True, health=AWAY), Step.KEEP, State.STARTING),
        (Seen(is_running=True, health=WELL, was_up=True), Step.KEEP, State.UP),
        (Seen(is_adopted=True, health=WELL, was_up=True), Step.KEEP, State.UP),
        (Seen(was_up=True, failures=1), Step.WAIT, State.RESTARTING),
        (Seen(failures=1), Step.FAIL, State.FAILED),
    ],
)
def test_how_it_is_called(seen: Seen, step: Step, state: State) -> None:
    assert shown_state(seen, step) is state
