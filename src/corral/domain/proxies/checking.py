"""The result of a check, and the state of the proxy after it."""

from dataclasses import dataclass, replace

from corral.domain.proxies.pooled import Anonymity, PooledProxy, ProxyRules, ProxyState, cool_s

# Factor of the score for each kind of anonymity.
_FACTORS = {Anonymity.ELITE: 1.0, Anonymity.ANONYMOUS: 0.9, Anonymity.UNKNOWN: 0.8, Anonymity.TRANSPARENT: 0.6}
_NO_TARGET = 0.3
_NO_TLS = 0.8


@dataclass(frozen=True, slots=True)
class ProxyCheck:
    """The result of a check. `problem` is None if the proxy answered and did not alter the page."""

    id: int
    problem: str | None = None
    latency_ms: int | None = None
    anonymity: Anonymity = Anonymity.UNKNOWN
    exit_address: str | None = None
    has_tls: bool | None = None
    reaches_target: bool | None = None

    @property
    def is_alive(self) -> bool:
        return self.problem is None


def score_of(check: ProxyCheck) -> float:
    """Return a score from 0 to 100; a latency of one second halves it."""
    if not check.is_alive:
        return 0.0
    score = 100.0 / (1.0 + (check.latency_ms or 0) / 1000) * _FACTORS[check.anonymity]
    if check.reaches_target is False:
        score *= _NO_TARGET
    if check.has_tls is False:
        score *= _NO_TLS
    return round(score, 3)


def apply_check(proxy: PooledProxy, check: ProxyCheck, now: float, rules: ProxyRules | None = None) -> PooledProxy:
    """Return the proxy after a check: a good check makes it alive, a failed one doubles its cool-down."""
    rules = rules or ProxyRules()
    checked = replace(
        proxy,
        score=score_of(check),
        latency_ms=check.latency_ms,
        anonymity=check.anonymity,
        exit_address=check.exit_address,
        has_tls=check.has_tls,
        reaches_target=check.reaches_target,
        checked_at=now,
    )
    if check.is_alive:
        return replace(checked, state=ProxyState.ALIVE, failures=0, cooled_until=None, problem=None)
    cools = proxy.cools + 1
    return replace(
        checked, state=ProxyState.DEAD, cools=cools, cooled_until=now + cool_s(cools, rules), problem=check.problem
    )


# Headers added by a proxy that reveal it to the target.
_TELLING = frozenset({"via", "forwarded", "x-forwarded-for", "x-real-ip", "x-forwarded-host", "proxy-connection"})


def anonymity_of(exit_address: str | None, headers: dict[str, str], own_address: str | None) -> Anonymity:
    if exit_address is None:
        return Anonymity.UNKNOWN
    reported = [exit_address, *(value for name, value in headers.items() if name.lower() in _TELLING)]
    if own_address is not None and any(own_address in value for value in reported):
        return Anonymity.TRANSPARENT
    if any(name.lower() in _TELLING for name in headers):
        return Anonymity.ANONYMOUS
    return Anonymity.UNKNOWN if own_address is None else Anonymity.ELITE
