"""Choose which due runs a node may claim: in queue order, within the free capacity of lanes and hosts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from corral.domain.hosts.limiter import Wait
from corral.domain.runs.loss import Suspicion
from corral.domain.runs.queues import Lane
from corral.domain.runs.run import Lanes

# Suspects are tried in groups of this size before each is tried alone.
GROUP_SIZE = 8
# Maximum runs of a band that one claim sets aside: on SQLite it blocks the event loop meanwhile. A claim that reaches
# this limit is repeated at once.
MAX_SET_ASIDE = 1_000


class Candidate(NamedTuple):
    """A due run, as a claim sees it."""

    due_at: int
    id: str
    lane: Lane
    host_key: str | None
    suspicion: Suspicion = Suspicion.NONE


class WaitingRun(NamedTuple):
    """A due run that is not claimed because its host has no room for it."""

    id: str
    host_key: str
    wait: Wait


class HostRoom(Protocol):
    """How many more runs may be claimed for each host. The store calls it from the thread that writes."""

    def find_room(self, waited_for: Sequence[str]) -> Mapping[str, int]:
        """Return the hosts with free capacity among those that stored runs wait for, with the number of runs each can
        take.
        """
        ...

    def take(self, host_key: str) -> Wait | None:
        """Reserve capacity for one run, or return why there is none."""
        ...


class AnyHost:
    """Every host has room: for tests, and for callers that ask the host limiter later."""

    def find_room(self, waited_for: Sequence[str]) -> Mapping[str, int]:  # noqa: ARG002
        return {}

    def take(self, host_key: str) -> Wait | None:  # noqa: ARG002
        return None


ANY_HOST = AnyHost()


class LaneRoom:
    """The remaining room of each lane during a claim."""

    def __init__(self, limit: int, lanes: Lanes) -> None:
        self.total = limit
        limits = {
            Lane.LIGHT: lanes.light,
            Lane.BROWSER: lanes.browsers,
            Lane.CRAWL: lanes.crawls,
            Lane.SCRIPT: lanes.scripts,
        }
        self._left = {lane: limit if count is None else count for lane, count in limits.items()}

    def of(self, lane: Lane) -> int:
        return min(self.total, self._left[lane])

    def take(self, lane: Lane) -> None:
        self.total -= 1
        self._left[lane] -= 1


def choose(
    candidates: Sequence[Candidate], room: LaneRoom, hosts: HostRoom
) -> tuple[list[Candidate], list[WaitingRun]]:
    """Return the runs to claim, and the runs that must wait for their host.

    Runs without room in their lane are ignored.
    """
    chosen: list[Candidate] = []
    waiting: list[WaitingRun] = []
    for candidate in candidates:
        if room.total <= 0:
            break
        if room.of(candidate.lane) <= 0:
            continue
        wait = None if candidate.host_key is None else hosts.take(candidate.host_key)
        if candidate.host_key is not None and wait is not None:
            waiting.append(WaitingRun(candidate.id, candidate.host_key, wait))
        else:
            room.take(candidate.lane)
            chosen.append(candidate)
    return chosen, waiting


def choose_suspects(candidates: Sequence[Candidate], lanes: Lanes) -> list[Candidate]:
    """Return the suspects to try next: the oldest alone, or a group that is tried together."""
    served = [candidate for candidate in candidates if LaneRoom(1, lanes).of(candidate.lane) > 0]
    if not served or served[0].suspicion is Suspicion.ALONE:
        return served[:1]
    return [candidate for candidate in served if candidate.suspicion is Suspicion.GROUP][:GROUP_SIZE]
