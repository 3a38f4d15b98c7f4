"""The limits of hosts, as the API and the command line show them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from corral.domain.hosts.breaker import BreakerRules, BreakerState
from corral.domain.hosts.limiter import SitePace, StoredHost
from corral.domain.runs.outcome import WaitReason

MAX_AT_ONCE = 1000
MAX_DELAY_S = 3600


class SitePaceRead(BaseModel):
    concurrency: int | None = Field(description="concurrent requests; null leaves it to the settings")
    delay_s: float | None = Field(
        description="between two requests, varied by up to half; null leaves it to the settings"
    )


class SiteLimiterRead(BaseModel):
    host: str = Field(description="with its port where that is not the usual one, without www.")
    breaker: Literal["closed", "open", "probing"]
    failures: int = Field(description="in a row")
    waiting_reason: str | None = Field(description="why requests to it wait now: `breaker` or `retry_after`")
    wait_s: float = Field(description="how much longer they wait")
    waiting_runs: int
    pace: SitePaceRead
    updated_at: datetime | None


class SitePaceChange(BaseModel):
    """Omitted or null fields default to the settings."""

    model_config = ConfigDict(extra="forbid")

    concurrency: Annotated[int, Field(strict=True, ge=1, le=MAX_AT_ONCE)] | None = None
    delay_s: Annotated[float, Field(strict=True, ge=0, le=MAX_DELAY_S)] | None = None


def limiter_read(host: StoredHost, rules: BreakerRules, waiting_runs: int = 0) -> dict[str, Any]:
    blocked_s, breaker_s = host.blocked_for_s, host.opens_in_s(rules)
    reason = (
        WaitReason.BREAKER if host.state is not BreakerState.CLOSED else WaitReason.RETRY_AFTER if blocked_s else None
    )
    return {
        "host": host.host_key,
        "breaker": host.state.value,
        "failures": host.failures,
        "waiting_reason": reason.value if reason else None,
        "wait_s": round(max(blocked_s, breaker_s), 1),
        "waiting_runs": waiting_runs,
        "pace": pace_read(host.pace_override),
        "updated_at": host.updated_at,
    }


def pace_read(pace: SitePace) -> dict[str, Any]:
    return {"concurrency": pace.concurrency, "delay_s": pace.delay_s}


def breakers_read(hosts: Sequence[StoredHost]) -> dict[str, Any]:
    blocked = sorted(host.host_key for host in hosts if host.state is not BreakerState.CLOSED)
    return {
        "blocked_domains": blocked,
        "domain_failure_counts": {host.host_key: host.failures for host in hosts if host.failures},
        "total_blocked_domains": len(blocked),
    }
