"""How many items a worker requests: fewer while host limits defer its pages."""

import time
from collections.abc import Callable

from corral.domain.runs.outcome import Deferred, WaitReason

_MIN_SIZE = 2
# Pages of a blocked host are deferred one by one, each for a long time; pages of other hosts may follow them.
_MIN_PAUSE_S = 0.05
_MAX_PAUSE_S = 1.0


class AdaptiveBatchSize:
    def __init__(self, max_size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_size = max_size
        self._size = max_size
        self._clock = clock
        self._let_in = 0  # since the size was last read
        self._deferrals: list[Deferred] = []
        self._paused_until = 0.0

    def note(self, deferred: Deferred | None) -> None:
        """Note a page that the host limiter deferred, or, with None, one that it let in."""
        if deferred is None:
            self._let_in += 1
        else:
            self._deferrals.append(deferred)

    def size(self) -> int:
        """Return how many items the worker may hold; 0 while a request would bring none."""
        if self._deferrals:
            self.shrink()
        elif self._let_in:
            self._size = min(self._max_size, 2 * self._size)
        self._let_in, self._deferrals = 0, []
        return 0 if self.pause_s() else self._size

    def shrink(self) -> None:
        paced = [each.seconds for each in self._deferrals if each.reason is WaitReason.PACE]
        if len(paced) == len(self._deferrals):
            self._size = max(_MIN_SIZE, min(self._max_size, 2 * self._let_in))
        if not self._let_in:
            soonest_s = min(paced) if paced else _MIN_PAUSE_S
            self._paused_until = self._clock() + min(_MAX_PAUSE_S, max(_MIN_PAUSE_S, soonest_s))

    def pause_s(self) -> float:
        return max(0.0, self._paused_until - self._clock())
