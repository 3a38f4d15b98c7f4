"""The outcome of an attempt, as a value: fetched, failed or deferred."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from corral.domain.runs.artifact import Artifact


class FailureCode(StrEnum):
    BLOCKED = "blocked"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    NETWORK = "network"
    BAD_RESPONSE = "bad_response"
    EXTRACTION = "extraction"
    POLICY = "policy"  # our own refusal
    LIMIT = "limit"  # a budget of ours
    WORKER_LOST = "worker_lost"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # our bug
    WAITING = "waiting"  # only in data of earlier versions, which recorded a `Deferred` as a failure


@dataclass(frozen=True, slots=True)
class Fetched:
    """The target answered with a page. `missing` names requested fields that were not found."""

    stats: dict[str, Any] = field(default_factory=dict)
    records: tuple[dict[str, Any], ...] = ()
    missing: tuple[str, ...] = ()
    # The recipe that a browser recorded, with `url_pattern`, `calls` and `fields`: later runs need no browser.
    recipe: dict[str, Any] | None = None
    artifacts: tuple[Artifact, ...] = ()
    # The problems of a run with items whose other items are a result.
    problems: dict[str, Any] | None = None
    # For each record, by field: the source of its value, the confidence, the raw value, the problems.
    details: tuple[dict[str, Any], ...] = ()
    # The values of the first record before conversion, to search for them in the calls of a page.
    raw: dict[str, Any] | None = None
    # The failure code of a result with problems.
    flaw: "Failed | None" = None


@dataclass(frozen=True, slots=True)
class Failed:
    """`detail` is the precise reason for the code (`connect`, `body_too_large`), `message` is for people."""

    code: FailureCode
    message: str
    detail: str | None = None
    http_status: int | None = None
    retry_after: str | None = None  # the header as received
    stats: dict[str, Any] = field(default_factory=dict)
    traceback: str | None = None
    artifacts: tuple[Artifact, ...] = ()  # screenshot and HTML of the page
    records: tuple[dict[str, Any], ...] = ()  # records that a script sent before it failed


class WaitReason(StrEnum):
    """Why a request is deferred; stored with runs, pages and images that wait."""

    BREAKER = "breaker"
    PACE = "pace"
    RETRY_AFTER = "retry_after"
    BUSY = "busy"
    ROBOTS = "robots"


_DEFERRED_BY = {
    WaitReason.BREAKER: "by its circuit breaker: it failed several times in a row",
    WaitReason.PACE: "by its rate limit",
    WaitReason.RETRY_AFTER: "because it requested a pause (Retry-After)",
    WaitReason.BUSY: "because all its slots are in use",
    WaitReason.ROBOTS: "because its robots.txt could not be fetched yet",
}


@dataclass(frozen=True, slots=True)
class Deferred:
    """The request was deferred, mostly by the host limiter. The target was not requested, and no attempt is counted.

    The run, or the page of a crawl, returns to its queue for this number of seconds.
    """

    host: str  # the host key
    reason: WaitReason
    seconds: float

    @property
    def message(self) -> str:
        return f"request to {self.host} deferred {_DEFERRED_BY[self.reason]}"


PROXY_FAULTS = ("proxy", "no_proxy")
PROXY_REFUSAL = "proxy_refusal"  # in the statistics: the answer of a proxy that cannot reach its target
# Every three faults remove a proxy from the pool, so a further try soon gets a better one.
_MAX_POOL_FAULTS = 20


def is_proxy_fault(failure: Failed) -> bool:
    """True if the proxy cannot be used, or the pool has none.

    If a proxy works and does not reach the site, the site may be at fault.
    """
    is_proxy = failure.code is FailureCode.NETWORK and failure.detail in PROXY_FAULTS
    return is_proxy and PROXY_REFUSAL not in failure.stats


def is_fault_of_pool(failure: Failed) -> bool:
    """True if every proxy that the pool chose for a page failed."""
    return is_proxy_fault(failure) and failure.detail == "proxy" and "pool_tries" in failure.stats


def may_try_proxy_again(failure: Failed, earlier: int, attempts: int) -> bool:
    """Return whether a run or page may try again after this fault and `earlier` ones, without counting an attempt.

    With a fixed proxy or an empty pool, there are as many tries as attempts, so that the run fails as soon as it would
    for a dead site.
    """
    if not is_proxy_fault(failure):
        return False
    return earlier < _MAX_POOL_FAULTS if is_fault_of_pool(failure) else earlier + 1 < attempts


# The outcomes that end an attempt: they are settled. A deferred run returns to the queue without a settlement.
AttemptOutcome = Fetched | Failed
Outcome = Fetched | Failed | Deferred

# Our own refusals have no page to show.
_SHOWS_NOTHING = frozenset({FailureCode.POLICY, FailureCode.CANCELLED, FailureCode.WORKER_LOST})


def wants_evidence(outcome: AttemptOutcome) -> bool:
    """True if a screenshot or the HTML of the page helps a person: it failed, or requested fields are missing."""
    if isinstance(outcome, Fetched):
        return bool(outcome.missing)
    return outcome.code not in _SHOWS_NOTHING
