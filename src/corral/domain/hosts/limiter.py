"""The limits of a host: decide from its pace and its circuit breaker whether a request may start now.

Limits belong to a *host key*: the host, with its port unless that is the default, without a leading `www.`. One server
behind two ports has two host keys; http and https of one name share one.
"""

import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple, Protocol

from corral.domain.errors import BadInput
from corral.domain.hosts.breaker import Breaker, BreakerRules, BreakerState, Sign
from corral.domain.hosts.order import QueuedPage
from corral.domain.hosts.pace import Pace, PaceRules
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import Target, parse_target
from corral.domain.runs.outcome import Deferred, Outcome, WaitReason
from corral.domain.runs.run import Lease

# A visit that would wait longer than this is deferred, so that its worker can do other work.
MOMENT_S = 0.25
_LONGEST_MOMENT_S = 1.0


class RunRoom(NamedTuple):
    """How many more runs of a host may be claimed; if none, the reason and when to check again."""

    runs: int
    reason: WaitReason = WaitReason.BUSY
    ready_in_s: float = math.inf


class Wait(NamedTuple):
    reason: WaitReason
    seconds: float  # infinite: until a request in flight ends


def host_key_of(target: Target) -> str:
    return target.authority.removeprefix("www.")


def host_key_of_url(url: object) -> str | None:
    """Return the host key of any value; None if it is not a URL with a host."""
    try:
        return host_key_of(parse_target(url, max_chars=8192)) if isinstance(url, str) else None
    except BadInput:
        return None


@dataclass(frozen=True, slots=True)
class HostRules:
    pace: PaceRules = field(default_factory=lambda: PaceRules(concurrency=32))
    breaker: BreakerRules = field(default_factory=BreakerRules)


@dataclass(frozen=True, slots=True)
class SitePace:
    """The pace that a person has set for one site; None keeps the value of the settings."""

    concurrency: int | None = None
    delay_s: float | None = None

    def over(self, rules: PaceRules) -> PaceRules:
        concurrency = rules.concurrency if self.concurrency is None else self.concurrency
        delay_s = rules.delay_s if self.delay_s is None else self.delay_s
        return replace(rules, concurrency=concurrency, delay_s=delay_s, max_delay_s=max(rules.max_delay_s, delay_s))


@dataclass(frozen=True, slots=True)
class Answer:
    """How one visit to a host ended. Without a status there was no response, or no request."""

    sign: Sign = Sign.NOTHING
    status: int | None = None
    latency_s: float | None = None
    retry_after_s: float | None = None

    @property
    def is_plain(self) -> bool:
        """True if it can be reported to the limiter later: the host neither failed nor reported overload."""
        return self.sign is not Sign.ILL and self.status not in (429, 503)


@dataclass(frozen=True, slots=True)
class HostCondition:
    """Pace and breaker of one host, as an immutable value. `pace.active` includes slots lent to workers."""

    pace: Pace = field(default_factory=Pace)
    breaker: Breaker = field(default_factory=Breaker)

    def wait(self, now: float, rules: HostRules) -> Wait | None:
        """Return why no request may start now, or None. While the breaker is open, the next request is the probe."""
        closed_s = self.breaker.wait_s(now, rules.breaker)
        if closed_s > 0:
            return Wait(WaitReason.BREAKER, closed_s)
        seconds = self.pace.may_start(now, rules.pace)
        blocked_s = min(self.pace.blocked_until - now, seconds)
        if blocked_s > 0:
            return Wait(WaitReason.RETRY_AFTER, blocked_s)
        # The probe skips the delay learned from the failures: it has waited long enough.
        if seconds <= 0 or self.breaker.opened_at is not None:
            return None
        return Wait(WaitReason.PACE, seconds)

    def is_plain(self, now: float, rules: HostRules) -> bool:
        """True if only the number of concurrent requests needs watching, which is nearly always the case."""
        pace = self.pace
        return (
            self.breaker.opened_at is None
            and pace.delay_s == 0.0
            and rules.pace.least_delay_s == 0.0
            and pace.blocked_until <= now
            and pace.allowed >= rules.pace.max_concurrency
        )

    def run_room(self, now: float, rules: HostRules, held: int, slots: float = math.inf) -> "RunRoom":
        """Return how many more runs of this host are worth claiming while `held` are claimed already.

        `slots` is the limit if the host's slots are split between nodes.
        """
        wait, moment_s = self.wait(now, rules), self.moment_s(rules)
        if wait is not None and moment_s < wait.seconds < math.inf:
            return RunRoom(0, wait.reason, wait.seconds - moment_s)
        if self.breaker.opened_at is not None:
            return RunRoom(0 if held else 1, WaitReason.BREAKER)
        at_once = min(self.pace.at_once(rules.pace), slots)
        if self.delay_s(rules) > 0:
            # One run at a time; one more if others keep the host busy, because otherwise no run would ever queue for a
            # slot.
            return RunRoom(int(not held or held <= self.pace.active < at_once), WaitReason.PACE)
        if self.is_plain(now, rules):
            # Slots that workers have borrowed are not necessarily in use, so `active` does not count here.
            return RunRoom(max(0, int(at_once) - held))
        return RunRoom(max(int(at_once) - max(held, self.pace.active), int(not held), 0))

    def delay_s(self, rules: HostRules) -> float:
        return max(self.pace.delay_s, rules.pace.least_delay_s)

    def moment_s(self, rules: HostRules) -> float:
        """Return how long a visit waits at the limiter: at least as long as jitter can delay a booked time."""
        return max(MOMENT_S, min(_LONGEST_MOMENT_S, self.delay_s(rules) * rules.pace.jitter))

    def interval_s(self, rules: HostRules) -> float:
        """Return the approximate time between two starts, for scheduling retries."""
        between_s = self.pace.latency_s / self.pace.at_once(rules.pace)
        return max(self.delay_s(rules), between_s, 0.01)

    def lent(self, count: int) -> "HostCondition":
        return replace(self, pace=replace(self.pace, active=max(0, self.pace.active + count)))

    def start(self, now: float, rules: HostRules, chance: float) -> "HostCondition":
        return HostCondition(self.pace.start(now, rules.pace, chance), self.breaker.start(now))

    def after(self, answer: Answer, now: float, rules: HostRules, *, was_probe: bool = False) -> "HostCondition":
        """Apply the result of an answer; the number of active requests stays unchanged."""
        pace = replace(self.pace, active=self.pace.active + 1).finish(
            now, rules.pace, status=answer.status, latency_s=answer.latency_s, retry_after_s=answer.retry_after_s
        )
        breaker = self.breaker.after(
            answer.sign, now, rules.breaker, was_probe=was_probe, of_page=answer.status not in (None, 429)
        )
        if self.breaker.opened_at is not None and breaker.opened_at is None:
            # A pace learned while the host failed says nothing about the recovered host.
            pace = Pace(active=pace.active, blocked_until=pace.blocked_until)
        return HostCondition(pace, breaker)


@dataclass(frozen=True, slots=True)
class StoredHost:
    """The stored state of a host; times are seconds from now."""

    host_key: str
    failures: int
    opened_ago_s: float | None
    probed_ago_s: float | None
    blocked_for_s: float
    pace_override: SitePace  # set by a person
    updated_at: datetime

    @property
    def state(self) -> BreakerState:
        return Breaker(opened_at=self.opened_ago_s, probed_at=self.probed_ago_s).state

    @property
    def is_remarkable(self) -> bool:
        """True if every node must know this state, even one that has never requested the host."""
        return self.opened_ago_s is not None or self.blocked_for_s > 0 or self.pace_override != SitePace()

    def is_of(self, host: str) -> bool:
        """True for any port of the host."""
        name, colon, port = self.host_key.rpartition(":")
        here = name if colon and port.isdigit() else self.host_key
        return here.strip("[]") == host.removeprefix("www.")

    def opens_in_s(self, rules: BreakerRules) -> float:
        """Return the seconds until an open breaker admits one request; 0 if it is closed or ready for its probe."""
        return self.breaker(0.0).wait_s(0.0, rules)

    def breaker(self, now: float) -> Breaker:
        """Return the breaker, with times on the caller's clock."""
        opened_at = None if self.opened_ago_s is None else now - self.opened_ago_s
        probed_at = None if self.probed_ago_s is None else now - self.probed_ago_s
        return Breaker(self.failures, opened_at, probed_at)


class Parking(NamedTuple):
    """A run that returns to the queue because its host accepts no request yet."""

    lease: Lease
    host_key: str
    reason: WaitReason
    wait_s: float


class Visit(Protocol):
    """The requests of one page; it holds one slot at each host from its first request there.

    The slots are free again when the visit ends, or earlier by `free_slots`.
    """

    async def enter(self, target: Target, route: RouteKind = RouteKind.DIRECT) -> Deferred | None:
        """Wait for a slot at this host; return `Deferred` if that takes longer than a moment."""
        ...

    def record_answer(self, target: Target, status: int, latency_s: float, retry_after: str | None) -> None: ...

    def slow_down(self, target: Target, delay_s: float) -> None:
        """Apply the pause between requests that the host asks for (Crawl-delay)."""
        ...

    def free_slots(self) -> None:
        """Free the slots while the page is read: its response is complete. `end` still reports the outcome."""
        ...


class HostVisit(Visit, Protocol):
    def end(self, outcome: Outcome | None) -> None:
        """End the visit; without an outcome it was aborted."""
        ...


class HostAccess(Protocol):
    def visit(self, at_once: int = 0, queued: QueuedPage | None = None) -> HostVisit:
        """Begin a visit.

        `at_once` is how many visits a crawl may make to one host at a time; `queued` keeps its pages in order.
        """
        ...


class _UnlimitedVisit:
    """A visit without a host limiter."""

    async def enter(self, target: Target, route: RouteKind = RouteKind.DIRECT) -> Deferred | None:  # noqa: ARG002
        return None

    def record_answer(self, target: Target, status: int, latency_s: float, retry_after: str | None) -> None: ...

    def slow_down(self, target: Target, delay_s: float) -> None: ...

    def free_slots(self) -> None: ...

    def end(self, outcome: Outcome | None) -> None: ...


class UnlimitedAccess:
    def visit(self, at_once: int = 0, queued: QueuedPage | None = None) -> HostVisit:  # noqa: ARG002
        return _UnlimitedVisit()


UNLIMITED = UnlimitedAccess()
