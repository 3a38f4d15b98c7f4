"""The two sides of the host limiter without processes: a worker's slots, and the node that lends them."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from corral.domain.hosts.breaker import Breaker, BreakerRules
from corral.domain.hosts.limiter import HostRules
from corral.domain.hosts.pace import PaceRules
from corral.domain.hosts.quota import QuotaGrant
from corral.engine.hosts.host_state import HostState
from corral.engine.hosts.limiter import HostLimiter
from corral.engine.hosts.messages import FromLimiter
from corral.engine.hosts.permits import Permits


class Notes:
    """A keeper that records its calls and grants every probe."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.limiter: HostLimiter | None = None
        self.not_yet: list[Breaker] = []  # what the store knows, where it does not give the probe away

    def save_opened(self, host: HostState) -> None:
        self.said.append(("opened", host.host_key))

    def take_probe(self, host: HostState) -> None:
        assert self.limiter is not None
        self.said.append(("probe", host.host_key))
        known = self.not_yet.pop() if self.not_yet else None
        asyncio.get_running_loop().call_soon(self.limiter.apply_probe, host, known)

    def probe_ended(self, host: HostState) -> None:
        self.said.append(("closed" if host.condition.breaker.opened_at is None else "still open", host.host_key))

    def save_change(self, host: HostState) -> None: ...

    def let_in(self, host: HostState) -> None: ...

    def request_quota(self, host: HostState) -> None:
        """No other node asks for it."""
        assert self.limiter is not None
        self.limiter.apply_quota(
            host, QuotaGrant(host.host_key, self.limiter.rules_of(host).pace.max_concurrency), self.limiter.clock()
        )

    def save_recovery(self, host: HostState) -> None:
        self.said.append(("recovered", host.host_key))


class Worker:
    """One worker process, as far as its node knows it."""

    def __init__(self, limiter: HostLimiter) -> None:
        self.permits = Permits()
        self.sent = 0
        self.permits.say = lambda message: self._later(limiter.hear, self, message)

    def send(self, messages: Sequence[FromLimiter]) -> None:
        for message in messages:
            self._later(self.permits.hear, message)

    def _later(self, hear: Callable[..., None], *what: Any) -> None:
        self.sent += 1
        asyncio.get_running_loop().call_soon(hear, *what)


def a_limiter(
    *, concurrency: int = 32, delay_s: float = 0.0, failures: int = 5, open_s: float = 300.0
) -> tuple[HostLimiter, Notes]:
    notes = Notes()
    rules = HostRules(PaceRules(concurrency, delay_s), BreakerRules(failures, open_s))
    notes.limiter = HostLimiter(rules, notes)
    return notes.limiter, notes
