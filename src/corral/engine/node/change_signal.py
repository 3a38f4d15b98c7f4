"""A beat that everyone waiting in this process hears: something may have changed, look now. Only ever a hint."""

import asyncio
import contextlib


class ChangeSignal:
    def __init__(self) -> None:
        self._event = asyncio.Event()

    def beat(self) -> None:
        """Wake all who wait now; whoever waits next waits for the next beat."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
