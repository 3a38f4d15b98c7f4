"""A page through the pool: what one proxy alone says never ends a run for good."""

import asyncio
from dataclasses import dataclass, field

from corral.domain.net.pool_policy import PoolPolicy, Tier
from corral.domain.net.proxy import OpenProxy
from corral.domain.ports.proxies import LeasedProxy
from corral.domain.proxies.choice import LeaseRequest
from corral.domain.proxies.use import ProxyUse, Verdict
from corral.domain.runs.outcome import Failed, Fetched, is_fault_of_pool
from corral.fetch.faults import fault
from corral.fetch.proxy.pool_session import PoolAccess, PoolSession
from corral.fetch.sessions import SessionKeys


@dataclass
class _Pool:
    """Leases its proxies in their order."""

    size: int
    uses: list[ProxyUse] = field(default_factory=list)

    async def lease(self, request: LeaseRequest) -> LeasedProxy | None:
        number = len(request.exclude) + 1
        return LeasedProxy(number, Tier.DATACENTRE, f"http://127.0.0.1:{number}") if number <= self.size else None

    def report(self, use: ProxyUse) -> None:
        self.uses.append(use)


async def _fetch(pool: _Pool, takes_s: float, timeout_s: float) -> Fetched | Failed:
    async def attempt(proxy: OpenProxy | None, limit_s: float) -> Fetched | Failed:
        await asyncio.sleep(takes_s)
        return fault("policy:egress", "169.254.169.254")

    session = PoolSession(PoolAccess(pool, SessionKeys()), PoolPolicy(), "http://site.test/", "job")
    return await session.fetch(attempt, timeout_s, verifies_tls=True)


async def test_a_forged_redirect_that_no_other_proxy_confirms_in_time_is_the_fault_of_the_proxy() -> None:
    pool = _Pool(2)
    outcome = await _fetch(pool, takes_s=0.2, timeout_s=0.2)
    assert isinstance(outcome, Failed)
    assert is_fault_of_pool(outcome), outcome
    assert "169.254.169.254" in outcome.message
    assert [use.verdict for use in pool.uses] == [Verdict.SUSPECT]


async def test_a_redirect_that_every_proxy_reports_is_the_answer_of_the_site() -> None:
    outcome = await _fetch(_Pool(2), takes_s=0.0, timeout_s=30)
    assert isinstance(outcome, Failed)
    assert (outcome.code.value, outcome.detail) == ("policy", "egress")
