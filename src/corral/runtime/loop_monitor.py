"""Detect a blocked event loop: every run of this process waits for it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

log = structlog.get_logger()

LONGEST_S = 0.25
_LOOK_EVERY_S = 0.05
_TELL_EVERY_S = 60.0


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
    told_at = -_TELL_EVERY_S
    untold: list[float] = []
    try:
        while True:
            looked_at = time.monotonic()
            await asyncio.sleep(_LOOK_EVERY_S)
            stood_s = time.monotonic() - looked_at - _LOOK_EVERY_S
            if stood_s > LONGEST_S:
                untold.append(stood_s)
            if untold and time.monotonic() - told_at > _TELL_EVERY_S:
                _tell(who, untold)
                told_at, untold = time.monotonic(), []
    finally:
        if untold:
            _tell(who, untold)


def _tell(who: str, stood_s: list[float]) -> None:
    log.warning("loop_stall", who=who, ms=round(max(stood_s) * 1000), times=len(stood_s))
