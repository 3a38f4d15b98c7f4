"""Failures that are the doing of the proxies that the pool gave: they are no attempts."""

from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.run import Run

_MOST = 20
# The pool loses a proxy with each three faults, so that another try soon gets a better one.
POOL_PAUSE_S = 10.0


def is_fault_of_pool(failure: Failed) -> bool:
    is_proxy = failure.code is FailureCode.NETWORK and failure.detail == "proxy"
    return is_proxy and "pool_tries" in failure.stats


def is_failed_by_pool(run: Run, failure: Failed) -> bool:
    """Every proxy that the run tried failed; up to a bound, so that no run goes on for ever."""
    faults = sum(1 for entry in run.attempts if entry.get("detail") == "proxy")
    return is_fault_of_pool(failure) and faults < _MOST
