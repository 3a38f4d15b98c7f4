"""Kill a process that makes no progress in wall time."""

import asyncio
import time
from collections.abc import Callable

_CHECK_EVERY_S = 0.25


class Watchdog:
    """Calls `kill` if it is not restarted within `wall_s`, or as soon as `is_stuck` returns True.

    It counts wall time; the kernel limits the processor time of the process.
    """

    def __init__(self, wall_s: float, kill: Callable[[], None], is_stuck: Callable[[], bool] = lambda: False) -> None:
        self._wall_s = wall_s
        self._kill = kill
        self._is_stuck = is_stuck
        self.has_killed = False
        self.restart()
        self._schedule()

    def restart(self) -> None:
        """Restart the clock after an answer: each request has its own time limit."""
        self._until = time.monotonic() + self._wall_s

    def end(self) -> None:
        self._timer.cancel()

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(_CHECK_EVERY_S, self._check)

    def _check(self) -> None:
        if time.monotonic() > self._until or self._is_stuck():
            self.has_killed = True
            self._kill()
        else:
            self._schedule()
