"""Wait for a condition instead of sleeping. The bounds grow on a slow machine."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tests.slack import SLACK

T = TypeVar("T")


async def until(condition: Callable[[], bool | Awaitable[bool]], within_s: float = 20) -> float:
    """Wait until the condition holds; return how long that took."""
    began = time.monotonic()
    while True:
        answer = condition()
        if answer if isinstance(answer, bool) else await answer:
            return time.monotonic() - began
        assert time.monotonic() < began + within_s * SLACK, f"still not true after {within_s * SLACK} s"
        await asyncio.sleep(0.01)


def block_until(condition: Callable[[], T], within_s: float = 10, otherwise: str = "it did not happen in time") -> T:
    """Wait until the condition returns something true, and return that."""
    deadline = time.monotonic() + within_s * SLACK
    while not (found := condition()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
    return found
