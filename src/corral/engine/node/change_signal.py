"""A signal to all waiters in this process that something may have changed. It is a hint, not a guarantee."""

import asyncio
import contextlib


class ChangeSignal:
    def __init__(self) -> None:
        self._event = asyncio.Event()

    def beat(self) -> None:
        """Wake every current waiter; later waiters wait for the next signal."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
