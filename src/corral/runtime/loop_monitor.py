"""Detect a blocked event loop: every run of this process waits for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

log = structlog.get_logger()

_MAX_STALL_S = 0.25
_POLL_S = 0.05
_LOG_EVERY_S = 60.0


@asynccontextmanager
async def monitor_loop(who: str) -> AsyncIterator[None]:
    """Log `loop_stall` while the block is active, whenever the loop was blocked for more than a quarter of a second.

    An overloaded machine stalls all the time, so one line then summarises many stalls.
    """
    watching = asyncio.create_task(_watch(who), name="loop watch")
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _watch(who: str) -> None:
    logged_at = -_LOG_EVERY_S
    stalls_s: list[float] = []
    try:
        while True:
            started_at = time.monotonic()
            await asyncio.sleep(_POLL_S)
            stall_s = time.monotonic() - started_at - _POLL_S
            if stall_s > _MAX_STALL_S:
                stalls_s.append(stall_s)
            if stalls_s and time.monotonic() - logged_at > _LOG_EVERY_S:
                _log_stalls(who, stalls_s)
                logged_at, stalls_s = time.monotonic(), []
    finally:
        if stalls_s:
            _log_stalls(who, stalls_s)


def _log_stalls(who: str, stalls_s: list[float]) -> None:
    log.warning("loop_stall", who=who, ms=round(max(stalls_s) * 1000), times=len(stalls_s))
