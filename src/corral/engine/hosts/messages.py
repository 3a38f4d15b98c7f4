"""Messages about host slots, between a worker process and the host limiter of its node.

A worker asks for slots with `SlotRequest`. The limiter lends slots of a healthy host in bulk (`SlotLoan`); the worker
reuses them without another message until a `SlotRecall`. For a host that must be spared, the limiter grants every
request separately (`SlotGrant`) or refuses it (`SlotRefusal`). The worker reports results with a `VisitReport`.
"""

from enum import StrEnum

import msgspec

from corral.domain.hosts.breaker import Sign
from corral.domain.runs.outcome import WaitReason


class SlotKind(StrEnum):
    LENT = "lent"  # returns to the worker's loan, for its next request
    ONCE = "once"
    PROBE = "probe"  # the only request that an open breaker lets through


class SlotRequest(msgspec.Struct, frozen=True, array_like=True, tag="request_slots"):
    host_key: str
    count: int
    concurrency: int  # concurrent requests to the host that the crawl asks for


class SlotWithdrawal(msgspec.Struct, frozen=True, array_like=True, tag="withdraw_slots"):
    """Cancels requests that the worker served from its loan in the meantime."""

    host_key: str
    count: int


class VisitResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of one visit that the limiter needs to know on its own."""

    kind: SlotKind
    sign: Sign
    status: int | None = None
    latency_s: float | None = None
    retry_after_s: float | None = None


class VisitReport(msgspec.Struct, frozen=True, array_like=True, tag="report_visits"):
    host_key: str
    returned: int  # lent slots that the worker gives back
    succeeded: int  # ordinary successful visits since the last report
    latency_s: float  # mean latency of these visits
    results: tuple[VisitResult, ...] = ()


class CrawlDelay(msgspec.Struct, frozen=True, array_like=True, tag="crawl_delay"):
    """The Crawl-delay of the host's robots.txt."""

    host_key: str
    delay_s: float


class SlotLoan(msgspec.Struct, frozen=True, array_like=True, tag="lend_slots"):
    host_key: str
    count: int


class SlotGrant(msgspec.Struct, frozen=True, array_like=True, tag="grant_slot"):
    host_key: str
    kind: SlotKind


class SlotRefusal(msgspec.Struct, frozen=True, array_like=True, tag="refuse_slots"):
    host_key: str
    reason: WaitReason
    wait_s: tuple[float, ...]  # one for each refused request


class SlotRecall(msgspec.Struct, frozen=True, array_like=True, tag="recall_slots"):
    host_key: str
    count: int | None  # None recalls the whole loan


ToLimiter = SlotRequest | SlotWithdrawal | VisitReport | CrawlDelay
FromLimiter = SlotLoan | SlotGrant | SlotRefusal | SlotRecall
