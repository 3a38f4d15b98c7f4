"""A site for scrapers: `/games/N` is a row of JSON. It prints its port and serves until its standard input closes."""

from __future__ import annotations

import asyncio
import json
import sys

_ANSWER_AFTER_S = 0.02


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await asyncio.sleep(_ANSWER_AFTER_S)
            number = head.split(b" ", 2)[1].rpartition(b"/")[2].decode()
            body = json.dumps({"game": number, "title": f"Game {number}"}).encode()
            length = f"Content-Length: {len(body)}"
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode() + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
