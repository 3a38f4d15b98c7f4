"""The state of one host in the limiter of a node."""

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from corral.domain.hosts.limiter import HostCondition, SitePace
from corral.engine.hosts.messages import FromLimiter


class SlotHolder(Protocol):
    """A process that borrows slots."""

    def send(self, messages: Sequence[FromLimiter]) -> None: ...


class PendingRequest(NamedTuple):
    holder: SlotHolder
    until: float  # it is not kept waiting longer


@dataclass(slots=True, eq=False)
class HostState:
    host_key: str
    condition: HostCondition = field(default_factory=HostCondition)
    said: SitePace | None = None  # by a person
    at_once: int = 0  # that crawls under way have been promised
    crawl_delay_s: float | None = None
    crawl_delay_until: float = 0.0
    lent: "Counter[SlotHolder]" = field(default_factory=Counter)
    asks: deque[PendingRequest] = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None
    prober: SlotHolder | None = None
    is_taking_probe: bool = False
    writes: int = 0  # under way: until they have landed, the database knows less than we do
    is_recalled: bool = False  # all that was lent, because the host is to be spared
    called: "Counter[SlotHolder]" = field(default_factory=Counter)  # back, for those who wait

    quota: int = 0  # slots of this node: see domain.hosts.quota
    quota_until: float = 0.0
    held: int = 0  # what others take for ours: what was in use beyond our part when we asked for it
    is_asking: bool = False  # for a part
    is_contested: bool = False  # by another node
    sent_away: int = 0  # lately: they come back

    @property
    def is_idle(self) -> bool:
        is_wanted = self.asks or self.sent_away or self.is_asking
        return not (is_wanted or self.writes or self.is_taking_probe or +self.lent)

    def slots(self, now: float) -> int:
        """Return how many slots this node may lend."""
        return self.quota if self.quota_until > now else 0

    def is_contested_at(self, now: float) -> bool:
        """What there is to be had is known, then: it is asked for once a second."""
        return self.is_contested and self.quota_until > now


class LimiterBackend(Protocol):
    """Storage for the state that outlives the process. The limiter does not wait for these calls."""

    def save_opened(self, host: HostState) -> None: ...

    def take_probe(self, host: HostState) -> None:
        """Answered with `HostLimiter.probe_taken`."""
        ...

    def probe_ended(self, host: HostState) -> None: ...

    def save_change(self, host: HostState) -> None: ...

    def let_in(self, host: HostState) -> None:
        """A request of this host got its slot; the next one may queue."""
        ...

    def save_recovery(self, host: HostState) -> None: ...

    def request_quota(self, host: HostState) -> None:
        """Answered with `HostLimiter.apply_quota`; until then the host is `is_asking`."""
        ...
