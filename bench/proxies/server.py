"""A proxy and the echo page behind it in one process: it answers both halves of a check over one connection."""

from __future__ import annotations

import asyncio
import re
import sys

from corral.domain.proxies.echo import build_echo_page

_NONCE = re.compile(rb"nonce=([0-9a-f]*)")


class _Proxy(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._data.endswith(b"\r\n\r\n") or self._transport is None:
            return
        if self._data.startswith(b"CONNECT"):
            self._data = b""
            self._transport.write(b"HTTP/1.1 200 OK\r\n\r\n")
            return
        nonce = _NONCE.search(self._data)
        page = build_echo_page("192.0.2.1", {}, nonce[1].decode() if nonce else "")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(page)}\r\nconnection: close\r\n\r\n"
        self._transport.write(head.encode() + page)
        self._transport.close()


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Proxy, "127.0.0.1", 0, backlog=4096)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
