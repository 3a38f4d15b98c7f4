"""Choose the strategy of a run, once, with the reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corral.domain.jobs.job import Job, Strategy
from corral.domain.runs.outcome import Deferred, WaitReason
from corral.domain.runs.probe import Probe
from corral.domain.sites.site import Memory, is_worth_trying, proven

_DEFERRED_BY = {
    WaitReason.BREAKER: "the breaker of the host is open",
    WaitReason.PACE: "the rate limit of the host is exhausted for now",
    WaitReason.RETRY_AFTER: "the host requested a pause (Retry-After)",
    WaitReason.BUSY: "all slots of the host are in use",
}
_BLOCKING = frozenset({401, 403, 429})


@dataclass(frozen=True, slots=True)
class Resolution:
    strategy: Strategy
    reason: str

    @property
    def meta(self) -> dict[str, Any]:
        return {"resolved_strategy": self.strategy.value, "reason": self.reason}


def needs_probe(job: Job, requested: Strategy) -> bool:
    return requested is Strategy.AUTO and not job.requires_auth


def is_proxied(job: Job) -> bool:
    """Return whether the job uses a proxy. A probe would then reveal the address that the job wants to hide."""
    return job.proxy is not None and not job.proxy.is_direct


def from_memory(memories: Sequence[Memory], *, has_recipe: bool = False) -> Resolution | None:
    """Return the strategy for which the site memory has enough evidence, or None. A replay needs a recipe."""
    replays = next((memory for memory in memories if memory.strategy is Strategy.API_REPLAY), None)
    memory = proven([each for each in memories if has_recipe or each.strategy is not Strategy.API_REPLAY])
    is_better = memory is None or memory.strategy is Strategy.BROWSER
    if has_recipe and is_better and is_worth_trying(replays):
        return Resolution(
            Strategy.API_REPLAY, "a browser run recorded the calls that fill this page; they are tried first"
        )
    if memory is None:
        return None
    return Resolution(
        memory.strategy, f"it worked in {memory.success_rate:.0%} of the latest of {memory.attempts} attempts here"
    )


def _without_answer(probe: Probe | None) -> str:
    """Return why a probe has no status to choose by."""
    failure = probe.failure if probe is not None else None
    if failure is None:
        return "the probe got no answer"
    if isinstance(failure, Deferred):
        return f"no probe was sent, because {_DEFERRED_BY[failure.reason]}"
    return f"the probe failed: {failure.message}"


def resolve(job: Job, requested: Strategy, probe: Probe | None) -> Resolution:
    """Return the strategy for a run of this job; `probe` is None if none was needed or possible."""
    if job.requires_auth:
        return Resolution(Strategy.BROWSER, "the job requires a login")
    if requested is not Strategy.AUTO:
        return Resolution(requested, "requested")
    if probe is None and is_proxied(job):
        return Resolution(
            Strategy.HTTP, "the job has a proxy, so there was no probe; plain HTTP is the cheapest attempt"
        )
    if probe is None or probe.status is None:
        return Resolution(Strategy.HTTP, f"{_without_answer(probe)}; plain HTTP is the cheapest try")
    if probe.status in _BLOCKING:
        return Resolution(Strategy.BROWSER, f"the probe was answered {probe.status}")
    if probe.is_shell:
        return Resolution(Strategy.BROWSER, "the page is an application shell without the requested fields")
    explanation = f"with {probe.what}" if probe.status < 300 else "which a browser would not change"
    return Resolution(Strategy.HTTP, f"the probe was answered {probe.status}, {explanation}")
