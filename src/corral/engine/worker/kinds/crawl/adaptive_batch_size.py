"""How many items a worker requests: fewer while host limits defer its pages."""

import time
from collections.abc import Callable

from corral.domain.hosts.limiter import Wait, WaitReason

_LEAST = 2
# Pages of a closed host are put off one by one, each for long; others may lie behind them.
_PUT_OFF_S = 0.05
_LONGEST_S = 1.0


class AdaptiveBatchSize:
    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._size = most
        self._clock = clock
        self._let_in = 0  # since it was last asked for its size
        self._waits: list[Wait] = []
        self._paused_until = 0.0

    def saw(self, sent_back: tuple[str, Wait] | None) -> None:
        """What became of a page: sent back by the host limiter, or anything else."""
        if sent_back is None:
            self._let_in += 1
        else:
            self._waits.append(sent_back[1])

    def size(self) -> int:
        """Return how many items the worker may hold; 0 while a request would bring nothing."""
        if self._waits:
            self.shrink()
        elif self._let_in:
            self._size = min(self._most, 2 * self._size)
        self._let_in, self._waits = 0, []
        return 0 if self.pause_s() else self._size

    def shrink(self) -> None:
        paced = [wait.seconds for wait in self._waits if wait.reason is WaitReason.PACE]
        if len(paced) == len(self._waits):
            self._size = max(_LEAST, min(self._most, 2 * self._let_in))
        if not self._let_in:
            soonest_s = min(paced) if paced else _PUT_OFF_S
            self._paused_until = self._clock() + min(_LONGEST_S, max(_PUT_OFF_S, soonest_s))

    def pause_s(self) -> float:
        return max(0.0, self._paused_until - self._clock())
