"""Decide what happens to an image after an attempt to download it."""

from datetime import datetime
from typing import NamedTuple

from corral.domain.datasets.image import ImageState
from corral.domain.net.retry_after import retry_after_s
from corral.domain.runs.outcome import Deferred, Failed, FailureCode

_RETRIED = frozenset({FailureCode.RATE_LIMITED, FailureCode.TIMEOUT, FailureCode.NETWORK, FailureCode.UNKNOWN})
_NOT_COUNTED = frozenset({FailureCode.WORKER_LOST, FailureCode.CANCELLED})
_BASE_S = 0.5
_LONGEST_S = 60.0
_MAX_RETRY_AFTER_S = 900.0


class DownloadTransition(NamedTuple):
    to: ImageState
    reason: str
    attempt: int
    due_in_s: float = 0.0


def decide_download(attempt: int, outcome: Failed | Deferred, max_retries: int, now: datetime) -> DownloadTransition:
    """Decide what happens after an attempt. `attempt` counts the ended attempts before this one."""
    if isinstance(outcome, Deferred):
        return DownloadTransition(ImageState.PENDING, f"waiting:{outcome.reason}", attempt, outcome.seconds)
    reason = reason_of(outcome)
    if outcome.code in _NOT_COUNTED:
        return DownloadTransition(ImageState.PENDING, reason, attempt)
    if outcome.code is FailureCode.POLICY:
        return DownloadTransition(ImageState.REFUSED, reason, attempt + 1)
    requested_s = retry_after_s(outcome.retry_after, now)
    is_sent_away = requested_s is not None and requested_s > _MAX_RETRY_AFTER_S
    if attempt >= max_retries or not _may_retry(outcome) or is_sent_away:
        return DownloadTransition(ImageState.FAILED, reason, attempt + 1)
    wait_s = requested_s if requested_s is not None else min(_LONGEST_S, _BASE_S * 2**attempt)
    return DownloadTransition(ImageState.PENDING, reason, attempt + 1, wait_s)


def reason_of(failure: Failed) -> str:
    if failure.http_status is not None and failure.http_status >= 400:
        return f"http_{failure.http_status}"
    return f"{failure.code}:{failure.detail}" if failure.detail else failure.code.value


def _may_retry(failure: Failed) -> bool:
    if failure.code is FailureCode.BAD_RESPONSE:
        return failure.http_status is not None and failure.http_status >= 500
    return failure.code in _RETRIED
