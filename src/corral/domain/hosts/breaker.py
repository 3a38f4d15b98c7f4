"""The circuit breaker of a host: five failures in a row block it for five minutes; then one probe is sent.

A page that fails while its neighbours succeed says nothing about the host. Therefore failures that the host answered
(403, 5xx) open the breaker only after a longer row: half the number of preceding successes, between five and a hundred.

A breaker is an immutable value: every change returns a new one. The store saves its document, so a restart loses
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from corral.domain.net.proxy import RouteKind
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.retry import NEEDS_LOGIN


class Sign(StrEnum):
    """What an outcome says about the host."""

    WELL = "well"  # the host answers, even if not with the requested content
    ILL = "ill"
    NOTHING = "nothing"  # the fault is ours, or a proxy's


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"  # no request is sent
    PROBING = "probing"  # only the probe is in flight


_ILL = frozenset({FailureCode.BLOCKED, FailureCode.RATE_LIMITED, FailureCode.TIMEOUT, FailureCode.NETWORK})
_PROXY = frozenset({"proxy", "no_proxy"})
_MAX_WELLS = 200


def sign_of(outcome: Outcome, route: RouteKind = RouteKind.DIRECT) -> Sign:
    """Return what an outcome says about its host. A missing, forbidden or unexpected page is not the host's failure.

    Through a proxy, only a 5xx that certainly came from the host counts against it. The proxy can cause every other
    failure, or the failure is meant for the proxy's address: refused and cut connections, timeouts, blocks, forged
    answers.
    """
    sign = _sign_of(outcome)
    if sign is not Sign.ILL or route is RouteKind.DIRECT:
        return sign
    status = outcome.http_status if isinstance(outcome, Failed) else None
    is_own = route is RouteKind.PROXY_TLS and status is not None and status >= 500
    return Sign.ILL if is_own else Sign.NOTHING


def _sign_of(outcome: Outcome) -> Sign:
    if isinstance(outcome, Fetched):
        return Sign.WELL
    if isinstance(outcome, Deferred):
        return Sign.NOTHING
    if outcome.code is FailureCode.NETWORK and outcome.detail in _PROXY:
        return Sign.NOTHING
    if outcome.code is FailureCode.BLOCKED and (outcome.http_status == 401 or outcome.detail in NEEDS_LOGIN):
        return Sign.WELL
    if outcome.code in _ILL:
        return Sign.ILL
    if outcome.code is FailureCode.BAD_RESPONSE:
        status = outcome.http_status
        return Sign.WELL if status is not None and status < 500 else Sign.ILL
    return Sign.WELL if outcome.code is FailureCode.EXTRACTION else Sign.NOTHING


@dataclass(frozen=True, slots=True)
class BreakerRules:
    opens_after: int = 5  # failures in a row
    open_s: float = 300.0
    closes_after: int = 1  # successful probes
    # The probe of a dead worker never returns; after this time another one is sent.
    probe_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """Times are seconds of the steady clock. `opened_at` is None while the breaker is closed."""

    failures: int = 0
    opened_at: float | None = None
    probed_at: float | None = None  # when the probe in flight was sent
    successes: int = 0  # successful probes in a row
    wells: int = 0  # good answers before the current row of failures, up to a limit

    @property
    def state(self) -> BreakerState:
        if self.opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.probed_at is None else BreakerState.PROBING

    def wait_s(self, now: float, rules: BreakerRules) -> float:
        """Return how long no request may be sent; 0 if one may. While the breaker is open, that request is the probe.

        A clock that was set back extends no wait beyond the rules.
        """
        if self.opened_at is None:
            return 0.0
        if self.probed_at is not None:
            return min(max(0.0, self.probed_at + rules.probe_s - now), rules.probe_s)
        return min(max(0.0, self.opened_at + rules.open_s - now), rules.open_s)

    def start(self, now: float) -> "Breaker":
        """Record that a request was sent. While the breaker is open, it is the probe, and no other request is sent."""
        return self if self.opened_at is None else replace(self, probed_at=now)

    def after(
        self, sign: Sign, now: float, rules: BreakerRules, *, was_probe: bool = False, of_page: bool = False
    ) -> "Breaker":
        """Return the breaker after an answer. With `of_page`, the host answered, so the failure may concern this page
        only.

        Requests in flight when the breaker opened say nothing new; only the probe counts.
        """
        if self.opened_at is not None:
            return self._after_probe(sign, now, rules) if was_probe else self
        if sign is Sign.NOTHING:
            return self
        if sign is Sign.WELL:
            return self.count_well(1)
        failures = self.failures + 1
        limit = max(rules.opens_after, self.wells // 2) if of_page else rules.opens_after
        return Breaker(failures, opened_at=now) if failures >= limit else Breaker(failures, wells=self.wells)

    def count_well(self, wells: int) -> "Breaker":
        """Count `wells` good answers."""
        if not wells or self.opened_at is not None or (self.failures == 0 and self.wells == _MAX_WELLS):
            return self
        return Breaker(wells=min(_MAX_WELLS, self.wells + wells))

    def _after_probe(self, sign: Sign, now: float, rules: BreakerRules) -> "Breaker":
        if sign is Sign.NOTHING:
            return replace(self, probed_at=None)  # the next probe may be sent at once
        if sign is Sign.ILL:
            return Breaker(self.failures + 1, opened_at=now)
        successes = self.successes + 1
        return Breaker() if successes >= rules.closes_after else replace(self, probed_at=None, successes=successes)

    def document(self) -> dict[str, Any]:
        return {
            "failures": self.failures,
            "opened_at": self.opened_at,
            "probed_at": self.probed_at,
            "successes": self.successes,
            "wells": self.wells,
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> "Breaker":
        return Breaker(
            failures=int(document.get("failures", 0)),
            opened_at=document.get("opened_at"),
            probed_at=document.get("probed_at"),
            successes=int(document.get("successes", 0)),
            wells=int(document.get("wells", 0)),
        )
