"""A proxy that fails says nothing about the site behind it: the breaker of the site stays closed for direct jobs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from corral.domain.hosts.breaker import Sign, sign_of
from corral.domain.ids import RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.net.proxy import RouteKind
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import NewRun
from corral.runtime.new_ids import new_id
from corral.wiring.options import host_rules
from tests.engine.builders import put, run_node, wait_for_runs
from tests.engine.crawl.site import Page, serve_site
from tests.engine.hosts.limited_runs import host_of, settings_with_limits
from tests.fetch.browsing import needs_chromium

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
Behaviour = Callable[[Reader, Writer], Awaitable[None]]
OPEN = b"HTTP/1.1 200 Connection established\r\n\r\n"


def answer_with(*answers: bytes) -> Behaviour:
    """One answer for each request head that arrives, then the end."""

    async def behave(reader: Reader, writer: Writer) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()

    return behave


async def _abort(reader: Reader, writer: Writer) -> None:
    await reader.read(1)
    writer.transport.abort()


async def _stay_silent(reader: Reader, writer: Writer) -> None:
    await reader.read(1)
    await asyncio.sleep(60)


async def _open_and_stay_silent(reader: Reader, writer: Writer) -> None:
    await answer_with(OPEN)(reader, writer)
    await asyncio.sleep(60)


async def _refuse_by_socks(reader: Reader, writer: Writer) -> None:
    await reader.readexactly(3)
    writer.write(b"\x05\x00")
    await reader.readexactly(10)
    writer.write(b"\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00")
    await writer.drain()


def make_answer(status: str, *headers: str) -> Behaviour:
    lines = [f"HTTP/1.1 {status}", "content-length: 0", *headers]
    return answer_with(OPEN, ("\r\n".join(lines) + "\r\n\r\n").encode())


BEHAVIOURS: dict[str, tuple[str, Behaviour]] = {
    "reset": ("http", _abort),
    "silent": ("http", _stay_silent),
    "407": ("http", answer_with(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")),
    "403": ("http", answer_with(b"HTTP/1.1 403 Forbidden\r\n\r\n")),
    "502": ("http", answer_with(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")),
    "no tls": ("https", answer_with(b"hello\r\n\r\n")),
    "no socks": ("socks5", answer_with(b"hello\r\n\r\n")),
    "socks refuses": ("socks5", _refuse_by_socks),
    "tunnel cut": ("http", answer_with(OPEN)),
    "tunnel silent": ("http", _open_and_stay_silent),
    "tunnel garbage": ("http", answer_with(OPEN, b"\x00\x01 no http\r\n\r\n")),
    "made-up 502": ("http", make_answer("502 Bad Gateway")),
    "made-up 503": ("http", make_answer("503 Service Unavailable", "retry-after: 3600")),
    "made-up 504": ("http", make_answer("504 Gateway Timeout")),
    "made-up 429": ("http", make_answer("429 Too Many Requests", "retry-after: 3600")),
    "made-up 403": ("http", make_answer("403 Forbidden")),
    "made-up 407": ("http", make_answer("407 Proxy Authentication Required")),
}
RECIPE = {
    "id": "r",
    "version": 1,
    "url_pattern": "/",
    "calls": [{"method": "GET", "url": "{origin}/api", "headers": {}}],
    "fields": {"title": {"call": 0, "value": "{$.title}"}},
}


@asynccontextmanager
async def bad_proxy(behave: Behaviour) -> AsyncIterator[int]:
    async def serve(reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await behave(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def a_run(url: str, strategy: Strategy, proxy: str | None) -> NewRun:
    payload: dict[str, Any] = {"url": url, "fields": [{"name": "title"}], "respect_robots": False, "recipe": RECIPE}
    if proxy is not None:
        payload["proxy"] = {"address": proxy, "sealed": None}
    return NewRun(RunId(new_id()), None, "page", Priority.MEDIUM, 1, strategy, strategy, Payload(payload))


BY_ALL = ("reset", "tunnel cut", "made-up 503", "tunnel garbage")


@pytest.mark.parametrize(
    "strategy, names",
    [
        (Strategy.HTTP, tuple(BEHAVIOURS)),
        (Strategy.API_REPLAY, BY_ALL),
        pytest.param(Strategy.BROWSER, BY_ALL, marks=pytest.mark.browser),
    ],
)
async def test_no_fault_of_a_proxy_counts_against_the_site(
    tmp_path: Path, strategy: Strategy, names: tuple[str, ...]
) -> None:
    if strategy is Strategy.BROWSER:
        needs_chromium()
    settings = settings_with_limits(tmp_path, breaker_failures=2, http_timeout_seconds=3, host_max_delay_seconds=60)
    async with contextlib.AsyncExitStack() as stack:
        site = stack.enter_context(serve_site({"/": Page()}))
        app = await stack.enter_async_context(run_node(settings))
        proxies = ["http://127.0.0.1:1"]  # refused
        for scheme, behave in (BEHAVIOURS[name] for name in names):
            port = await stack.enter_async_context(bad_proxy(behave))
            proxies.append(f"{scheme}://127.0.0.1:{port}")
        runs = [a_run(f"{site.url}/", strategy, proxy) for proxy in proxies for _ in range(2)]
        failed = await wait_for_runs(app, await put(app, *runs), timeout_s=60)
        assert {run.state for run in failed} == {"failed"}
        host = host_of(app, site)
        assert host.condition.breaker.failures == 0
        assert host.condition.delay_s(host_rules(settings)) == 0
        assert site.hits["/"] == 0
        [direct] = await wait_for_runs(app, await put(app, a_run(f"{site.url}/", Strategy.HTTP, None)))
        assert direct.state == "completed"


@pytest.mark.parametrize(
    "route, failure, sign",
    [
        (RouteKind.DIRECT, Failed(FailureCode.NETWORK, "", "refused"), Sign.ILL),
        (RouteKind.PROXY, Failed(FailureCode.NETWORK, "", "reset"), Sign.NOTHING),
        (RouteKind.PROXY_TLS, Failed(FailureCode.NETWORK, "", "tls"), Sign.NOTHING),
        (RouteKind.PROXY_TLS, Failed(FailureCode.TIMEOUT, "", "first_byte"), Sign.NOTHING),
        (RouteKind.PROXY_TLS, Failed(FailureCode.BLOCKED, "", "http_403", 403), Sign.NOTHING),
        (RouteKind.PROXY, Failed(FailureCode.BAD_RESPONSE, "", "http_503", 503), Sign.NOTHING),
        # The site's certificate was verified through the proxy: this answer is its own.
        (RouteKind.PROXY_TLS, Failed(FailureCode.BAD_RESPONSE, "", "http_503", 503), Sign.ILL),
        (RouteKind.PROXY, Failed(FailureCode.BAD_RESPONSE, "", "http_404", 404), Sign.WELL),
    ],
)
def test_whose_fault_it_is_depends_on_the_route(route: RouteKind, failure: Failed, sign: Sign) -> None:
    assert sign_of(failure, route) is sign
