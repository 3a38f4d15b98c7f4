"""The state of one host in the limiter of a node."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from corral.domain.hosts.limiter import HostCondition, SitePace
from corral.engine.hosts.messages import FromLimiter


class SlotHolder(Protocol):
    """A process that borrows slots."""

    def send(self, messages: Sequence[FromLimiter]) -> None: ...


class PendingRequest(NamedTuple):
    holder: SlotHolder
    until: float  # deadline for an answer


@dataclass(slots=True, eq=False)
class HostState:
    host_key: str
    condition: HostCondition = field(default_factory=HostCondition)
    pace_override: SitePace | None = None  # set by a person
    at_once: int = 0  # concurrency promised to active crawls
    crawl_delay_s: float | None = None
    crawl_delay_until: float = 0.0
    lent: "Counter[SlotHolder]" = field(default_factory=Counter)
    pending: deque[PendingRequest] = field(default_factory=deque)
    timer: asyncio.TimerHandle | None = None
    prober: SlotHolder | None = None
    is_taking_probe: bool = False
    writes: int = 0  # in flight: until they complete, the database lags behind this state
    is_recalled: bool = False  # the whole loan was recalled, because the host is no longer healthy
    called: "Counter[SlotHolder]" = field(default_factory=Counter)  # slots recalled for waiting requests

    quota: int = 0  # slots of this node: see domain.hosts.quota
    quota_until: float = 0.0
    held: int = 0  # slots that other nodes count as ours, including those in use beyond our quota at the last request
    is_asking: bool = False  # a quota request is in flight
    is_contested: bool = False  # another node uses the host, too
    sent_away: int = 0  # recently deferred requests, which will return
    mirrored: float | None = None  # the chance of the next request, if it is already drawn

    @property
    def is_idle(self) -> bool:
        is_wanted = self.pending or self.sent_away or self.is_asking
        return not (is_wanted or self.writes or self.is_taking_probe or +self.lent)

    def draw(self, chance: Callable[[], float]) -> float:
        """Return the chance that varies the next delay.

        Every second value mirrors the one before it, so that the mean delay is right after only a few requests.
        """
        if self.mirrored is not None:
            drawn, self.mirrored = self.mirrored, None
            return drawn
        drawn = chance()
        self.mirrored = 1 - drawn
        return drawn

    def slots(self, now: float) -> int:
        """Return how many slots this node may lend."""
        return self.quota if self.quota_until > now else 0

    def is_contested_at(self, now: float) -> bool:
        """Return whether the quota is current and contested; the node then requests it only once a second."""
        return self.is_contested and self.quota_until > now


class LimiterBackend(Protocol):
    """Storage for the state that outlives the process. The limiter does not wait for these calls."""

    def save_opened(self, host: HostState) -> None: ...

    def take_probe(self, host: HostState) -> None:
        """Request the probe; the answer arrives with `HostLimiter.apply_probe`."""
        ...

    def probe_ended(self, host: HostState) -> None: ...

    def save_change(self, host: HostState) -> None: ...

    def let_in(self, host: HostState) -> None:
        """Note that a request to this host got its slot, so that the next run may be claimed."""
        ...

    def save_recovery(self, host: HostState) -> None: ...

    def request_quota(self, host: HostState) -> None:
        """Request a quota; the answer arrives with `HostLimiter.apply_quota`. Until then, `is_asking` is set."""
        ...
