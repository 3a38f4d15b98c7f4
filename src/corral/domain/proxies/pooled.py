"""A proxy of the pool, and how its state changes with each use."""

from dataclasses import dataclass, replace
from enum import StrEnum

from corral.domain.errors import NotFound
from corral.domain.net.pool_policy import Tier
from corral.domain.net.proxy import ProxyPolicy


class ProxyNotFound(NotFound):
    def __init__(self, proxy_id: int) -> None:
        super().__init__(f"no proxy {proxy_id}", hint="list proxies with `corral proxy list`")


class ProxyState(StrEnum):
    UNCHECKED = "unchecked"  # imported; not used before a check
    ALIVE = "alive"
    COOLING = "cooling"  # not used after failures in a row, until its next check
    DEAD = "dead"  # it failed its check


class Anonymity(StrEnum):
    TRANSPARENT = "transparent"  # the target sees our own address
    ANONYMOUS = "anonymous"  # the target sees that there is a proxy
    ELITE = "elite"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProxyRules:
    out_after: int = 3  # failures in a row
    cool_s: float = 60.0  # time until the first check of a proxy that is out; doubled by each failed check
    max_cool_s: float = 3600.0


USUAL_RULES = ProxyRules()


@dataclass(frozen=True, slots=True)
class PooledProxy:
    """Times are seconds of calendar time."""

    id: int
    address: str
    sealed: str | None = None
    tier: Tier = Tier.DATACENTRE
    source: str = ""
    state: ProxyState = ProxyState.UNCHECKED
    score: float = 0.0
    anonymity: Anonymity = Anonymity.UNKNOWN
    exit_address: str | None = None
    latency_ms: int | None = None
    has_tls: bool | None = None  # None: not checked
    reaches_target: bool | None = None
    problem: str | None = None  # why the last check or use failed
    failures: int = 0  # in a row
    cools: int = 0  # cool-downs in a row
    cooled_until: float | None = None
    uses: int = 0
    successes: int = 0
    checked_at: float | None = None
    created_at: float = 0.0

    @property
    def is_usable(self) -> bool:
        return self.state is ProxyState.ALIVE

    @property
    def is_proven(self) -> bool:
        """True if it has worked, and not failed since."""
        return self.successes > 0 and self.failures == 0

    @property
    def policy(self) -> ProxyPolicy:
        return ProxyPolicy(self.address, self.sealed)

    def after_success(self) -> "PooledProxy":
        return replace(self, uses=self.uses + 1, successes=self.successes + 1, failures=0, cools=0)

    def after_failure(self, why: str, now: float, rules: ProxyRules = USUAL_RULES) -> "PooledProxy":
        """Count a failed use; after the third in a row, the proxy is not used until a check."""
        failures = self.failures + 1
        counted = replace(self, uses=self.uses + 1, failures=failures, problem=why[:200])
        if failures < rules.out_after or self.state is not ProxyState.ALIVE:
            return counted
        return replace(counted, state=ProxyState.COOLING, cooled_until=now + cool_s(self.cools, rules))


def cool_s(cools: int, rules: ProxyRules = USUAL_RULES) -> float:
    return min(rules.max_cool_s, rules.cool_s * 2.0 ** min(cools, 32))
