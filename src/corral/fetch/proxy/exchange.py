"""Send one small HTTP request over a connection that is already open, for checks of proxies.

A client of the egress per proxy would cost more than the check itself. The answer is bounded in size and time.
"""

import asyncio
import re
import ssl
from dataclasses import dataclass

from corral.domain.net.url import Target

_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})[ \r]")
_MAX_BYTES = 64 * 1024


class BrokenAnswer(Exception):
    """Raised if the answer is not HTTP, or larger than a check reads."""


@dataclass(frozen=True, slots=True)
class SmallAnswer:
    status: int
    headers: dict[str, str]
    body: bytes


async def request_over(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Target, agent: str, tls: ssl.SSLContext | None
) -> SmallAnswer:
    """Send a GET and return its answer. Raise OSError, IncompleteReadError, ssl.SSLError or BrokenAnswer."""
    if target.scheme == "https":
        await writer.start_tls(tls or ssl.create_default_context(), server_hostname=target.host)
    path = target.path + ("" if target.query is None else f"?{target.query}")
    lines = [
        f"GET {path} HTTP/1.1",
        f"host: {target.authority}",
        f"user-agent: {agent}",
        "accept: */*",
        "accept-encoding: identity",
        "connection: close",
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise BrokenAnswer("its headers are too large") from None
    status = _STATUS.match(head)
    if status is None:
        raise BrokenAnswer("the answer is not HTTP")
    headers = _read_headers(head)
    return SmallAnswer(int(status[1]), headers, await _read_body(reader, headers))


def _read_headers(head: bytes) -> dict[str, str]:
    pairs = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:] if line)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    length = headers.get("content-length")
    if length is None:
        body = await reader.read(_MAX_BYTES + 1)
        while len(body) <= _MAX_BYTES and (piece := await reader.read(_MAX_BYTES)):
            body += piece
    elif length.isdecimal() and int(length) <= _MAX_BYTES:
        return await reader.readexactly(int(length))
    else:
        raise BrokenAnswer("the answer is too large")
    if len(body) > _MAX_BYTES:
        raise BrokenAnswer("the answer is too large")
    return body


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        line = (await reader.readuntil(b"\r\n")).partition(b";")[0].strip()
        try:
            size = int(line, 16)
        except ValueError:
            raise BrokenAnswer("a chunk of the answer is malformed") from None
        if size == 0:
            return body
        if len(body) + size > _MAX_BYTES:
            raise BrokenAnswer("the answer is too large")
        body += (await reader.readexactly(size + 2))[:-2]
