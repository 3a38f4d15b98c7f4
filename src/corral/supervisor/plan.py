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
# How often one that was never well may end before it is not tried any more.
FIRST_TRIES = 3
BAD_CONFIGURATION = 78  # the exit code of our own programs; the next try would find the same configuration


class ServiceHealth(NamedTuple):
    """What a check found. `hopeless` is what neither waiting nor starting mends: a person has to.

    Where something `is_there` that is not well, it is asked a few times more, and nothing is started in its place.
    """

    is_well: bool
    problem: str = ""
    hopeless: bool = False
    is_there: bool = False


# Asks for the health of the process we started, by its number; without one, of whatever is there already.
Check = Callable[[int | None], ServiceHealth]
WELL = ServiceHealth(is_well=True)
TRIES = 10  # for what is there and not well, before it counts as hopeless


class ServiceState(StrEnum):
    IDLE = "idle"  # not requested
    WAITING = "waiting"  # for what it needs, or for the answer of its check
    STARTING = "starting"
    UP = "up"
    UNHEALTHY = "unhealthy"  # it runs and does not answer: busy is not dead
    DOWN = "down"  # adopted, and away
    RESTARTING = "restarting"  # it ended, and is started again after a pause
    FAILED = "failed"  # it was never well, and is not tried any more
    STOPPING = "stopping"
    STOPPED = "stopped"


class Adopts(StrEnum):
    """When to adopt a running service instead of starting one. An adopted service is never stopped."""

    NEVER = "never"
    FIRST = "first"  # where there is one before we have started ours
    ALWAYS = "always"  # also where one has taken its place since


@dataclass(frozen=True, slots=True)
class Service:
    """A program, the services it needs, and its health check.

    Without a command it is only looked at. `prepare` is called right before it is started.
    """

    name: str
    check: Check
    needs: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Callable[[], Mapping[str, str]] = dict  # asked right before it is started
    inherits: bool = True  # our own environment, except for settings
    adopts: Adopts = Adopts.ALWAYS
    prepare: Callable[[], None] = lambda: None
    stop_s: float = STOP_S
    start_s: float = 60.0  # within which it has to be well
    after: tuple[str, ...] = ()  # which it does not need, but gives a head start: at most HEAD_START_S


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
    was_up: bool = False  # at any time since it was asked for
    was_well: bool = False  # the process that runs now
    needs_are_up: bool = True
    health: ServiceHealth | None = None  # None before the first check
    tries: int = 0  # how often in a row it was found unwell
    away_s: float = 0.0  # for how long
    running_s: float = 0.0
    failures: int = 0  # how often it ended without having been well for long
    ended_s: float = 0.0  # since it last ended
    exit_code: int | None = None


def start_order(services: Sequence[Service]) -> list[str]:
    """Return the names in start order, each after its needs; BadConfiguration for a cycle."""
    known = {service.name: service for service in services}
    problems = _problems(services, known)
    if problems:
        raise BadConfiguration(problems)
    order: list[str] = []
    left = list(known)
    while left:
        ready = next((name for name in left if all(need in order for need in known[name].needs)), None)
        if ready is None:
            circle = ", ".join(sorted(left))
            raise BadConfiguration([f"the services {circle} depend on each other; remove one of their needs"])
        order.append(ready)
        left.remove(ready)
    return order


def stop_order(services: Sequence[Service]) -> list[str]:
    """A service stops before the services it needs."""
    return start_order(services)[::-1]


def _problems(services: Iterable[Service], known: Mapping[str, Service]) -> list[str]:
    names = [service.name for service in services]
    problems = [f"two services are named {name}; rename one" for name in known if names.count(name) > 1]
    for service in services:
        unknown = [need for need in service.needs if need not in known]
        problems += [
            f"{service.name} needs {need}, which is not a service; add it or remove the need" for need in unknown
        ]
    return problems


def with_needs(names: Iterable[str], services: Sequence[Service]) -> set[str]:
    """Return these services with everything they need, directly or indirectly."""
    known = {service.name: service for service in services}
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += known[name].needs
    return found


def pause_s(failures: int) -> float:
    """The pause before the next start, by the number of failures in a row: 1, 2, 4 … 60 s."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(max(0, failures - 1), 10)))


def failures_after(failures: int, well_s: float) -> int:
    """The number of failures of a service that has just ended, after it was healthy for `well_s`."""
    return 1 if well_s >= FORGIVEN_AFTER_S else failures + 1


def next_step(service: Service, seen: ServiceFacts) -> NextAction:
    """Return the next step for a wanted service. Only a process that has ended is started again."""
    if seen.is_running:
        is_late = not seen.was_up and seen.running_s > service.start_s
        return NextAction.FAIL if is_late else NextAction.KEEP
    if seen.is_adopted:
        is_missed = seen.away_s >= _MISSED_AFTER_S and service.command and not _is_taken(seen)
        return NextAction.START if is_missed else NextAction.KEEP
    if seen.was_up:
        return _step_again(service, seen)
    return _first_step(service, seen)


def _step_again(service: Service, seen: ServiceFacts) -> NextAction:
    """Return the next step for a service that was up before; it is never given up."""
    if service.adopts is Adopts.ALWAYS:
        if seen.health is None:
            return NextAction.WAIT
        if seen.health.is_well:
            return NextAction.ADOPT
    is_due = seen.ended_s >= pause_s(seen.failures) and bool(service.command) and not _is_taken(seen)
    return NextAction.START if is_due else NextAction.WAIT


def _first_step(service: Service, seen: ServiceFacts) -> NextAction:
    if seen.failures >= FIRST_TRIES or seen.exit_code == BAD_CONFIGURATION:
        return NextAction.FAIL
    if not seen.needs_are_up:
        return NextAction.WAIT
    is_due = seen.failures == 0 or seen.ended_s >= pause_s(seen.failures)
    if service.adopts is Adopts.NEVER:
        return NextAction.START if is_due else NextAction.WAIT
    if seen.health is None:
        return NextAction.WAIT
    if seen.health.is_well:
        return NextAction.ADOPT
    if seen.health.hopeless or not service.command or (seen.health.is_there and seen.tries >= TRIES):
        return NextAction.FAIL
    return NextAction.START if is_due and not seen.health.is_there else NextAction.WAIT


def _is_taken(seen: ServiceFacts) -> bool:
    """True if the service cannot start: another process is in its place, or a person has to act first."""
    return seen.health is not None and (seen.health.is_there or seen.health.hopeless)


def display_state(seen: ServiceFacts, step: NextAction) -> ServiceState:
    """Return the state of a wanted service as the terminal and the API show it."""
    if step is NextAction.FAIL:
        return ServiceState.FAILED
    is_well = seen.health is not None and seen.health.is_well
    if seen.is_adopted:
        return ServiceState.UP if is_well else ServiceState.DOWN
    if seen.is_running:
        if is_well:
            return ServiceState.UP
        return ServiceState.UNHEALTHY if seen.was_well else ServiceState.STARTING
    return ServiceState.RESTARTING if seen.failures else ServiceState.WAITING
