"""A small proxy of somebody else's: HTTP CONNECT or SOCKS5, with or without a password, well or ill behaved."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address


@dataclass
class Upstream:
    user: str | None = None
    password: str = ""
    answers: bytes | None = None  # said instead of a tunnel; empty: nothing at all
    port: int = 0
    connections: int = 0
    asked: list[str] = field(default_factory=list)  # where to, as it was told
    carried: bytes = b""  # what went up through it
    writers: list[asyncio.StreamWriter] = field(default_factory=list, repr=False)

    @property
    def ports(self) -> list[str]:
        return [where.rpartition(":")[2] for where in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            first = await reader.readexactly(1)
            where = await (self._socks(reader, writer) if first == b"\x05" else self._connect(first, reader, writer))
            if where is not None:
                await self._relay(reader, writer, *where)
        writer.close()

    async def _connect(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[str, int] | None:
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, where, _ = head.split(" ", 2)
        self.asked.append(where)
        if self.answers is not None:
            writer.write(self.answers)
            await asyncio.sleep(0 if self.answers else 60)
            return None
        token = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        if method != "CONNECT" or (self.user is not None and f"Basic {token}" not in head):
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            return None
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        host, _, port = where.rpartition(":")
        return host.strip("[]"), int(port)

    async def _socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int] | None:
        methods = await reader.readexactly((await reader.readexactly(1))[0])
        wanted = 0 if self.user is None else 2
        writer.write(bytes([5, wanted if wanted in methods else 255]))
        if wanted == 2:
            await reader.readexactly(1)
            user = await reader.readexactly((await reader.readexactly(1))[0])
            password = await reader.readexactly((await reader.readexactly(1))[0])
            is_known = (user.decode(), password.decode()) == (self.user, self.password)
            writer.write(bytes([1, 0 if is_known else 1]))
            if not is_known:
                return None
        kind = (await reader.readexactly(4))[3]
        assert kind in (1, 4), "it was told a name"
        ip = str(ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.asked.append(f"{ip}:{port}")
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        return ip, port

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
        there, onward = await asyncio.open_connection(host, port)
        self.writers.append(onward)

        async def up() -> None:
            while piece := await reader.read(65536):
                self.carried += piece
                onward.write(piece)

        async def down() -> None:
            while piece := await there.read(65536):
                writer.write(piece)
                await writer.drain()

        pumps = [asyncio.create_task(up()), asyncio.create_task(down())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            onward.close()


@asynccontextmanager
async def upstream_proxy(
    user: str | None = None, password: str = "", answers: bytes | None = None, speaking: ssl.SSLContext | None = None
) -> AsyncIterator[Upstream]:
    made = Upstream(user, password, answers)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await made.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=speaking)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        for writer in made.writers:
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
