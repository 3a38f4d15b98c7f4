"""Proxies of the pool as the API and the command line show them: without credentials."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from corral.domain.hosts.limiter import host_key_of
from corral.domain.net.pool_policy import Tier
from corral.domain.net.url import parse_target
from corral.domain.proxies.choice import NO_RECORD, SiteRecord, choose_tier, find_next_try, is_refused
from corral.domain.proxies.pooled import PooledProxy, ProxyState
from corral.domain.proxies.refresh import RefreshProgress


def proxy_view(proxy: PooledProxy) -> dict[str, Any]:
    return {
        "id": proxy.id,
        "address": proxy.policy.redacted,
        "tier": proxy.tier.value,
        "source": proxy.source,
        "state": proxy.state.value,
        "score": proxy.score,
        "anonymity": proxy.anonymity.value,
        "exit_address": proxy.exit_address,
        "latency_ms": proxy.latency_ms,
        "tls": proxy.has_tls,
        "reaches_target": proxy.reaches_target,
        "problem": proxy.problem,
        "failures": proxy.failures,
        "uses": proxy.uses,
        "successes": proxy.successes,
        "cooled_until": _at(proxy.cooled_until),
        "checked_at": _at(proxy.checked_at),
        "created_at": _at(proxy.created_at),
    }


def progress_view(progress: RefreshProgress) -> dict[str, Any]:
    document = progress.document()
    return {**document, "started_at": _at(progress.started_at), "completed_at": _at(progress.completed_at)}


def site_key(text: str) -> str:
    """Return the key of a site from a host or a URL; BadInput if the text is neither."""
    return host_key_of(parse_target(text if "://" in text else f"http://{text}", field="site"))


def tiers_view(site: str, records: Mapping[Tier, SiteRecord], now: float) -> dict[str, Any]:
    """Return the results of the tiers at a site, and the tier that a `tiered` policy begins with now.

    Older results count less.
    """
    tiers = [
        {
            "tier": tier.value,
            "good": round(record.at(now).good, 2),
            "refused": round(record.at(now).bad, 2),
            "is_refused": is_refused(record, now),
            "tried_again_at": _at(find_next_try(record, now)),
        }
        for tier, record in ((tier, records.get(tier, NO_RECORD)) for tier in Tier)
    ]
    return {"site": site, "begins_with": choose_tier(tuple(Tier), records, now, None).value, "tiers": tiers}


def pool_view(counts: Mapping[str, int], minimum: int) -> dict[str, Any]:
    return {
        "total": sum(counts.values()),
        "usable": counts[ProxyState.ALIVE.value],
        "minimum": minimum,
        "by_state": dict(counts),
    }


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(round(seconds, 3), UTC)
