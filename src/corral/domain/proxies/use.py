"""Judge one use of a proxy: whether its result counts for or against the proxy, the site, or neither.

A failure that only a proxy can cause counts against it at once. The site may have caused any other failure: it counts
against the proxy only if another proxy gets an answer for the same page. A proxy that reports that it cannot reach the
site is such a case: otherwise, one dead site would empty the pool.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from corral.domain.cost.spent import SPENT
from corral.domain.net.pool_policy import Tier
from corral.domain.proxies.pooled import PooledProxy
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Outcome, is_proxy_fault


class Verdict(StrEnum):
    GOOD = "good"
    FAULT = "fault"  # of the proxy
    SUSPECT = "suspect"  # of the proxy, or of the site
    REFUSED = "refused"  # the site refuses the address of this proxy
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class ProxyUse:
    """`id` is 0 for the tier `direct`."""

    id: int
    site: str
    tier: Tier
    verdict: Verdict
    why: str = ""
    subject: str = ""  # the page, for which another proxy's result decides about a suspect


# Ids under which the results of whole tiers are stored among those of proxies.
TIER_IDS = {Tier.DIRECT: 0, Tier.DATACENTRE: -1, Tier.RESIDENTIAL: -2}
_SUSPECT_CODES = frozenset({FailureCode.TIMEOUT, FailureCode.NETWORK})
# Redirects or URLs that our rules refuse: the proxy may have forged them.
_SUSPECT_DETAILS = frozenset({"egress", "scheme", "redirects", "location", "headers", "protocol", "encoding"})
_REFUSED = frozenset({FailureCode.BLOCKED, FailureCode.RATE_LIMITED})
_OWN_DETAILS = frozenset({"no_session", "session_expired", "robots", "no_recipe", "no_proxy"})
_FORGEABLE = frozenset({502, 503, 504, 407})


class CrawledPage(Protocol):
    """The result of a crawled page."""

    @property
    def requests(self) -> int: ...


def judge(outcome: Outcome | CrawledPage, *, verifies_tls: bool) -> Verdict:
    """Judge an outcome.

    With `verifies_tls`, the site's certificate was verified, so the proxy cannot have forged the answer.
    """
    if isinstance(outcome, Deferred):
        return Verdict.NOTHING
    if isinstance(outcome, Failed):
        return _judge_failure(outcome, verifies_tls=verifies_tls)
    return Verdict.GOOD if _has_requested(outcome) else Verdict.NOTHING


def _has_requested(outcome: Outcome | CrawledPage) -> bool:
    """False for an answer without a request through the proxy: from a cache, or by a rule of ours."""
    if isinstance(outcome, Deferred):
        return False
    stats = getattr(outcome, "stats", None) or {}
    counts = (getattr(outcome, "requests", None), (stats.get(SPENT) or {}).get("requests"), stats.get("requests"))
    numbers = [int(count) for count in counts if count is not None]
    return not numbers or any(numbers)


def _judge_failure(failure: Failed, *, verifies_tls: bool) -> Verdict:
    code, detail, status = failure.code, failure.detail, failure.http_status
    if detail in _OWN_DETAILS:
        return Verdict.NOTHING
    if is_proxy_fault(failure):
        return Verdict.FAULT
    if code in _REFUSED:
        return Verdict.REFUSED
    may_be_forged = not verifies_tls and (status in _FORGEABLE or detail in _SUSPECT_DETAILS)
    if code in _SUSPECT_CODES or may_be_forged:
        return Verdict.SUSPECT
    # Without a status, nothing was received through the proxy: a recipe may fail before its first call.
    has_status = status is not None or failure.stats.get("http_status") is not None
    has_answered = has_status and code in (FailureCode.EXTRACTION, FailureCode.BAD_RESPONSE)
    return Verdict.GOOD if has_answered else Verdict.NOTHING


def count_use(proxy: PooledProxy, use: ProxyUse, now: float) -> PooledProxy:
    if use.verdict is Verdict.FAULT:
        return proxy.after_failure(use.why, now)
    if use.verdict in (Verdict.GOOD, Verdict.REFUSED):  # a refusal came through the proxy, so the proxy works
        return proxy.after_success()
    return proxy


def site_keys(use: ProxyUse) -> list[tuple[int, str]]:
    """Return the records that a use counts in: that of the proxy, and that of its tier."""
    if not use.site or use.verdict not in (Verdict.GOOD, Verdict.REFUSED):
        return []
    own = [(use.id, use.site)] if use.id > 0 else []
    return [*own, (TIER_IDS[use.tier], use.site)]
