"""Read the body of a request to the forward proxy as it arrives: with a known length, or in chunks."""

import asyncio
import re
from collections.abc import AsyncIterator

from corral.fetch.proxy.messages import ProxyRequest

_PIECE_BYTES = 64 * 1024
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})(?:[ \t]*;[^\r\n]*)?\r\n")
_MAX_TRAILERS = 100


class IncompleteBody(Exception):
    """Raised if the client closes the connection early, or sends an invalid chunk."""


async def read_body(request: ProxyRequest, reader: asyncio.StreamReader, idle_s: float) -> AsyncIterator[bytes]:
    """Yield the body as it is to be sent on; raise TimeoutError if nothing arrives within the timeout."""
    try:
        pieces = _chunks(reader, idle_s) if request.is_chunked else _pieces(reader, request.body_bytes or 0, idle_s)
        async for piece in pieces:
            yield piece
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise IncompleteBody from None


async def _pieces(reader: asyncio.StreamReader, left: int, idle_s: float) -> AsyncIterator[bytes]:
    while left:
        async with asyncio.timeout(idle_s):
            piece = await reader.read(min(left, _PIECE_BYTES))
        if not piece:
            raise IncompleteBody
        left -= len(piece)
        yield piece


async def _chunks(reader: asyncio.StreamReader, idle_s: float) -> AsyncIterator[bytes]:
    while True:
        line = await _line(reader, idle_s)
        size_line = _SIZE.fullmatch(line)
        if size_line is None:
            raise IncompleteBody
        yield size_line[1] + b"\r\n"
        size = int(size_line[1], 16)
        if size == 0:
            break
        async for piece in _pieces(reader, size, idle_s):
            yield piece
        if await _line(reader, idle_s) != b"\r\n":
            raise IncompleteBody
        yield b"\r\n"
    for _ in range(_MAX_TRAILERS):  # trailers are dropped: everything that matters is in the request head
        if await _line(reader, idle_s) == b"\r\n":
            yield b"\r\n"
            return
    raise IncompleteBody


async def _line(reader: asyncio.StreamReader, idle_s: float) -> bytes:
    async with asyncio.timeout(idle_s):
        return await reader.readuntil(b"\r\n")
