"""A refresh of the pool: it reads the sources, checks every proxy in chunks, and reports its progress."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corral.domain.runs.run import RunState

CHUNK_SIZE = 250
# The longest wait while the number of chunks is unknown.
UNKNOWN_S = 1800.0
_BUFFER = 1.5
_LEAST_S = 60.0


class RefreshStatus(StrEnum):
    DISPATCHED = "DISPATCHED"  # the sources are being read, or the first chunk waits
    PROCESSING = "PROCESSING"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"

    @property
    def is_final(self) -> bool:
        return self in (RefreshStatus.COMPLETE, RefreshStatus.FAILED)


@dataclass(frozen=True, slots=True)
class StoredRefresh:
    """`id` is that of its run. Times are seconds of calendar time."""

    id: str
    started_at: float
    state: RunState  # of its run, which reads the sources and starts the chunks
    chunks: tuple[RunState, ...] | None = None  # of the runs that check; None before they are started
    error: str | None = None
    completed_at: float | None = None
    result_count: int | None = None  # usable proxies at its end


@dataclass(frozen=True, slots=True)
class RefreshProgress:
    job_id: str
    total_chunks: int
    completed_chunks: int
    failed_chunks: int
    status: RefreshStatus
    started_at: float
    completed_at: float | None
    result_count: int | None
    error: str | None = None

    def document(self) -> dict[str, Any]:
        return {
            "job_id": self.job_id,
            "total_chunks": self.total_chunks,
            "completed_chunks": self.completed_chunks,
            "failed_chunks": self.failed_chunks,
            "status": self.status.value,
            "started_at": self.started_at,
            "completed_at": self.completed_at,
            "result_count": self.result_count,
            "error": self.error,
        }


def progress_of(refresh: StoredRefresh) -> RefreshProgress:
    chunks = refresh.chunks or ()
    completed = sum(1 for state in chunks if state.is_terminal)
    failed = sum(1 for state in chunks if state in (RunState.FAILED, RunState.CANCELLED))
    return RefreshProgress(
        job_id=refresh.id,
        total_chunks=len(chunks),
        completed_chunks=completed,
        failed_chunks=failed,
        status=_status_of(refresh, chunks, completed, failed),
        started_at=refresh.started_at,
        completed_at=refresh.completed_at,
        result_count=refresh.result_count,
        error=refresh.error,
    )


def _status_of(refresh: StoredRefresh, chunks: Sequence[RunState], completed: int, failed: int) -> RefreshStatus:
    if refresh.state in (RunState.FAILED, RunState.CANCELLED) and not chunks:
        return RefreshStatus.FAILED
    if chunks and completed == len(chunks) and refresh.state.is_terminal:
        return RefreshStatus.FAILED if failed == len(chunks) else RefreshStatus.COMPLETE
    if refresh.state.is_terminal and not chunks:
        return RefreshStatus.COMPLETE
    has_begun = completed or any(state is RunState.RUNNING for state in chunks)
    return RefreshStatus.PROCESSING if has_begun else RefreshStatus.DISPATCHED


def wait_limit_s(total_chunks: int, workers: int, chunk_s: float) -> float:
    """Return how long the checks of these chunks may take: rounds of all workers, with a margin."""
    if total_chunks <= 0:
        return UNKNOWN_S
    rounds = math.ceil(total_chunks / max(1, workers))
    return max(_LEAST_S, rounds * chunk_s * _BUFFER)


def chunk_s(timeout_s: float, concurrency: int, chunk_size: int = CHUNK_SIZE) -> float:
    """Return how long one chunk takes if no proxy in it answers."""
    return math.ceil(chunk_size / max(1, concurrency)) * timeout_s


def split(ids: Sequence[int], size: int = CHUNK_SIZE) -> list[tuple[int, ...]]:
    return [tuple(ids[at : at + size]) for at in range(0, len(ids), size)]
