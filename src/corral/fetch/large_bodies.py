"""Pace the large bodies of a process, so that they leave the event loop to the requests of other hosts.

Reading a body that never ends, or one that unpacks to megabytes, keeps the event loop busy as fast as it arrives. The
first megabyte of a body is free; after that, all large bodies together get a fixed rate.
"""

import asyncio
import time
from collections.abc import Callable

MIB = 1024 * 1024
_SECONDS_PER_MIB = 0.016  # 60 MiB/s, more than most networks deliver


class LargeBodyPace:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_at = 0.0

    def delay_s(self) -> float:
        """Book the next megabyte; return how long its body has to wait."""
        now = self._clock()
        start_at = max(now, self._next_at)
        self._next_at = start_at + _SECONDS_PER_MIB
        return start_at - now


_PACE = LargeBodyPace()


class BodyPace:
    """Paces one body, as part of a `LargeBodyPace`."""

    def __init__(self, pace: LargeBodyPace = _PACE) -> None:
        self._pace = pace
        self._paid = MIB

    async def wait(self, size: int) -> None:
        """Wait until a body of which `size` bytes have arrived may continue."""
        while size > self._paid:
            self._paid += MIB
            await asyncio.sleep(self._pace.delay_s())
