"""The parent's end of a socket pair to a child process."""

import asyncio
from collections.abc import Sequence
from typing import cast


class BufferedLink(asyncio.Protocol):
    """Buffers the data of a child process, even while no task waits for it."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.is_lost = False
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # by interface: that of uvloop is no subclass

    def data_received(self, data: bytes) -> None:
        self.received += data
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self.is_lost = True
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self) -> None:
        """Wait until data arrives or the connection is lost. Only one task may wait."""
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def send(self, parts: Sequence[bytes]) -> None:
        if self._transport is not None:
            self._transport.writelines(parts)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
