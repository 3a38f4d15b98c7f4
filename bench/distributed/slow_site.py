"""`python -m bench.distributed.slow_site PORT SECONDS`: a page that takes its time and next to no processor."""

from __future__ import annotations

import asyncio
import sys

_BODY = b"<!doctype html><html><head><title>A page</title></head><body><p>It took its time.</p></body></html>"
_HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(_BODY)}\r\n\r\n".encode()


async def main(port: int, seconds: float) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with_head = b"\r\n\r\n"
        try:
            while await reader.readuntil(with_head):
                await asyncio.sleep(seconds)
                writer.write(_HEAD + _BODY)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
