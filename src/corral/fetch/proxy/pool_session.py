"""Fetch one page through proxies of the pool: if one fails, try another."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from corral.domain.hosts.limiter import host_key_of_url
from corral.domain.net.pool_policy import PoolMode, PoolPolicy, Sticky, Tier
from corral.domain.net.proxy import OpenProxy
from corral.domain.ports.execution import Task
from corral.domain.ports.proxies import LeasedProxy, ProxySource
from corral.domain.proxies.choice import LeaseRequest
from corral.domain.proxies.config import TierPrice
from corral.domain.proxies.use import ProxyUse, Verdict, judge
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.secret import without
from corral.fetch.faults import fault
from corral.fetch.proxy.check import open_leased
from corral.fetch.proxy.pool_spending import PoolSpending
from corral.fetch.sessions import SessionKeys
from corral.secrets.vault import SealBroken

_MAX_TRIES = 10
# Proxies that a site may refuse before the run decides whether to retry later or to escalate.
_MAX_REFUSALS = 2
# One silent proxy must not use up the whole time of a page.
_TRY_SHARE = 0.4
_MIN_TRY_S = 3.0
_FINAL = frozenset({FailureCode.POLICY, FailureCode.LIMIT, FailureCode.BAD_RESPONSE})

T = TypeVar("T")
# Fetches through this proxy (None: directly) within this time.
Try = Callable[[OpenProxy | None, float], Awaitable[T | Failed]]


@dataclass(frozen=True, slots=True)
class _Trial(Generic[T]):
    """One attempt with one proxy."""

    attempt: Try[T]
    is_doubtful: Callable[[T], bool]
    left_s: float
    timeout_s: float
    is_verified: bool  # the site's certificate is verified, so no proxy can forge an answer


@dataclass(frozen=True, slots=True)
class PoolAccess:
    """A worker's access to the pool, and the price of each tier."""

    source: ProxySource
    keys: SessionKeys
    prices: Mapping[str, TierPrice] = field(default_factory=dict)

    def open(self, policy: PoolPolicy, url: str, task: Task) -> "PoolSession":
        return PoolSession(self, policy, url, task.job_id or task.run_id)


class PoolSession:
    def __init__(self, access: PoolAccess, policy: PoolPolicy, url: str, job_key: str) -> None:
        self._source = access.source
        self._keys = access.keys
        self._spending = PoolSpending(access.prices)
        self._policy = policy
        self._url = url
        self._site = host_key_of_url(url) or ""
        self._key = {Sticky.RUN: "", Sticky.JOB: job_key, Sticky.SITE: self._site}[policy.sticky]
        self._tried: list[int] = []
        self._refusals = 0
        self._doubts = 0  # results that a proxy may have forged
        self._after: Tier | None = None

    async def fetch(
        self,
        attempt: Try[T],
        timeout_s: float,
        *,
        verifies_tls: bool,
        is_doubtful: Callable[[T], bool] = lambda _: False,
    ) -> T | Failed:
        """Try proxies until one gets an answer, else return the last outcome. Never connects without a proxy.

        A doubtful result is accepted once a second proxy gets one, too.
        Only the tier `direct` of a tiered policy is a connection of our own.
        """
        ends_at = time.monotonic() + timeout_s
        is_verified = verifies_tls and self._url.startswith("https:")
        outcome: T | Failed | None = None
        for _ in range(_MAX_TRIES):
            leased = await self._source.lease(self._request())
            if leased is None:
                break
            left_s = ends_at - time.monotonic()
            trial = _Trial(attempt, is_doubtful, max(0.1, left_s), timeout_s, is_verified)
            outcome, verdict = await self._try(leased, trial)
            if not self._tries_next(verdict, leased):
                break
            if ends_at - time.monotonic() < min(1.0, timeout_s / 4):
                return _distrust(outcome)
        if outcome is None:
            return fault("network:no_proxy", pool_tries=len(self._tried))
        return outcome

    async def _try(self, leased: LeasedProxy, trial: "_Trial[Any]") -> tuple[Any, Verdict]:
        verdict, why = Verdict.NOTHING, ""
        try:
            proxy = None if leased.is_direct else open_leased(leased, self._keys)
            limit_s = min(trial.left_s, max(_MIN_TRY_S, trial.timeout_s * _TRY_SHARE))
            outcome = self._describe(await trial.attempt(proxy, limit_s), leased, proxy)
            verdict = self._judge(outcome, trial)
            outcome = self._spending.add(outcome, leased.tier)
            why = outcome.message if isinstance(outcome, Failed) else ""
        except SealBroken:
            outcome, verdict = fault("policy:proxy_sealed"), Verdict.FAULT
        finally:
            use = ProxyUse(leased.id, self._site, leased.tier, verdict, why[:200], self._url)
            self._source.report(use)
        return outcome, verdict

    def _judge(self, outcome: T | Failed, trial: "_Trial[T]") -> Verdict:
        if isinstance(outcome, Failed) or trial.is_verified or not trial.is_doubtful(outcome):
            return judge(outcome, verifies_tls=trial.is_verified)  # type: ignore[arg-type] # any result is a success
        self._doubts += 1
        return Verdict.SUSPECT if self._doubts == 1 else Verdict.NOTHING

    def _tries_next(self, verdict: Verdict, leased: LeasedProxy) -> bool:
        if not leased.is_direct:
            self._tried.append(leased.id)
        if verdict in (Verdict.FAULT, Verdict.SUSPECT):
            self._after = leased.tier if leased.is_direct else self._after
            return True
        if verdict is not Verdict.REFUSED:
            return False
        if self._policy.mode is PoolMode.TIERED:
            is_last = leased.tier is self._policy.tiers[-1]
            self._after = leased.tier
            if not is_last:
                return True
        self._refusals += 1
        return self._refusals <= _MAX_REFUSALS

    def _describe(self, outcome: T | Failed, leased: LeasedProxy, proxy: OpenProxy | None) -> T | Failed:
        """Record the proxy and its cost in the statistics, and remove its credentials from the outcome."""
        stats = getattr(outcome, "stats", None)
        if not isinstance(stats, dict):
            return outcome
        proxy_stats: dict[str, Any] = {"proxy_tier": leased.tier.value, "pool_tries": len(self._tried) + 1}
        if proxy is not None:
            proxy_stats["proxy"] = proxy.redacted
        fields: dict[str, Any] = {"stats": {**stats, **proxy_stats}}
        if isinstance(outcome, Failed):
            fields |= {"message": outcome.message, "traceback": outcome.traceback}
        return replace(outcome, **without(fields, [] if proxy is None else proxy.secrets()))  # type: ignore[type-var]

    def _request(self) -> LeaseRequest:
        policy = self._policy
        return LeaseRequest(
            self._site,
            policy.tiers,
            policy.sticky,
            self._key,
            tuple(self._tried),
            is_tiered=policy.mode is PoolMode.TIERED,
            after=self._after,
        )


def _distrust(outcome: T | Failed) -> T | Failed:
    """Return an outcome that time was too short to confirm with another proxy.

    A failure that ends a run for good must not rest on one proxy, which may have forged it: the run tries again.
    """
    if not isinstance(outcome, Failed) or outcome.code not in _FINAL:
        return outcome
    return replace(fault("network:proxy", f"it may have forged the answer ({outcome.message})"), stats=outcome.stats)
