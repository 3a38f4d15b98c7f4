"""How many runs a node may claim for each host, so that claimed runs can start at once.

The host limiter decides when a run gets its slot; this module leaves runs in the queue that would only wait for one. A
claim sets aside the runs of a host without room, and a later claim wakes them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from corral.domain.hosts.claiming import MAX_SET_ASIDE
from corral.domain.hosts.limiter import RunRoom, Wait
from corral.engine.hosts.limiter import HostLimiter

# After a run was refused a slot because crawls or other nodes use the host: claim none for a moment, then one at a
# time.
_REFUSED_S = 1.0
_CAREFUL_S = 10.0


class Crowds:
    """The hosts that stored runs wait for, as this node's last claim found them."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self._refused_at: dict[str, float] = {}

    def note_refused(self, host_key: str, now: float) -> None:
        self.hosts.add(host_key)
        self._refused_at[host_key] = now

    def learn(self, waited_for: Sequence[str], now: float) -> None:
        """Remember the hosts that a claim reported. A run that was deferred a moment ago may not be stored yet."""
        refused = list(self._refused_at.items())
        self.hosts = {*waited_for, *(host_key for host_key, at in refused if now - at < _REFUSED_S)}
        for host_key in [host_key for host_key, _ in refused if host_key not in self.hosts]:
            self._refused_at.pop(host_key, None)

    def limit(self, host_key: str, room: RunRoom, now: float) -> RunRoom:
        """Return the room that remains after a recent refusal."""
        since = now - self._refused_at.get(host_key, -_CAREFUL_S)
        if since >= _CAREFUL_S:
            return room
        if since < _REFUSED_S:
            return RunRoom(0, room.reason, min(room.ready_in_s, _REFUSED_S - since))
        return room._replace(runs=min(room.runs, 1))


class RunRooms:
    """Creates a `HostRoom` for one claim. The store calls it from another thread, so it reads only immutable state."""

    def __init__(self, limiter: HostLimiter, held: Counter[str], crowds: Crowds) -> None:
        self._limiter = limiter
        self._held = held
        self._crowds = crowds
        self._now = limiter.clock()
        self._take: Counter[str] = Counter()
        self._rooms: dict[str, RunRoom] = {}
        self._set_aside = 0
        for host_key in list(crowds.hosts):
            host = limiter.hosts.get(host_key)
            if host is not None and host.is_contested and self._room(host_key).runs == 0:
                host.sent_away = max(1, host.sent_away)  # this node wants slots although none of its runs requests one

    @property
    def ready_in_s(self) -> float:
        """Return when to claim again even if no run ends: a host may have room then, or this claim missed some runs."""
        if self._set_aside >= MAX_SET_ASIDE:
            return 0.0
        return min((room.ready_in_s for room in self._rooms.values() if room.runs == 0), default=float("inf"))

    def _room(self, host_key: str) -> RunRoom:
        room = self._rooms.get(host_key)
        if room is None:
            room = self._limiter.run_room(host_key, self._held[host_key])
            room = self._rooms[host_key] = self._crowds.limit(host_key, room, self._now)
        return room

    def find_room(self, waited_for: Sequence[str]) -> Mapping[str, int]:
        self._crowds.learn(waited_for, self._now)
        return {host_key: room.runs for host_key in waited_for if (room := self._room(host_key)).runs > 0}

    def take(self, host_key: str) -> Wait | None:
        room = self._room(host_key)
        if self._take[host_key] >= room.runs:
            self._crowds.hosts.add(host_key)
            self._set_aside += 1
            return Wait(room.reason, room.ready_in_s)
        self._take[host_key] += 1
        return None
