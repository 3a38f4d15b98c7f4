"""One server, one route per misbehaviour. It speaks raw bytes: a web framework would refuse to."""

import asyncio
import gzip
import socket
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from tests.fetch import hostile_codings, hostile_pages

Route = Callable[["Request"], Awaitable[None]]
PAGE = hostile_codings.PAGE


@dataclass
class Request:
    path: str
    head: str
    port: int
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body: bytes, *headers: str, status: str = "200 OK") -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
        await self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    async def redirect(self, location: bytes, status: str = "302 Found") -> None:
        await self.send(
            f"HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n".encode()
            + b"Location: "
            + location
            + b"\r\n\r\n"
        )

    def reset(self) -> None:
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@dataclass
class Hostile:
    port: int = 0
    connections: int = 0
    open_now: int = 0
    heads: list[str] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list, repr=False)
    tasks: set[asyncio.Task[None]] = field(default_factory=set, repr=False)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def count_requests(self, path: str) -> int:
        return sum(head.startswith(f"GET {path} ") for head in self.heads)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_now += 1
        self.writers.append(writer)
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                self.heads.append(head)
                path = head.split(" ")[1]
                await route_of(path)(Request(path, head, self.port, writer))
        finally:
            self.open_now -= 1
            self.tasks.discard(task)
            writer.close()


@asynccontextmanager
async def hostile_server(host: str = "127.0.0.1", speaking: ssl.SSLContext | None = None) -> AsyncIterator[Hostile]:
    hostile = Hostile()
    server = await asyncio.start_server(hostile.serve, host, 0, ssl=speaking)
    hostile.port = server.sockets[0].getsockname()[1]
    try:
        yield hostile
    finally:
        server.close()
        for task in list(hostile.tasks):
            task.cancel()
        # Cut, not closed: what waits in a buffer for a client that has gone would keep its socket open.
        for writer in hostile.writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)


def route_of(path: str) -> Route:
    if path.startswith("/status/"):
        return _status
    if path.startswith("/hop/"):
        return _hop
    if path.startswith("/redirect?"):
        return _redirect
    if path.startswith("/retry-after/"):
        return hostile_pages.RETRY_AFTER
    return ROUTES.get(path.partition("?")[0], _page)


async def _page(request: Request) -> None:
    await request.answer(PAGE, "Content-Type: text/html; charset=utf-8")


async def _status(request: Request) -> None:
    code = request.path.rsplit("/", 1)[-1]
    await request.answer(b"<title>No</title>", "Content-Type: text/html", "Retry-After: 7", status=f"{code} X")


async def _hop(request: Request) -> None:
    count = int(request.path.rsplit("/", 1)[-1])
    await request.redirect(f"/hop/{count + 1}".encode())


async def _redirect(request: Request) -> None:
    """Wherever the query says, byte for byte, without what would end the header."""
    place = unquote_to_bytes(request.path.partition("?")[2])
    await request.redirect(place.replace(b"\r", b"").replace(b"\n", b""))


def send_raw(raw: bytes) -> Route:
    async def route(request: Request) -> None:
        await request.send(raw)

    return route


def redirect_to(location: bytes, status: str = "302 Found") -> Route:
    async def route(request: Request) -> None:
        await request.redirect(location.replace(b"PORT", str(request.port).encode()), status)

    return route


def encode_with(coding: str, body: bytes) -> Route:
    async def route(request: Request) -> None:
        await request.answer(body, "Content-Type: text/html", f"Content-Encoding: {coding}")

    return route


async def _trickle(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await request.send(b"1\r\nx\r\n")
        await asyncio.sleep(0.1)


async def _trickle_headers(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await request.send(b"x")
        await asyncio.sleep(0.1)


async def _informational(request: Request) -> None:
    while True:
        await request.send(b"HTTP/1.1 102 Processing\r\n\r\n")
        await asyncio.sleep(0.05)


async def _silent(request: Request) -> None:
    await asyncio.sleep(60)


async def _stops_midway(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello")
    await asyncio.sleep(60)


async def _reset(request: Request) -> None:
    request.reset()


async def _reset_midway(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello")
    await asyncio.sleep(0.05)
    request.reset()


async def _endless(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        await request.send(b"x" * 65536)


async def _redirect_with_bomb(request: Request) -> None:
    await request.send(
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Encoding: gzip\r\nContent-Length: 99999999\r\n\r\n" + BOMB
    )
    await asyncio.sleep(60)


BOMB = hostile_codings.gzip_blocks(b"\0" * 1_000_000, 100)
_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
_RAW_DEFLATE = zlib.compressobj(9, zlib.DEFLATED, -15)

ROUTES: dict[str, Route] = {
    "/trickle": _trickle,
    "/trickled-headers": _trickle_headers,
    "/1xx": _informational,
    "/silent": _silent,
    "/stops-midway": _stops_midway,
    "/reset": _reset,
    "/reset-midway": _reset_midway,
    "/endless": _endless,
    "/announces-10gb": send_raw(_OK + b"Content-Length: 10000000000\r\n\r\nx"),
    "/gzip": encode_with("gzip", gzip.compress(PAGE)),
    "/gzip-members": encode_with("gzip", gzip.compress(PAGE[:40]) + gzip.compress(PAGE[40:])),
    "/gzip-padded": encode_with("gzip", gzip.compress(PAGE) + b"\0" * 100),
    "/deflate": encode_with("deflate", zlib.compress(PAGE)),
    "/deflate-raw": encode_with("deflate", _RAW_DEFLATE.compress(PAGE) + _RAW_DEFLATE.flush()),
    "/identity": encode_with("identity", PAGE),
    "/gzip-bomb": encode_with("gzip", BOMB),
    "/gzip-double": encode_with("gzip, gzip", gzip.compress(gzip.compress(PAGE))),
    "/gzip-stacked": encode_with(", ".join(["gzip"] * 20), gzip.compress(PAGE)),
    "/gzip-corrupt": encode_with("gzip", b"\x1f\x8b\x08\x00garbage" * 10),
    "/gzip-not": encode_with("gzip", PAGE),
    "/gzip-cut": encode_with("gzip", gzip.compress(PAGE * 50)[:-20]),
    "/gzip-empty-members": encode_with("gzip", gzip.compress(b"") * 5000),
    "/redirect-bomb": _redirect_with_bomb,
    "/two-lengths": send_raw(_OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    "/negative-length": send_raw(_OK + b"Content-Length: -5\r\n\r\nhello"),
    "/short": send_raw(_OK + b"Content-Length: 500\r\n\r\nhello"),
    "/short-chunk": send_raw(_OK + b"Transfer-Encoding: chunked\r\n\r\n50\r\nhello"),
    "/no-last-chunk": send_raw(_OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
    "/bad-chunk": send_raw(_OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello"),
    "/not-http": send_raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
    "/empty-answer": send_raw(b""),
    "/10k-headers": send_raw(_OK + b"".join(b"X-%d: a\r\n" % i for i in range(10_000)) + b"\r\n"),
    "/190-headers": send_raw(_OK + b"".join(b"X-%d: a\r\n" % i for i in range(190)) + b"Content-Length: 0\r\n\r\n"),
    "/1mb-header": send_raw(_OK + b"Set-Cookie: " + b"a" * 1_000_000 + b"\r\n\r\n"),
    "/100kb-header": send_raw(_OK + b"Content-Type: " + b"a" * 100_000 + b"\r\nContent-Length: 0\r\n\r\n"),
    "/control-header": send_raw(_OK + b"X-Evil: a\x01b\r\nContent-Length: 0\r\n\r\n"),
    "/latin-header": send_raw(_OK + b"X-Name: caf\xe9\r\nContent-Length: 0\r\n\r\n"),
    "/loop": redirect_to(b"/loop"),
    "/loop-a": redirect_to(b"/loop-b"),
    "/loop-b": redirect_to(b"/loop-a"),
    "/to-page": redirect_to(b"/page"),
    "/to-space": redirect_to(b"/a page?q=caf\xc3\xa9"),
    "/to-other-host": redirect_to(b"http://localhost:PORT/page"),
    "/to-file": redirect_to(b"file:///etc/passwd"),
    "/to-javascript": redirect_to(b"javascript:alert(1)"),
    "/to-ftp": redirect_to(b"ftp://example.com/"),
    "/to-nowhere": send_raw(b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
    "/to-1mb": redirect_to(b"/" + b"a" * 1_000_000),
    "/to-9000": redirect_to(b"/" + b"a" * 9_000),
    "/to-invalid-utf8": redirect_to(b"/\xff\xfe"),
    "/to-userinfo": redirect_to(b"http://a@127.0.0.1:PORT/"),
    "/to-backslash": redirect_to(b"http://127.0.0.1\\@example.com/"),
    "/to-metadata": redirect_to(b"http://169.254.169.254/latest/meta-data/"),
    "/to-mapped": redirect_to(b"http://[::ffff:169.254.169.254]/"),
    "/to-decimal": redirect_to(b"http://2852039166/"),
    "/to-other-port": redirect_to(b"http://127.0.0.1:8099/"),
}
ROUTES |= hostile_pages.ROUTES | hostile_codings.ROUTES
for _code in ("301 X", "302 X", "303 X", "307 X", "308 X"):
    ROUTES[f"/metadata-{_code[:3]}"] = redirect_to(b"http://169.254.169.254/", _code)
