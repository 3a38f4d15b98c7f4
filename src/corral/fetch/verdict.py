"""What is wrong with an answer: by its status, or because it only looks like content. The same for every executor."""

from typing import Any

from corral.domain.classify import failure_of_status
from corral.domain.outcome import Failed, FailureCode
from corral.extract.verdict import Answer, Kind, failure_of_verdict, judge

_SAID_BY_STATUS = frozenset({FailureCode.BLOCKED, FailureCode.RATE_LIMITED})
# A shell stays a good answer: its missing fields send the run to the browser, and what was found is kept.
_GOOD = frozenset({Kind.OK, Kind.EMPTY_SHELL})


def failure_behind(page: Answer, missing: tuple[str, ...], stats: dict[str, Any]) -> Failed | None:
    """None for an answer that is what was asked for. What gave another one away goes into the statistics."""
    retry_after = page.headers.get("retry-after")
    by_status = failure_of_status(page.status, retry_after=retry_after, stats=stats)
    if by_status is not None and by_status.code in _SAID_BY_STATUS:
        return by_status
    verdict = judge(page, missing)
    if verdict.kind in _GOOD:
        return by_status
    stats["verdict"] = {"kind": verdict.kind.value, "score": verdict.score, "evidence": list(verdict.evidence)}
    return failure_of_verdict(verdict, page.status, retry_after=retry_after, stats=stats) or by_status
