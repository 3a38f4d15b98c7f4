"""Certificates are looked at, by plain HTTP and by browser, and a handshake has to end."""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import playwright
import pytest
import pytest_asyncio
import wreq
from wreq.tls import CertStore

from corral.domain.outcome import Failed, Fetched
from corral.fetch import browser_engine
from corral.fetch.browser_args import chromium_args
from tests.fetch.arena import EXECUTORS, LIMITS, Arena, arena_with, name_of
from tests.fetch.certificates import Issued, authority, certificate, long_chain
from tests.fetch.hostile import Hostile

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


@dataclass
class Range:
    """Servers by name, each with a certificate of its own."""

    arena: Arena
    ports: dict[str, int]

    def url(self, name: str, path: str = "/page") -> str:
        return f"https://127.0.0.1:{self.ports[name]}{path}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Range]:
    folder = tmp_path_factory.mktemp("tls")
    ours = authority()
    issued = {
        "good": certificate(ours),
        "expired": certificate(ours, expired=True),
        "other-host": certificate(ours, "other.example"),
        "self-signed": certificate(None),
        "stranger": certificate(authority()),
        "long-chain": long_chain(ours, 110),
    }
    async with AsyncExitStack() as stack:
        ports = {name: await serving(stack, folder, name, each) for name, each in issued.items()}
        ports["stalled"] = await stalling(stack)
        ports["h2"] = await speaking_h2(stack, folder, issued["good"])
        with pytest.MonkeyPatch.context() as patch:
            trust(patch, ours, issued["good"])
            arena = await stack.enter_async_context(arena_with(*(f"127.0.0.1/32:{port}" for port in ports.values())))
            yield Range(arena, ports)


def trust(patch: pytest.MonkeyPatch, ours: Issued, good: Issued) -> None:
    """Both executors know our authority; the browser only the one good certificate, for which it asks no more."""
    store = CertStore.from_pem_certs([ours.pem])
    patch.setattr("corral.fetch.egress_wire.wreq.Client", functools.partial(wreq.Client, tls_verify=store))
    known = f"--ignore-certificate-errors-spki-list={good.key_hash}"
    patch.setattr(browser_engine, "chromium_args", lambda: [*chromium_args(), known])


async def serving(stack: AsyncExitStack, folder: Path, name: str, issued: Issued) -> int:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*issued.written(folder, name))
    hostile = Hostile()
    server = await asyncio.start_server(hostile.serve, "127.0.0.1", 0, ssl=context)
    stack.callback(server.close)
    return int(server.sockets[0].getsockname()[1])


async def stalling(stack: AsyncExitStack) -> int:
    """Accepts, and says nothing."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)
    stack.callback(server.close)

    @stack.callback
    def cut() -> None:
        for writer in writers:
            writer.transport.abort()

    return int(server.sockets[0].getsockname()[1])


async def speaking_h2(stack: AsyncExitStack, folder: Path, issued: Issued) -> int:
    """A server that knows nothing but HTTP/2, in the Node that Playwright brings along."""
    node = Path(playwright.__file__).parent / "driver" / "node"
    chain, key = issued.written(folder, "h2")
    script = Path(__file__).with_name("h2_server.js")
    process = await asyncio.create_subprocess_exec(
        node, script, chain, key, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    stack.push_async_callback(process.wait)
    stack.callback(process.kill)
    assert process.stdout is not None
    return int(await asyncio.wait_for(process.stdout.readline(), 20))


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_a_good_certificate_is_accepted(servers: Range, executor: str) -> None:
    outcome = await servers.arena.run(executor, servers.url("good"), "title")
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"title": "A page"},)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", ["expired", "other-host", "self-signed", "stranger", "long-chain"])
async def test_a_bad_certificate_is_refused_with_the_reason(servers: Range, executor: str, name: str) -> None:
    outcome = await servers.arena.run(executor, servers.url(name), "title")
    assert isinstance(outcome, Failed), outcome
    assert name_of(outcome) == "network:tls"
    assert outcome.message.partition(": ")[2], "the reason"


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_a_handshake_that_stands_still_ends_in_time(servers: Range, executor: str) -> None:
    outcome = await servers.arena.run(executor, servers.url("stalled"), "title", timeout_s=3)
    assert name_of(outcome) == ("timeout:connect" if executor == "http" else "timeout:browser")
    assert servers.arena.took_s < (LIMITS.connect_s if executor == "http" else 3) + 1


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    "path, by_http, by_browser",
    [
        ("/page", "fetched", ""),
        ("/gzip", "fetched", ""),
        ("/to-page", "fetched", ""),
        ("/silent", "timeout:first_byte", "timeout:browser"),
        ("/trickle", "timeout:total", "timeout:browser"),
        ("/stops-midway", "timeout:gap", "timeout:browser"),
        ("/endless", "limit:body_too_large", ""),
        ("/gzip-bomb", "limit:body_too_large", ""),
        ("/reset", "network:reset", ""),
        ("/reset-midway", "network:reset", ""),
        ("/goaway", "network:reset", ""),
        # Chromium holds no length of HTTP/2 against it.
        ("/short", "network:incomplete", "fetched"),
        ("/300-headers", "bad_response:headers", ""),
        ("/100kb-header", "bad_response:headers", ""),
        ("/loop", "limit:redirects", ""),
        ("/to-metadata", "policy:egress", ""),
        ("/status-403", "blocked:http_403", ""),
    ],
)
async def test_each_misbehaviour_over_http_2_ends_in_time_with_its_own_name(
    servers: Range, executor: str, path: str, by_http: str, by_browser: str
) -> None:
    expected = (by_browser if executor == "browser" else "") or by_http
    timeout_s = 2.0 if expected.startswith("timeout") else 15.0
    outcome = await servers.arena.run(executor, servers.url("h2", path), "title", timeout_s=timeout_s)
    # A browser may have used up the bytes of a whole run before it is asked how large the page is.
    is_used_up = (executor, path, name_of(outcome)) == ("browser", "/endless", "limit:browser")
    assert is_used_up or name_of(outcome) == expected, outcome
    assert servers.arena.took_s < timeout_s + 1
    if path == "/page":
        assert isinstance(outcome, Fetched)
        assert outcome.records == ({"title": "HTTP/2"},)
