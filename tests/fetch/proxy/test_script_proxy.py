"""The forward proxy of scripts: real clients, host limits, egress rules, and the tally."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from corral.domain.hosts.limiter import UNLIMITED
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Deferred, Outcome, WaitReason
from corral.fetch.egress.client import Egress
from corral.fetch.proxy.script_proxy import ScriptProxy
from tests.fetch.hostile import Hostile
from tests.waiting import until


class _Visit:
    """Counts visits at once, and defers as often as it was told to."""

    def __init__(self, access: "_Access") -> None:
        self._access = access

    async def enter(self, target: Target, route: RouteKind = RouteKind.DIRECT) -> Deferred | None:
        if self._access.deferrals:
            return self._access.deferrals.pop(0)
        await self._access.slots.acquire()
        self._access.now += 1
        self._access.most = max(self._access.most, self._access.now)
        return None

    def record_answer(self, target: Target, status: int, latency_s: float, retry_after: str | None) -> None:
        self._access.answers.append((status, retry_after))

    def slow_down(self, target: Target, delay_s: float) -> None: ...

    def free_slots(self) -> None: ...

    def end(self, outcome: Outcome | None) -> None:
        self._access.outcomes.append(outcome)
        if outcome is not None:
            self._access.now -= 1
            self._access.slots.release()


class _Access:
    def __init__(self, slots: int = 100, deferrals: list[Deferred] | None = None) -> None:
        self.slots = asyncio.Semaphore(slots)
        self.deferrals = deferrals or []
        self.now = self.most = 0
        self.answers: list[tuple[int, str | None]] = []
        self.outcomes: list[Outcome | None] = []

    def visit(self, at_once: int = 0, queued: object = None) -> _Visit:
        return _Visit(self)


@pytest.fixture
async def access() -> _Access:
    return _Access(slots=2)


@pytest.fixture
async def proxy(egress: Egress, access: _Access) -> AsyncIterator[ScriptProxy]:
    made = ScriptProxy(egress, access)
    yield made
    await made.close()


def _client(environment: dict[str, str]) -> httpx.AsyncClient:
    return httpx.AsyncClient(proxy=environment["HTTP_PROXY"])


async def test_requests_are_counted_by_host_with_status_and_bytes(
    proxy: ScriptProxy, access: _Access, hostile: Hostile
) -> None:
    async with proxy.open() as route, _client(route.environment) as client:
        for path in ("/page", "/page", "/status/429", "/status/503"):
            await client.get(hostile.url(path))
    [(host, tally)] = route.wire.hosts.items()
    assert host == f"127.0.0.1:{hostile.port}"
    assert tally.requests == 4
    assert tally.statuses == {200: 2, 429: 1, 503: 1}
    assert tally.bytes_in > 4 * 50
    assert tally.bytes_out > 4 * 50
    assert access.answers[0] == (200, None)
    await until(lambda: (access.now, len(access.outcomes)) == (0, 4))


async def test_a_body_in_chunks_arrives_whole(proxy: ScriptProxy) -> None:
    received = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        received = await reader.readuntil(b"\r\n0\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with proxy.open(frozenset({"127.0.0.1"})) as route, _client(route.environment) as client:
        answer = await client.post(f"http://127.0.0.1:{port}/", content=_pieces())
    assert answer.status_code == 200
    assert b"5\r\nhello\r\n" in received
    server.close()


async def _pieces() -> AsyncIterator[bytes]:
    yield b"hello"
    yield b"world"


async def test_the_slots_of_a_host_bound_the_requests_at_once(
    proxy: ScriptProxy, access: _Access, hostile: Hostile
) -> None:
    async with proxy.open() as route, _client(route.environment) as client:
        await asyncio.gather(*(client.get(hostile.url("/page")) for _ in range(8)))
    assert access.most == 2


async def test_a_short_pause_is_waited_for_and_an_open_breaker_is_answered_with_503(
    proxy: ScriptProxy, access: _Access, hostile: Hostile
) -> None:
    async with proxy.open() as route, _client(route.environment) as client:
        access.deferrals = [Deferred("h", WaitReason.PACE, 0.01), Deferred("h", WaitReason.PACE, 0.01)]
        assert (await client.get(hostile.url("/page"))).status_code == 200
        access.deferrals = [Deferred("h", WaitReason.BREAKER, 300.0)]
        answer = await client.get(hostile.url("/page"))
        assert (answer.status_code, answer.headers["x-corral-fault"]) == (503, "rate_limited:host")
    assert route.wire.document()[f"127.0.0.1:{hostile.port}"]["faults"] == {"rate_limited:host": 1}


async def test_a_forbidden_host_is_refused_and_a_trusted_one_is_not(egress: Egress) -> None:
    proxy = ScriptProxy(egress, UNLIMITED)
    async with proxy.open() as route, _client(route.environment) as client:
        answer = await client.get("http://169.254.169.254/latest")
        assert (answer.status_code, answer.headers["x-corral-fault"]) == (403, "policy:egress")
    assert route.wire.explain_failure() == ("policy", "egress")
    await proxy.close()


async def test_the_credentials_end_with_the_script(proxy: ScriptProxy, hostile: Hostile) -> None:
    async with proxy.open() as route:
        pass
    async with _client(route.environment) as client:
        assert (await client.get(hostile.url("/page"))).status_code == 407
