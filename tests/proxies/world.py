"""Proxies that behave well or badly, and a site behind them that logs who asked: all in one thread of their own.

The proxies connect from 127.0.0.2. A request that the site gets from 127.0.0.1 did not come through a proxy.
"""

import asyncio
import ssl
import tempfile
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from corral.domain.proxies.echo import ECHO_PATH, build_echo_page
from tests.fetch.certificates import certificate
from tests.services.ports import free_port

PROXY_ADDRESS = "127.0.0.2"
OPEN = b"HTTP/1.1 200 OK\r\n\r\n"
INJECTED = b"<script>bought()</script>"

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Behaviour = Callable[["FakeProxy", Reader, Writer], Awaitable[None]]


@dataclass
class FakeProxy:
    behave: Behaviour
    port: int = 0
    uses: int = 0  # connections
    at_once: int = 0
    most_at_once: int = 0

    async def serve(self, reader: Reader, writer: Writer) -> None:
        self.uses += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self.behave(self, reader, writer)
        self.at_once -= 1
        writer.close()


@dataclass
class ProxyWorld:
    site_port: int = 0
    proxies: dict[str, FakeProxy] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)  # the address of the caller, and the path
    blocked: set[str] = field(default_factory=set)  # addresses that the site refuses
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    servers: list[asyncio.Server] = field(default_factory=list)

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.site_port}"

    @property
    def judge(self) -> str:
        return f"{self.site}{ECHO_PATH}"

    @property
    def ports(self) -> list[int]:
        return [self.site_port, *(proxy.port for proxy in self.proxies.values())]

    @property
    def allow(self) -> str:
        return "127.0.0.0/8:*"

    def address(self, name: str) -> str:
        return f"{'https' if name in TLS else 'http'}://127.0.0.1:{self.proxies[name].port}"

    def list_text(self) -> str:
        return "\n".join(self.address(name) for name in self.proxies) + "\n"

    @property
    def callers(self) -> "Counter[str]":
        return Counter(address for address, path in self.requests if not path.startswith(ECHO_PATH))

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    # -- the site ------------------------------------------------------------------------------------

    async def serve_site(self, reader: Reader, writer: Writer) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1]
            address = str(writer.get_extra_info("peername")[0])
            self.requests.append((address, path))
            writer.write(self._answer(path, address, head))
            await writer.drain()
        writer.close()

    def _answer(self, path: str, address: str, head: str) -> bytes:
        parts = urlsplit(path)
        if parts.path == ECHO_PATH:
            lines = (line.partition(": ") for line in head.split("\r\n")[1:] if line)
            headers = {name.lower(): value for name, _, value in lines}
            return _make_answer(200, build_echo_page(address, headers, parse_qs(parts.query).get("nonce", [""])[0]))
        if parts.path == "/robots.txt":
            return _make_answer(404, b"")
        if address in self.blocked:
            return _make_answer(403, b"<title>Forbidden</title>")
        if parts.path == "/list.txt":
            body = f"# a provider's list\n127.0.0.1:{self.proxies['good'].port}:provider:word\nnot a proxy\n"
            return _make_answer(200, body.encode(), kind="text/plain")
        if parts.path.startswith("/api/"):
            return _make_answer(200, b'{"title": "Page by its API"}', kind="application/json")
        links = "".join(f'<a href="/page/{number}">{number}</a>' for number in range(40)) if parts.path == "/" else ""
        body = f"<html><head><title>Page {parts.path}</title></head><body><p>Text of it.</p>{links}</body></html>"
        return _make_answer(200, body.encode())


def _make_answer(status: int, body: bytes, *more: str, kind: str = "text/html") -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"content-type: {kind}", f"content-length: {len(body)}", "connection: close"]
    return "\r\n".join([*lines, *more]).encode() + b"\r\n\r\n" + body


async def _read_connect(reader: Reader) -> tuple[str, int]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    host, _, port = head.split(" ")[1].rpartition(":")
    return host.strip("[]"), int(port)


async def relay(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    """A good proxy."""
    await _relay(reader, writer, lambda data: data)


async def inject(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await _relay(reader, writer, _inject)


def _inject(data: bytes) -> bytes:
    head, _, body = data.partition(b"\r\n\r\n")
    changed = body.replace(b"<body>", b"<body>" + INJECTED)
    return head.replace(b"content-length: %d" % len(body), b"content-length: %d" % len(changed)) + b"\r\n\r\n" + changed


async def _relay(reader: Reader, writer: Writer, change: Callable[[bytes], bytes]) -> None:
    host, port = await _read_connect(reader)
    try:
        there, onward = await asyncio.open_connection(host, port, local_addr=(PROXY_ADDRESS, 0))
    except OSError:
        writer.write(_make_answer(502, b"unable to connect"))
        return
    writer.write(OPEN)
    try:
        onward.write(await reader.readuntil(b"\r\n\r\n"))
        writer.write(change(await there.read(-1)))
        await writer.drain()
    finally:
        onward.close()


async def refuse_login(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await _read_connect(reader)
    writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")


async def redirect_inside(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await _read_connect(reader)
    writer.write(OPEN)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(_make_answer(302, b"", "location: http://169.254.169.254/latest/meta-data/"))


async def stay_silent(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await _read_connect(reader)
    writer.write(OPEN)
    await asyncio.sleep(60)


async def never_answer(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await asyncio.sleep(60)


async def trickle(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    """A byte a second."""
    await _read_connect(reader)
    writer.write(OPEN)
    await reader.readuntil(b"\r\n\r\n")
    for byte in _make_answer(200, b"<title>Late</title>"):
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(1)


async def truncate(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await _relay(reader, writer, lambda data: data[:-30])


async def cut(_: FakeProxy, reader: Reader, writer: Writer) -> None:
    await reader.read(1)
    writer.transport.abort()


def take_turns(*turns: tuple[int, Behaviour]) -> Behaviour:
    """A proxy that changes its behaviour after a number of connections; the last behaviour stays."""
    waiting = [behave for count, behave in turns for _ in range(count)]

    async def behave(proxy: FakeProxy, reader: Reader, writer: Writer) -> None:
        now = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        await now(proxy, reader, writer)

    return behave


GOOD: dict[str, Behaviour] = {"good": relay}
BAD: dict[str, Behaviour] = {
    "407": refuse_login,
    "injects": inject,
    "redirects": redirect_inside,
    "silent": stay_silent,
    "cuts": cut,
}


# Every kind of bad proxy that only its use shows. An injecting proxy is found by its check.
BAD_IN_USE: dict[str, Behaviour] = {
    "dead": relay,
    "silent": never_answer,
    "stalls": stay_silent,
    "slow": trickle,
    "407": refuse_login,
    "redirects": redirect_inside,
    "truncates": truncate,
    "cuts": cut,
    "certificate": relay,
}
TLS = ("certificate",)  # spoken to over TLS, with a certificate that no authority has signed


@contextmanager
def proxy_world(behaviours: dict[str, Behaviour]) -> Iterator[ProxyWorld]:
    """Start the site and the proxies; the name `dead` is a port where nothing listens."""
    world = ProxyWorld()
    thread = threading.Thread(target=world.loop.run_forever, daemon=True)
    thread.start()
    try:
        world.call(_start(world, behaviours))
        yield world
    finally:
        world.call(_stop(world))
        world.loop.call_soon_threadsafe(world.loop.stop)
        thread.join(5)
        world.loop.close()


async def _start(world: ProxyWorld, behaviours: dict[str, Behaviour]) -> None:
    world.site_port = await _listen(world, world.serve_site)
    for name, behave in behaviours.items():
        proxy = FakeProxy(behave)
        tls = _make_tls() if name in TLS else None
        proxy.port = free_port() if name.startswith("dead") else await _listen(world, proxy.serve, tls)
        world.proxies[name] = proxy


def _make_tls() -> ssl.SSLContext:
    with tempfile.TemporaryDirectory() as folder:
        return certificate(None).context(Path(folder), "proxy")


async def _listen(
    world: ProxyWorld, serve: Callable[[Reader, Writer], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> int:
    async def track(reader: Reader, writer: Writer) -> None:
        task = asyncio.current_task()
        assert task is not None
        world.tasks.add(task)
        task.add_done_callback(world.tasks.discard)
        await serve(reader, writer)

    server = await asyncio.start_server(track, "127.0.0.1", 0, backlog=1024, ssl=tls)
    world.servers.append(server)
    return int(server.sockets[0].getsockname()[1])


async def _stop(world: ProxyWorld) -> None:
    for server in world.servers:
        server.close()
    for task in list(world.tasks):
        task.cancel()
    await asyncio.gather(*world.tasks, return_exceptions=True)
