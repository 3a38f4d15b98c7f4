"""Wait for a condition instead of sleeping. The bounds grow on a slow machine."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from tests.slack import SLACK

T = TypeVar("T")
_FIRST_S, _LONGEST_S, _GROWTH = 0.02, 0.1, 1.4


def pauses() -> Iterator[float]:
    """The seconds between two looks: short at first, then longer, because each look costs CPU time on both sides."""
    pause_s = _FIRST_S
    while True:
        yield pause_s
        pause_s = min(pause_s * _GROWTH, _LONGEST_S)


async def until(condition: Callable[[], bool | Awaitable[bool]], within_s: float = 20) -> float:
    """Wait until the condition holds; return how long that took."""
    began = time.monotonic()
    looks = pauses()
    while True:
        answer = condition()
        if answer if isinstance(answer, bool) else await answer:
            return time.monotonic() - began
        assert time.monotonic() < began + within_s * SLACK, f"still not true after {within_s * SLACK} s"
        await asyncio.sleep(next(looks))


def block_until(condition: Callable[[], T], within_s: float = 10, otherwise: str = "it did not happen in time") -> T:
    """Wait until the condition returns something true, and return that."""
    deadline = time.monotonic() + within_s * SLACK
    looks = pauses()
    while not (found := condition()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(next(looks))
    return found
