"""A loopback proxy for programs that open their own connections, such as Chromium: it checks and pins each of them.

Each run has its own credentials, so that runs with different trusted hosts stay apart. A connection carries one
request: a second one, for another host, would reach the address of the first.
"""

import asyncio
import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TypeVar

from corral.domain.net.proxy import OpenProxy
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.egress.upstream_proxy import tunnel
from corral.fetch.faults import fault
from corral.fetch.proxy.bodies import IncompleteBody, read_body
from corral.fetch.proxy.messages import FAULT_HEADER, ProxyRequest, answer, final_head, read_request, refusal, target_of
from corral.fetch.proxy.passes import Gate, ProxyLimits, ProxyPass

_PIECE_BYTES = 64 * 1024
_MAX_CHALLENGES = 3
_MAX_INTERIM = 10
_ENDINGS = (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
T = TypeVar("T")


class _Exhausted(Exception):
    """Raised to end the connections of a run whose budget is used up."""


@dataclass(slots=True, eq=False)
class _Exchange:
    """One request of a pass, and the number of bytes it transferred."""

    granted: ProxyPass
    request: ProxyRequest
    target: Target
    sent: int = 0
    received: int = 0


@dataclass(frozen=True, slots=True)
class _Peer:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


class ForwardProxy:
    def __init__(self, egress: Egress, limits: ProxyLimits | None = None) -> None:
        self._egress = egress
        self._limits = limits or ProxyLimits()
        self._passes: dict[str, ProxyPass] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._starting = asyncio.Lock()
        self._port = 0

    async def start(self) -> None:
        """Start the server; concurrent calls start it once."""
        async with self._starting:
            if self._server is None:
                limit = self._limits.max_head_bytes
                starting = asyncio.start_server(self._serve, "127.0.0.1", 0, limit=limit)
                # In its own context: the server outlives the run that starts it.
                self._server = await asyncio.create_task(starting, context=Context())
                self._port = self._server.sockets[0].getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def admit(
        self,
        trusted_hosts: frozenset[str] = frozenset(),
        upstream: OpenProxy | None = None,
        *,
        idle_s: float | None = None,
        on_exceeded: Callable[[str], None] | None = None,
        gate: Gate | None = None,
    ) -> ProxyPass:
        """Admit a run.

        `idle_s` raises the idle timeout of connections; `on_exceeded` gets the name of the first exhausted budget.
        """
        idle_s = max(idle_s or 0.0, self._limits.idle_s)
        granted = ProxyPass(trusted_hosts, gate, upstream, idle_s=idle_s, on_exceeded=on_exceeded)
        self._passes[granted.username] = granted
        return granted

    def revoke(self, granted: ProxyPass) -> None:
        """End the pass of a run and its connections."""
        self._passes.pop(granted.username, None)
        for task in granted.tasks:
            task.cancel()

    async def close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        self._server = None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- one connection --------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= self._limits.max_connections:
                await self._authenticate_client(_Peer(reader, writer), task)
        except (*_ENDINGS, _Exhausted):
            pass
        except asyncio.CancelledError:
            # Only `revoke` and `close` cancel this task; a task that ends as cancelled would be logged as a failure.
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _authenticate_client(self, client: _Peer, task: asyncio.Task[None]) -> None:
        for _ in range(_MAX_CHALLENGES):
            try:
                # Chromium opens connections in advance; a silent one is no error.
                head = await _within(self._limits.idle_s, client.reader.readuntil(b"\r\n\r\n"))
            except asyncio.LimitOverrunError:
                await client.send(answer(431, "Request Header Fields Too Large"))
                return
            request = read_request(head)
            if request is None or (request.body_bytes is None and not request.is_chunked):
                await client.send(answer(400, "Bad Request"))
                return
            granted = self._pass_of(request)
            if granted is not None:
                await self._handle(granted, request, client, task)
                return
            has_body = bool(request.body_bytes) or request.is_chunked
            challenge = 'proxy-authenticate: Basic realm="corral"'
            await client.send(answer(407, "Proxy Authentication Required", challenge, closes=has_body))
            if has_body:
                return

    def _pass_of(self, request: ProxyRequest) -> ProxyPass | None:
        for value in request.values("proxy-authorization"):
            scheme, _, token = value.partition(" ")
            if scheme.lower() != "basic":
                continue
            try:
                username, _, password = base64.b64decode(token.strip(), validate=True).decode("ascii").partition(":")
            except (binascii.Error, UnicodeDecodeError):
                continue
            granted = self._passes.get(username)
            if granted is not None and hmac.compare_digest(granted.password.encode(), password.encode()):
                return granted
        return None

    async def _handle(self, granted: ProxyPass, request: ProxyRequest, client: _Peer, task: asyncio.Task[None]) -> None:
        granted.tasks.add(task)
        try:
            granted.requests += 1
            if granted.exceeded is None and granted.requests > self._limits.max_run_requests:
                granted.exceed(f"more than {self._limits.max_run_requests} requests")
            if granted.exceeded is not None:
                await client.send(answer(403, "Forbidden", f"{FAULT_HEADER}: limit:browser"))
                return
            target = target_of(request)
            if isinstance(target, Failed):
                granted.unreadable = target
                await client.send(refusal(target))
                return
            failure = await self._forward_through_gate(_Exchange(granted, request, target), client)
            if failure is not None:
                granted.note(target, failure)
                await client.send(refusal(failure))
        finally:
            granted.tasks.discard(task)

    async def _forward_through_gate(self, exchange: _Exchange, client: _Peer) -> Failed | None:
        gate, target = exchange.granted.gate, exchange.target
        if gate is None:
            return await self._forward(exchange, client)
        failure = await gate.enter(target, is_tunnel=exchange.request.method == "CONNECT")
        if failure is not None:
            return failure
        try:
            failure = await self._forward(exchange, client)
        finally:
            gate.leave(target, failure, sent=exchange.sent, received=exchange.received)
        return failure

    async def _forward(self, exchange: _Exchange, client: _Peer) -> Failed | None:
        """Relay one request. Return a failure only if the answer has not begun."""
        upstream = await self._dial(exchange.granted, exchange.target)
        if isinstance(upstream, Failed):
            return upstream
        is_tunnel = exchange.request.method == "CONNECT"
        try:
            if is_tunnel:
                await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                failure = await self._exchange(exchange, client, upstream)
                if failure is not None:
                    return failure
            await self._relay(exchange, client, upstream, answer_only=not is_tunnel)
        finally:
            upstream.writer.close()
        return None

    # -- outgoing connections --------------------------------------------------------------------------

    async def _dial(self, granted: ProxyPass, target: Target) -> _Peer | Failed:
        if target.port == self._port and target.host in ("127.0.0.1", "localhost"):
            return fault("policy:egress", target.host)
        pinned = await self._egress.resolve(target, trusted_hosts=granted.trusted_hosts)
        if isinstance(pinned, Failed):
            return pinned
        if granted.upstream is not None:
            return await self._dial_through(granted.upstream, pinned)
        failure = fault("network:unreachable")
        try:
            async with asyncio.timeout(self._limits.connect_s):
                for ip in pinned.ips:
                    reached = await self._reach(ip, target)
                    if isinstance(reached, _Peer):
                        return reached
                    failure = reached
        except TimeoutError:
            return fault("timeout:connect")
        return failure

    async def _dial_through(self, proxy: OpenProxy, pinned: PinnedAddress) -> _Peer | Failed:
        if proxy.target.port == self._port and proxy.target.host in ("127.0.0.1", "localhost"):
            return fault("policy:egress", proxy.target.host)
        reached = await tunnel(self._egress.resolve, proxy, pinned.ip, pinned.port, self._limits.connect_s)
        return reached if isinstance(reached, Failed) else _Peer(*reached)

    async def _reach(self, ip: str, target: Target) -> _Peer | Failed:
        limit = self._limits.max_head_bytes
        try:
            reader, writer = await asyncio.open_connection(ip, target.port, limit=limit)
        except ConnectionRefusedError:
            return fault("network:refused")
        except OSError:
            return fault("network:unreachable")
        # Second check: the target was checked, this proves that the connection reaches it.
        if not _is_same(str((writer.get_extra_info("peername") or ("",))[0]), ip):
            writer.transport.abort()
            return fault("policy:egress", target.host)
        return _Peer(reader, writer)

    async def _exchange(self, exchange: _Exchange, client: _Peer, upstream: _Peer) -> Failed | None:
        """Send the request of this connection and the head of its answer."""
        granted, request, target = exchange.granted, exchange.request, exchange.target
        try:
            head = request.head_for(target)
            self._spend(exchange, spend_sent=len(head))
            await upstream.send(head)
            async for piece in read_body(request, client.reader, granted.idle_s):
                self._spend(exchange, spend_sent=len(piece))
                await _within(granted.idle_s, upstream.send(piece))
            answer_head = await _within(granted.idle_s, self._answer_head(upstream))
        except IncompleteBody:
            return fault("network:incomplete")
        except TimeoutError:
            return fault("timeout:first_byte")
        except asyncio.LimitOverrunError:
            return fault("bad_response:headers", f"more than {self._limits.max_head_bytes} bytes")
        except (OSError, asyncio.IncompleteReadError):
            return fault("network:reset")
        if isinstance(answer_head, Failed):
            return answer_head
        self._spend(exchange, spend_received=len(answer_head))
        if granted.gate is not None:
            granted.gate.note_answer(target, answer_head)
        await client.send(answer_head)
        return None

    async def _answer_head(self, upstream: _Peer) -> bytes | Failed:
        for _ in range(_MAX_INTERIM):
            head = final_head(await upstream.reader.readuntil(b"\r\n\r\n"), self._limits.max_headers)
            if isinstance(head, Failed) or head:
                return head
        return fault("bad_response:protocol", f"more than {_MAX_INTERIM} interim answers")

    async def _relay(self, exchange: _Exchange, client: _Peer, upstream: _Peer, *, answer_only: bool) -> None:
        """Relay until one side closes or both are silent for `idle_s`."""
        granted, clock = exchange.granted, asyncio.get_running_loop().time

        async def pump(source: _Peer, sink: _Peer, spend: Callable[[int], None]) -> None:
            while piece := await source.reader.read(_PIECE_BYTES):
                spend(len(piece))
                timeout.reschedule(clock() + granted.idle_s)
                await sink.send(piece)

        def spend_sent(size: int) -> None:
            self._spend(exchange, spend_sent=size)

        def spend_received(size: int) -> None:
            self._spend(exchange, spend_received=size)

        async with asyncio.timeout(granted.idle_s) as timeout:
            down = pump(upstream, client, spend_received)
            # After its request, a client may only close the connection; any other data it sends is dropped.
            up = client.reader.read(1) if answer_only else pump(client, upstream, spend_sent)
            tasks = {asyncio.ensure_future(down), asyncio.ensure_future(up)}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _spend(self, exchange: _Exchange, *, spend_sent: int = 0, spend_received: int = 0) -> None:
        granted = exchange.granted
        exchange.sent += spend_sent
        exchange.received += spend_received
        granted.bytes_out += spend_sent
        granted.bytes_in += spend_received
        if granted.bytes_in + granted.bytes_out > self._limits.max_run_bytes:
            granted.exceed(f"more than {self._limits.max_run_bytes} bytes")
            raise _Exhausted


async def _within(seconds: float, waiting: Awaitable[T]) -> T:
    async with asyncio.timeout(seconds):
        return await waiting


def _is_same(peer: str, ip: str) -> bool:
    try:
        actual, expected = ip_address(peer.partition("%")[0]), ip_address(ip)
    except ValueError:
        return False
    return actual == expected or getattr(actual, "ipv4_mapped", None) == expected
