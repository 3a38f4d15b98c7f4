"""The services, their start order, and the next step for each. Pure decisions, without side effects."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from corral.domain.errors import BadConfiguration

STOP_S = 5.0
HEAD_START_S = 3.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
# A service that is healthy for this long starts with zero failures again.
FORGIVEN_AFTER_S = 60.0
# An adopted service that is away for this long is replaced by one of ours.
_MISSED_AFTER_S = 30.0
# How often a service that was never well may end before the supervisor gives up.
FIRST_TRIES = 3
BAD_CONFIGURATION = 78  # exit code of our own programs; another try would find the same configuration


class ServiceHealth(NamedTuple):
    """The result of a check. `hopeless`: a person has to act, because neither waiting nor starting helps.

    `is_there`: a process is there, but not well. It is checked a few more times, and no other one is started.
    """

    is_well: bool
    problem: str = ""
    hopeless: bool = False
    is_there: bool = False


# Checks the process with this pid, which we started; with None, a service that already runs.
Check = Callable[[int | None], ServiceHealth]
WELL = ServiceHealth(is_well=True)
TRIES = 10  # checks of a service that is there and not well, before it counts as hopeless


class ServiceState(StrEnum):
    IDLE = "idle"  # not requested
    WAITING = "waiting"  # for its needs, or for the result of its check
    STARTING = "starting"
    UP = "up"
    UNHEALTHY = "unhealthy"  # it runs and does not answer; it may be busy, so it is not restarted
    DOWN = "down"  # adopted, and no longer well
    RESTARTING = "restarting"  # it ended and will be started again after a pause
    FAILED = "failed"  # it was never well, and the supervisor has given up
    STOPPING = "stopping"
    STOPPED = "stopped"


class Adopts(StrEnum):
    """When to adopt a running service instead of starting one. An adopted service is never stopped."""

    NEVER = "never"
    FIRST = "first"  # only before we have started our own
    ALWAYS = "always"  # also after ours has ended


@dataclass(frozen=True, slots=True)
class Service:
    """A program, the services it needs, and its health check.

    Without a command the service is only checked. `prepare` is called right before each start.
    """

    name: str
    check: Check
    needs: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Callable[[], Mapping[str, str]] = dict  # called right before each start
    inherits: bool = True  # whether it inherits our environment, except for settings
    adopts: Adopts = Adopts.ALWAYS
    prepare: Callable[[], None] = lambda: None
    stop_s: float = STOP_S
    start_s: float = 60.0  # time limit to become well after the start
    after: tuple[str, ...] = ()  # services that it does not need, but that start first: by at most HEAD_START_S


class NextAction(StrEnum):
    KEEP = "keep"  # it runs; nothing to do
    WAIT = "wait"
    ADOPT = "adopt"
    START = "start"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """The facts about one service at one moment."""

    is_running: bool = False  # a process that we started
    is_adopted: bool = False
    was_up: bool = False  # at any time since it was requested
    was_well: bool = False  # the process that runs now
    needs_are_up: bool = True
    health: ServiceHealth | None = None  # None before the first check
    tries: int = 0  # consecutive checks that found it unwell
    away_s: float = 0.0  # how long it has been unwell
    running_s: float = 0.0
    failures: int = 0  # how often in a row it ended before it was well for FORGIVEN_AFTER_S
    ended_s: float = 0.0  # since it last ended
    exit_code: int | None = None


def start_order(services: Sequence[Service]) -> list[str]:
    """Return the names in start order, each after its needs; BadConfiguration for a cycle."""
    by_name = {service.name: service for service in services}
    problems = _problems(services, by_name)
    if problems:
        raise BadConfiguration(problems)
    order: list[str] = []
    left = list(by_name)
    while left:
        ready = next((name for name in left if all(need in order for need in by_name[name].needs)), None)
        if ready is None:
            cycle = ", ".join(sorted(left))
            raise BadConfiguration([f"the services {cycle} depend on each other; remove one of their needs"])
        order.append(ready)
        left.remove(ready)
    return order


def stop_order(services: Sequence[Service]) -> list[str]:
    """Return the names in stop order: each service before its needs."""
    return start_order(services)[::-1]


def _problems(services: Iterable[Service], by_name: Mapping[str, Service]) -> list[str]:
    names = [service.name for service in services]
    problems = [f"two services are named {name}; rename one" for name in by_name if names.count(name) > 1]
    for service in services:
        unknown = [need for need in service.needs if need not in by_name]
        problems += [
            f"{service.name} needs {need}, which is not a service; add it or remove the need" for need in unknown
        ]
    return problems


def with_needs(names: Iterable[str], services: Sequence[Service]) -> set[str]:
    """Return these services with everything they need, directly or indirectly."""
    by_name = {service.name: service for service in services}
    needed: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left += by_name[name].needs
    return needed


def pause_s(failures: int) -> float:
    """Return the pause before the next start, by the number of failures in a row: 1, 2, 4 … 60 s."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(max(0, failures - 1), 10)))


def failures_after(failures: int, well_s: float) -> int:
    """Return the number of failures of a service that has just ended, after it was healthy for `well_s`."""
    return 1 if well_s >= FORGIVEN_AFTER_S else failures + 1


def next_step(service: Service, facts: ServiceFacts) -> NextAction:
    """Return the next step for a wanted service. Only a process that has ended is started again."""
    if facts.is_running:
        is_late = not facts.was_up and facts.running_s > service.start_s
        return NextAction.FAIL if is_late else NextAction.KEEP
    if facts.is_adopted:
        is_missed = facts.away_s >= _MISSED_AFTER_S and service.command and not _is_blocked(facts)
        return NextAction.START if is_missed else NextAction.KEEP
    if facts.was_up:
        return _step_again(service, facts)
    return _first_step(service, facts)


def _step_again(service: Service, facts: ServiceFacts) -> NextAction:
    """Return the next step for a service that was up before; the supervisor never gives up on it."""
    if service.adopts is Adopts.ALWAYS:
        if facts.health is None:
            return NextAction.WAIT
        if facts.health.is_well:
            return NextAction.ADOPT
    is_due = facts.ended_s >= pause_s(facts.failures) and bool(service.command) and not _is_blocked(facts)
    return NextAction.START if is_due else NextAction.WAIT


def _first_step(service: Service, facts: ServiceFacts) -> NextAction:
    if facts.failures >= FIRST_TRIES or facts.exit_code == BAD_CONFIGURATION:
        return NextAction.FAIL
    if not facts.needs_are_up:
        return NextAction.WAIT
    is_due = facts.failures == 0 or facts.ended_s >= pause_s(facts.failures)
    if service.adopts is Adopts.NEVER:
        return NextAction.START if is_due else NextAction.WAIT
    if facts.health is None:
        return NextAction.WAIT
    if facts.health.is_well:
        return NextAction.ADOPT
    if facts.health.hopeless or not service.command or (facts.health.is_there and facts.tries >= TRIES):
        return NextAction.FAIL
    return NextAction.START if is_due and not facts.health.is_there else NextAction.WAIT


def _is_blocked(facts: ServiceFacts) -> bool:
    """Return whether the service cannot start: another process occupies its address, or a person has to act first."""
    return facts.health is not None and (facts.health.is_there or facts.health.hopeless)


def display_state(facts: ServiceFacts, step: NextAction) -> ServiceState:
    """Return the state of a wanted service as the terminal and the API show it."""
    if step is NextAction.FAIL:
        return ServiceState.FAILED
    is_well = facts.health is not None and facts.health.is_well
    if facts.is_adopted:
        return ServiceState.UP if is_well else ServiceState.DOWN
    if facts.is_running:
        if is_well:
            return ServiceState.UP
        return ServiceState.UNHEALTHY if facts.was_well else ServiceState.STARTING
    return ServiceState.RESTARTING if facts.failures else ServiceState.WAITING
