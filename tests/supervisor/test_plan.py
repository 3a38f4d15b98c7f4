"""What to do next, decided without starting anything."""

import pytest

from corral.domain.errors import BadConfiguration
from corral.supervisor.plan import (
    FIRST_TRIES,
    TRIES,
    WELL,
    Adopts,
    NextAction,
    Service,
    ServiceFacts,
    ServiceHealth,
    ServiceState,
    display_state,
    failures_after,
    next_step,
    pause_s,
    start_order,
    stop_order,
    with_needs,
)

AWAY = ServiceHealth(is_well=False, problem="nobody answers")
REFUSED = ServiceHealth(is_well=False, problem="it asks for a password", hopeless=True)
LOADING = ServiceHealth(is_well=False, problem="it is loading", is_there=True)


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
        ([service("a", "b"), service("b", "a")], "the services a, b depend on each other"),
        ([service("a", "a")], "the services a depend on each other"),
        ([service("a", "elsewhere")], "a needs elsewhere, which is not a service"),
        ([service("a"), service("a")], "two services are named a"),
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
        (ServiceFacts(), NextAction.WAIT),  # health before action
        (ServiceFacts(health=WELL), NextAction.ADOPT),
        (ServiceFacts(health=AWAY), NextAction.START),
        (ServiceFacts(health=WELL, needs_are_up=False), NextAction.WAIT),
        (ServiceFacts(health=REFUSED), NextAction.FAIL),
        (ServiceFacts(health=LOADING, tries=1), NextAction.WAIT),
        (ServiceFacts(health=LOADING, tries=TRIES), NextAction.FAIL),
        (ServiceFacts(health=AWAY, failures=1, ended_s=0.9), NextAction.WAIT),
        (ServiceFacts(health=AWAY, failures=1, ended_s=1.0), NextAction.START),
        (ServiceFacts(health=AWAY, failures=FIRST_TRIES, ended_s=99), NextAction.FAIL),
        (ServiceFacts(health=AWAY, failures=1, ended_s=99, exit_code=78), NextAction.FAIL),
    ],
)
def test_the_first_step(seen: ServiceFacts, step: NextAction) -> None:
    assert next_step(REDIS, seen) is step


def test_what_is_never_adopted_is_started_without_asking_and_what_has_no_command_is_never_started() -> None:
    assert next_step(API, ServiceFacts()) is NextAction.START
    assert next_step(API, ServiceFacts(needs_are_up=False)) is NextAction.WAIT
    assert next_step(POSTGRES, ServiceFacts(health=AWAY)) is NextAction.FAIL
    assert next_step(POSTGRES, ServiceFacts(health=WELL)) is NextAction.ADOPT
    assert next_step(POSTGRES, ServiceFacts(is_adopted=True, was_up=True, health=AWAY, away_s=1e6)) is NextAction.KEEP


def test_busy_is_not_dead() -> None:
    silent = ServiceFacts(
        is_running=True, was_up=True, was_well=True, health=AWAY, tries=1000, away_s=1e6, running_s=1e6
    )
    assert next_step(REDIS, silent) is NextAction.KEEP
    assert display_state(silent, NextAction.KEEP) is ServiceState.UNHEALTHY
    late = ServiceFacts(is_running=True, health=AWAY, running_s=REDIS.start_s + 1)
    assert next_step(REDIS, late) is NextAction.FAIL


def test_what_was_up_once_is_started_again_for_ever() -> None:
    ended = ServiceFacts(was_up=True, health=AWAY, failures=1000, ended_s=60, exit_code=78)
    assert next_step(REDIS, ended) is NextAction.START
    assert next_step(WORKER, ServiceFacts(was_up=True, failures=2, ended_s=1.9)) is NextAction.WAIT
    assert next_step(WORKER, ServiceFacts(was_up=True, failures=2, ended_s=2.0)) is NextAction.START
    assert next_step(WORKER, ServiceFacts(was_up=True, failures=2, ended_s=2.0, needs_are_up=False)) is NextAction.START


def test_somebody_who_took_its_place_is_adopted_where_that_makes_sense() -> None:
    replaced = ServiceFacts(was_up=True, health=WELL, failures=1, ended_s=9)
    assert next_step(REDIS, replaced) is NextAction.ADOPT
    assert next_step(WORKER, replaced) is NextAction.START  # ours is one more
    assert next_step(REDIS, ServiceFacts(was_up=True, health=REFUSED, failures=1, ended_s=9)) is NextAction.WAIT


def test_what_somebody_else_runs_is_missed_after_half_a_minute() -> None:
    away = ServiceFacts(is_adopted=True, was_up=True, health=AWAY, away_s=29)
    assert next_step(REDIS, away) is NextAction.KEEP
    assert display_state(away, NextAction.KEEP) is ServiceState.DOWN
    assert next_step(REDIS, ServiceFacts(is_adopted=True, was_up=True, health=AWAY, away_s=30)) is NextAction.START
    assert next_step(REDIS, ServiceFacts(is_adopted=True, was_up=True, health=LOADING, away_s=30)) is NextAction.KEEP


@pytest.mark.parametrize(
    "seen, step, state",
    [
        (ServiceFacts(), NextAction.WAIT, ServiceState.WAITING),
        (ServiceFacts(is_running=True), NextAction.KEEP, ServiceState.STARTING),
        (ServiceFacts(is_running=True, was_up=True, health=AWAY), NextAction.KEEP, ServiceState.STARTING),
        (ServiceFacts(is_running=True, health=WELL, was_up=True), NextAction.KEEP, ServiceState.UP),
        (ServiceFacts(is_adopted=True, health=WELL, was_up=True), NextAction.KEEP, ServiceState.UP),
        (ServiceFacts(was_up=True, failures=1), NextAction.WAIT, ServiceState.RESTARTING),
        (ServiceFacts(failures=1), NextAction.FAIL, ServiceState.FAILED),
    ],
)
def test_how_it_is_called(seen: ServiceFacts, step: NextAction, state: ServiceState) -> None:
    assert display_state(seen, step) is state
