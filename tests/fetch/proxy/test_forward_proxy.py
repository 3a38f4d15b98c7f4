import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from corral.domain.runs.outcome import FailureCode
from corral.fetch.egress.client import Egress
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.proxy.forward_proxy import ForwardProxy
from corral.fetch.proxy.passes import ProxyLimits, ProxyPass
from tests.fetch.hostile import ROUTES, Hostile, Request, hostile_server, send_raw
from tests.waiting import until

LIMITS = ProxyLimits(connect_s=0.5, idle_s=0.6, max_head_bytes=16 * 1024, max_run_bytes=200_000, max_run_requests=50)


@pytest.fixture
async def proxy(egress: Egress) -> AsyncIterator[ForwardProxy]:
    made = ForwardProxy(egress, LIMITS)
    await made.start()
    yield made
    await made.close()


def sign(granted: ProxyPass, password: str | None = None) -> str:
    secret = granted.password if password is None else password
    return "Proxy-Authorization: Basic " + base64.b64encode(f"{granted.username}:{secret}".encode()).decode()


async def say(proxy: ForwardProxy, *lines: str, body: bytes = b"") -> bytes:
    """Everything the proxy answers to one raw request, until it hangs up."""
    return await say_raw(proxy, "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)


async def say_raw(proxy: ForwardProxy, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.address.rpartition(":")[2]))
    try:
        writer.write(data)
        answer = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(5):
                while piece := await reader.read(65536):
                    answer += piece
        return answer
    finally:
        writer.close()


async def test_a_plain_request_reaches_an_allowed_host(proxy: ForwardProxy, hostile: Hostile) -> None:
    granted = proxy.admit()
    answer = await say(
        proxy,
        f"GET {hostile.url('/page?q=1')} HTTP/1.1",
        "Host: somewhere.else",
        sign(granted),
        "Proxy-Connection: keep-alive",
        "X-Corral-Fault: forged",
        "Accept: text/html",
    )
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"A page" in answer
    [head] = hostile.heads
    assert head.startswith("GET /page?q=1 HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{hostile.port}" in head
    assert "connection: close" in head
    for word in ("proxy-", "somewhere", "x-corral", granted.password):
        assert word not in head.lower()
    assert granted.requests == 1
    assert granted.bytes_in > 99
    assert granted.bytes_out > 0


async def test_a_tunnel_carries_bytes_both_ways(proxy: ForwardProxy, hostile: Hostile) -> None:
    granted = proxy.admit()
    hello = f"CONNECT 127.0.0.1:{hostile.port} HTTP/1.1\r\n{sign(granted)}\r\n\r\nGET /page HTTP/1.1\r\n\r\n"
    answer = await say_raw(proxy, hello.encode())
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert granted.faults == {}


@pytest.mark.parametrize(
    "where",
    [
        "169.254.169.254:80",
        "127.0.0.1:CANARY",
        "localhost:CANARY",
        "[::1]:CANARY",
        "[::ffff:127.0.0.1]:CANARY",
        "2130706433:CANARY",
        "0x7f.1:CANARY",
        "0:CANARY",
        "127.0.0.1:PROXY",
        "10.9.9.9:80",
    ],
)
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
async def test_a_forbidden_target_is_refused_and_remembered(proxy: ForwardProxy, method: str, where: str) -> None:
    async with hostile_server() as canary:
        own_port = proxy.address.rpartition(":")[2]
        authority = where.replace("CANARY", str(canary.port)).replace("PROXY", own_port)
        granted = proxy.admit()
        line = f"{method} {authority if method == 'CONNECT' else f'http://{authority}/'} HTTP/1.1"
        answer = await say(proxy, line, sign(granted))
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"x-corral-fault: policy:egress\r\n" in answer
        assert [failure.code for failure in granted.faults.values()] == [FailureCode.POLICY]
        assert len(granted.refused) == 1
        assert canary.connections == 0


@pytest.mark.parametrize(
    "line",
    [
        "GET http://127.0.0.1:PORT\\@example.com/ HTTP/1.1",
        "GET http://user@127.0.0.1:PORT/ HTTP/1.1",
        "GET ftp://127.0.0.1:PORT/ HTTP/1.1",
        "GET https://127.0.0.1:PORT/ HTTP/1.1",
        "GET /page HTTP/1.1",
        "CONNECT user@127.0.0.1:PORT HTTP/1.1",
        "CONNECT 127.0.0.1:PORT/path HTTP/1.1",
        "CONNECT 127.0.0.1 HTTP/1.1",
        "CONNECT http://127.0.0.1:PORT/ HTTP/1.1",
    ],
)
async def test_what_is_not_plainly_a_target_is_refused(proxy: ForwardProxy, hostile: Hostile, line: str) -> None:
    answer = await say(proxy, line.replace("PORT", str(hostile.port)), sign(proxy.admit()))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert hostile.connections == 0


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET http://a/ HTTP/2.0\r\n\r\n",
        b"GET http://a/ b HTTP/1.1\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\n folded: yes\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nName : value\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://a/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ],
)
async def test_what_can_be_read_in_two_ways_is_not_read(proxy: ForwardProxy, data: bytes) -> None:
    assert (await say_raw(proxy, data)).startswith(b"HTTP/1.1 400 ")


async def test_without_the_right_credentials_nothing_is_done(proxy: ForwardProxy, hostile: Hostile) -> None:
    granted = proxy.admit()
    gone = proxy.admit()
    proxy.revoke(gone)
    line = f"GET {hostile.url()} HTTP/1.1"
    for header in (
        "Accept: */*",
        sign(granted, "wrong"),
        sign(granted, ""),
        sign(gone),
        "Proxy-Authorization: x",
    ):
        # With a body announced it hangs up at once; without, it waits for the credentials.
        answer = await say(proxy, line.replace("GET", "POST"), header, "Content-Length: 1", body=b"x")
        assert answer.startswith(b"HTTP/1.1 407 ")
        assert b'proxy-authenticate: Basic realm="corral"' in answer
    assert hostile.connections == 0
    assert granted.requests == 0


async def test_a_challenged_connection_may_try_again(proxy: ForwardProxy, hostile: Hostile) -> None:
    line = f"GET {hostile.url()} HTTP/1.1\r\n"
    answer = await say_raw(proxy, f"{line}\r\n{line}{sign(proxy.admit())}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 407 ")
    assert b"HTTP/1.1 200 OK" in answer
    assert b"A page" in answer


async def test_a_second_request_does_not_ride_on_the_first(proxy: ForwardProxy, hostile: Hostile) -> None:
    granted = proxy.admit()
    first = f"GET {hostile.url('/silent-start')} HTTP/1.1\r\n{sign(granted)}\r\n\r\n"
    second = f"GET http://169.254.169.254/ HTTP/1.1\r\n{sign(granted)}\r\n\r\n"
    await say_raw(proxy, (first + second).encode())
    assert len(hostile.heads) == 1
    assert granted.requests == 1


async def test_a_trusted_host_is_trusted_for_its_run_only(proxy: ForwardProxy) -> None:
    async with hostile_server() as private:
        line = f"GET {private.url()} HTTP/1.1"
        assert (await say(proxy, line, sign(proxy.admit()))).startswith(b"HTTP/1.1 403 ")
        trusted = proxy.admit(frozenset({f"127.0.0.1:{private.port}"}))
        assert (await say(proxy, line, sign(trusted))).startswith(b"HTTP/1.1 200 ")
        assert private.connections == 1


async def test_a_body_is_sent_on_whole(proxy: ForwardProxy, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROUTES, "/form", send_raw(b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"))
    body = b"a=1&" * 5000
    answer = await say(
        proxy, f"POST {hostile.url('/form')} HTTP/1.1", sign(proxy.admit()), f"Content-Length: {len(body)}", body=body
    )
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert hostile.heads[0].startswith("POST /form ")


@pytest.mark.parametrize(
    "path, why",
    [
        ("/silent", "timeout:first_byte"),
        ("/not-http", "bad_response:protocol"),
        ("/empty-answer", "network:reset"),
        ("/1mb-header", "bad_response:headers"),
        ("/1xx", "bad_response:protocol"),
        ("/status/407", "bad_response:protocol"),
    ],
)
async def test_a_bad_answer_is_told_apart_from_none(proxy: ForwardProxy, hostile: Hostile, path: str, why: str) -> None:
    granted = proxy.admit()
    answer = await say(proxy, f"GET {hostile.url(path)} HTTP/1.1", sign(granted))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert f"x-corral-fault: {why}\r\n".encode() in answer
    [failure] = granted.faults.values()
    assert f"{failure.code}:{failure.detail}" == why
    assert "127.0.0.1" not in failure.message


async def test_a_target_cannot_speak_as_the_proxy(
    proxy: ForwardProxy, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b"HTTP/1.1 403 No\r\nX-Corral-Fault: policy:egress\r\n  folded\r\nProxy-Authenticate: Basic\r\nX-Kept: 1\r\n"
    monkeypatch.setitem(ROUTES, "/liar", send_raw(head + b"Content-Length: 0\r\n\r\n"))
    granted = proxy.admit()
    answer = await say(proxy, f"GET {hostile.url('/liar')} HTTP/1.1", sign(granted))
    assert answer.lower().count(b"x-corral") == answer.lower().count(b"proxy-") == answer.count(b"folded") == 0
    assert b"X-Kept: 1" in answer
    assert granted.faults == {}


async def test_a_refused_connection_is_a_network_fault(proxy: ForwardProxy, hostile: Hostile) -> None:
    async with hostile_server() as closed:
        pass
    granted = proxy.admit(frozenset({f"127.0.0.1:{closed.port}"}))
    answer = await say(proxy, f"CONNECT 127.0.0.1:{closed.port} HTTP/1.1", sign(granted))
    assert b"x-corral-fault: network:refused" in answer


async def test_a_peer_that_is_not_the_pinned_address_is_dropped(
    proxy: ForwardProxy, hostile: Hostile, egress: Egress, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def elsewhere(*_args: object, **_more: object) -> PinnedAddress:
        return PinnedAddress("public.example", hostile.port, ("0.0.0.0",))  # Linux connects it to 127.0.0.1

    monkeypatch.setattr(egress, "resolve", elsewhere)
    granted = proxy.admit()
    answer = await say(proxy, f"GET http://public.example:{hostile.port}/ HTTP/1.1", sign(granted))
    assert b"x-corral-fault: policy:egress" in answer
    assert hostile.heads == []


async def test_a_run_has_so_many_bytes_and_requests(proxy: ForwardProxy, hostile: Hostile) -> None:
    granted = proxy.admit()
    answer = await say(proxy, f"GET {hostile.url('/endless')} HTTP/1.1", sign(granted))
    assert len(answer) <= LIMITS.max_run_bytes
    assert granted.exceeded == f"more than {LIMITS.max_run_bytes} bytes"
    again = await say(proxy, f"GET {hostile.url()} HTTP/1.1", sign(granted))
    assert b"x-corral-fault: limit:browser" in again
    assert len(hostile.heads) == 1

    other = proxy.admit()
    answers = [await say(proxy, f"GET {hostile.url()} HTTP/1.1", sign(other)) for _ in range(51)]
    assert sum(answer.startswith(b"HTTP/1.1 200") for answer in answers) == 50
    assert other.exceeded == "more than 50 requests"


async def test_silence_and_oversized_heads_end_a_connection(proxy: ForwardProxy, hostile: Hostile) -> None:
    assert await say_raw(proxy, b"GET ") == b""
    assert (await say(proxy, "GET http://a/ HTTP/1.1", "X: " + "a" * 20_000)).startswith(b"HTTP/1.1 431 ")
    tunnel = await say(proxy, f"CONNECT 127.0.0.1:{hostile.port} HTTP/1.1", sign(proxy.admit()))
    assert tunnel == b"HTTP/1.1 200 Connection established\r\n\r\n"


async def test_a_revoked_run_loses_its_connections(proxy: ForwardProxy, hostile: Hostile) -> None:
    granted = proxy.admit()
    saying = asyncio.create_task(say(proxy, f"GET {hostile.url('/trickle')} HTTP/1.1", sign(granted)))
    await until(lambda: hostile.open_now == 1, within_s=2)
    proxy.revoke(granted)
    async with asyncio.timeout(2):
        await saying
    await until(lambda: not hostile.open_now and not granted.tasks, within_s=2)


async def test_too_many_connections_are_not_served(egress: Egress, hostile: Hostile) -> None:
    proxy = ForwardProxy(egress, replace(LIMITS, max_connections=1))
    await proxy.start()
    try:
        granted = proxy.admit()
        waiting = asyncio.create_task(say(proxy, f"GET {hostile.url('/silent')} HTTP/1.1", sign(granted)))
        await until(lambda: hostile.open_now == 1, within_s=2)
        assert await say(proxy, f"GET {hostile.url()} HTTP/1.1", sign(granted)) == b""
        assert (await waiting).startswith(b"HTTP/1.1 502 ")
    finally:
        await proxy.close()


def test_a_pass_does_not_show_its_password(egress: Egress) -> None:
    granted = ForwardProxy(egress).admit()
    assert granted.password not in repr(granted)


async def _silent_start(request: Request) -> None:
    await request.send(b"HTTP/1.1 200 OK\r\n\r\n")
    await asyncio.sleep(60)


ROUTES["/silent-start"] = _silent_start


async def test_asked_for_by_many_at_once_it_starts_once(egress: Egress, monkeypatch: pytest.MonkeyPatch) -> None:
    started = 0
    real = asyncio.start_server

    async def count_server(*given: Any, **named: Any) -> asyncio.Server:
        nonlocal started
        started += 1
        return await real(*given, **named)

    monkeypatch.setattr(asyncio, "start_server", count_server)
    proxy = ForwardProxy(egress)
    await asyncio.gather(*[proxy.start() for _ in range(20)])
    await proxy.close()
    assert started == 1
