"""The failure that an HTTP status means."""

from corral.domain.runs.outcome import Failed, FailureCode

_BY_STATUS = {
    401: FailureCode.BLOCKED,
    403: FailureCode.BLOCKED,
    429: FailureCode.RATE_LIMITED,
}


def failure_of_status(
    status: int, *, reason: str = "", retry_after: str | None = None, stats: dict[str, object] | None = None
) -> Failed | None:
    """Return the failure that this status means, or None for a good answer."""
    if 200 <= status < 300:
        return None
    code = _BY_STATUS.get(status, FailureCode.BAD_RESPONSE)
    return Failed(
        code=code,
        detail=f"http_{status}",
        message=f"the target answered {status} {reason}".rstrip(),
        http_status=status,
        retry_after=retry_after,
        stats=dict(stats or {}),
    )
