"""How many runs a node may claim for each host, so that a run is claimed when it can run.

The host limiter has the last word when a run asks for its slot; this keeps runs in the queue that would only wait for
one. Runs of a host without room are set aside by the claim and woken by a later one.
"""

from collections import Counter
from collections.abc import Mapping

from corral.domain.claiming import MOST_SET_ASIDE
from corral.domain.gate import RunRoom, Wait
from corral.engine.gate import Gate

# After a run was refused its slot, because crawls or other nodes use the host: none for a moment, then one at a time.
_REFUSED_S = 1.0
_CAREFUL_S = 10.0


class Crowds:
    """The hosts that runs of the database wait for, as far as this node knows."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self._refused_at: dict[str, float] = {}

    def note_refused(self, host_key: str, now: float) -> None:
        self.hosts.add(host_key)
        self._refused_at[host_key] = now

    def forget(self, host_key: str) -> None:
        self.hosts.discard(host_key)
        self._refused_at.pop(host_key, None)

    def limit(self, host_key: str, room: RunRoom, now: float) -> RunRoom:
        """What is left of the room after a refusal not long ago."""
        since = now - self._refused_at.get(host_key, -_CAREFUL_S)
        if since >= _CAREFUL_S:
            return room
        if since < _REFUSED_S:
            return RunRoom(0, room.reason, min(room.ready_in_s, _REFUSED_S - since))
        return room._replace(runs=min(room.runs, 1))


class RunRooms:
    """A `HostRoom` for one claim. `take` may be called from another thread; it reads what the node does not change."""

    def __init__(self, gate: Gate, held: Counter[str], crowds: Crowds) -> None:
        self._gate = gate
        self._held = held
        self._crowds = crowds
        self._now = gate.clock()
        self._taken: Counter[str] = Counter()
        self._rooms: dict[str, RunRoom] = {}
        self._set_aside = 0
        self._wakes = {key: room.runs for key in crowds.hosts if (room := self._room(key)).runs > 0}
        for host_key in crowds.hosts - self._wakes.keys():
            if (host := gate.hosts.get(host_key)) is not None and host.is_contested:
                host.sent_away = max(1, host.sent_away)  # this node wants slots although no run of it asks

    @property
    def ready_in_s(self) -> float:
        """When to claim again although nothing has ended: a host may have room, or this claim did not see every run."""
        if self._set_aside >= MOST_SET_ASIDE:
            return 0.0
        return min((room.ready_in_s for room in self._rooms.values() if room.runs == 0), default=float("inf"))

    def _room(self, host_key: str) -> RunRoom:
        found = self._rooms.get(host_key)
        if found is None:
            found = self._gate.run_room(host_key, self._held[host_key])
            found = self._rooms[host_key] = self._crowds.limit(host_key, found, self._now)
        return found

    def waiting(self) -> Mapping[str, int]:
        return self._wakes

    def forget(self, host_key: str) -> None:
        self._crowds.forget(host_key)

    def take(self, host_key: str) -> Wait | None:
        room = self._room(host_key)
        if self._taken[host_key] >= room.runs:
            self._crowds.hosts.add(host_key)
            self._set_aside += 1
            return Wait(room.reason, room.ready_in_s)
        self._taken[host_key] += 1
        return None
