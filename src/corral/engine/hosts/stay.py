"""The stay of one visit at one host, and the conclusion from its outcome about the host."""

from dataclasses import dataclass
from datetime import UTC, datetime

from corral.domain.hosts.breaker import sign_of
from corral.domain.hosts.limiter import Answer
from corral.domain.net.proxy import RouteKind
from corral.domain.net.retry_after import retry_after_s
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.engine.hosts.messages import SlotKind


@dataclass(slots=True)
class Stay:
    kind: SlotKind
    is_free: bool = False  # the slot; the answer is still to be reported
    status: int | None = None
    latency_s: float | None = None
    retry_after: str | None = None
    route: RouteKind = RouteKind.DIRECT


def answer_of(stay: Stay, outcome: Outcome) -> Answer:
    if stay.route is RouteKind.PROXY:
        # The proxy itself may have sent the status, which therefore must not slow the host down either.
        return Answer(sign_of(outcome, stay.route), None, stay.latency_s)
    status, retry_after = stay.status, stay.retry_after
    if status is None:  # a browser made the requests; the outcome names the host
        reported = _status_of(outcome)
        status = reported if isinstance(reported, int) else None
    if retry_after is None and isinstance(outcome, Failed):
        retry_after = outcome.retry_after
    wait_s = retry_after_s(retry_after, datetime.now(UTC)) if status in (429, 503) else None
    return Answer(sign_of(outcome, stay.route), status, stay.latency_s, wait_s)


def _status_of(outcome: Outcome) -> object:
    if isinstance(outcome, Fetched):
        return outcome.stats.get("http_status")
    return outcome.http_status if isinstance(outcome, Failed) else None
