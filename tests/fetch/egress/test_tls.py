"""Certificates are looked at, by plain HTTP and by browser, and a handshake has to end."""

import asyncio
import contextlib
import functools
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import playwright
import pytest
import pytest_asyncio
import wreq
from cryptography.hazmat.primitives.serialization import Encoding
from wreq.tls import CertStore

from corral.domain.net.http_cache import CacheMode
from corral.domain.runs.outcome import Deferred, Failed, Fetched
from corral.fetch.browser import engine
from corral.fetch.browser.launch_args import chromium_environment
from corral.fetch.browser.login import LoginFailed, login_page
from corral.fetch.cache.client import PageCache
from corral.fetch.cache.disk import DiskCache
from corral.fetch.http import HttpExecutor
from corral.fetch.probe import probe
from corral.fetch.robots import Robots
from tests.fetch.arena import EXECUTORS, LIMITS, Arena, arena_with, name_of, with_executors
from tests.fetch.browsing import a_task
from tests.fetch.certificates import Issued, authority, certificate, long_chain
from tests.fetch.hostile import ROUTES, Request, hostile_server
from tests.slack import SLACK

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
        ports = {name: await serve_tls(stack, folder, name, each) for name, each in issued.items()}
        ports["stalled"] = await accept_silently(stack)
        ports["h2"] = await serve_h2(stack, folder, issued["good"])
        ports["h2-stranger"] = await serve_h2(stack, folder, issued["stranger"])
        with pytest.MonkeyPatch.context() as patch:
            trust(patch, ours, folder)
            arena = await stack.enter_async_context(arena_with(*(f"127.0.0.1/32:{port}" for port in ports.values())))
            yield Range(arena, ports)


def trust(patch: pytest.MonkeyPatch, ours: Issued, folder: Path) -> None:
    """Both executors know our authority, so that what is left to be refused is the date, or the name."""
    store = CertStore.from_pem_certs([ours.pem])
    patch.setattr("corral.fetch.egress.wire.wreq.Client", functools.partial(wreq.Client, tls_verify=store))
    home, file = folder / "home", folder / "authority.der"
    file.write_bytes(ours.certificate.public_bytes(Encoding.DER))
    subprocess.run([sys.executable, Path(__file__).with_name("nss_trust.py"), home, file], check=True)
    patch.setattr(
        engine,
        "chromium_environment",
        lambda own, *, headed=False: {**chromium_environment(own, headed=headed), "HOME": str(home)},
    )


async def serve_tls(stack: AsyncExitStack, folder: Path, name: str, issued: Issued) -> int:
    server = await stack.enter_async_context(hostile_server(speaking=issued.context(folder, name)))
    return server.port


async def accept_silently(stack: AsyncExitStack) -> int:
    """Accepts, and says nothing."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)
    stack.callback(server.close)

    @stack.callback
    def cut() -> None:
        for writer in writers:
            writer.transport.abort()

    return int(server.sockets[0].getsockname()[1])


async def serve_h2(stack: AsyncExitStack, folder: Path, issued: Issued) -> int:
    """A server that knows nothing but HTTP/2, in the Node that Playwright brings along."""
    node = Path(playwright.__file__).parent / "driver" / "node"
    chain, key = issued.write_files(folder, f"h2-{issued.key_hash[:8].replace('/', '-')}")
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
@pytest.mark.parametrize(
    "name, by_http, by_browser",
    [
        ("expired", "certificate verify failed", "cert date invalid"),
        ("other-host", "certificate verify failed", "cert common name invalid"),
        ("self-signed", "certificate verify failed", "cert authority invalid"),
        ("stranger", "bad signature", "cert authority invalid"),
        ("long-chain", "certificate verify failed", "cert authority invalid"),
    ],
)
async def test_a_bad_certificate_is_refused_with_the_reason(
    servers: Range, executor: str, name: str, by_http: str, by_browser: str
) -> None:
    outcome = await servers.arena.run(executor, servers.url(name), "title")
    assert isinstance(outcome, Failed), outcome
    assert name_of(outcome) == "network:tls"
    reason = outcome.message.partition(": ")[2]
    assert reason == (by_browser if executor == "browser" else by_http)


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_a_handshake_that_stands_still_ends_in_time(servers: Range, executor: str) -> None:
    outcome = await servers.arena.run(executor, servers.url("stalled"), "title", timeout_s=3)
    assert name_of(outcome) == ("timeout:connect" if executor == "http" else "timeout:browser")
    assert servers.arena.took_s < (LIMITS.connect_s if executor == "http" else 3) + SLACK


H2_PATHS = [
    ("/page", "fetched", ""),
    ("/gzip", "fetched", ""),
    ("/to-page", "fetched", ""),
    ("/silent", "timeout:first_byte", "timeout:browser"),
    ("/trickle", "timeout:total", "timeout:browser"),
    ("/stops-midway", "timeout:read", "timeout:browser"),
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
]
# In a browser these end as others do that stay.
H2_LATE = frozenset({"/gzip", "/to-page", "/trickle", "/stops-midway", "/reset-midway", "/100kb-header", "/loop"})


@pytest.mark.parametrize("path, by_http, by_browser, executor", with_executors(H2_PATHS, H2_LATE))
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


# -- a job that takes any certificate ------------------------------------------------------------------------

BAD = ["expired", "other-host", "self-signed", "stranger"]


@pytest.mark.parametrize(
    "name, executor", with_executors([(name,) for name in (*BAD, "h2-stranger")], {*BAD} - {"stranger"})
)
async def test_a_job_may_take_any_certificate_and_no_other_job_does_for_that(
    servers: Range, executor: str, name: str
) -> None:
    """In turns, to a server that would keep its connections: what one job accepted is not there for the next."""
    for _ in range(2):
        taken = await servers.arena.run(executor, servers.url(name), "title", verify_tls=False)
        assert isinstance(taken, Fetched), taken
        refused = await servers.arena.run(executor, servers.url(name), "title")
        assert name_of(refused) == "network:tls", refused


@pytest.mark.parametrize("name", ["self-signed", "h2-stranger"])
async def test_the_look_at_the_target_of_such_a_job_takes_any_certificate_too(servers: Range, name: str) -> None:
    egress, url = servers.arena.egress, servers.url(name)
    refused = await probe(egress, url, ())
    assert isinstance(refused.failure, Failed)
    assert (refused.status, refused.failure.detail) == (None, "tls")
    assert (await probe(egress, url, (), verifies_tls=False)).status == 200
    assert (await probe(egress, url, ())).status is None


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_two_jobs_at_the_same_time_are_told_apart(servers: Range, executor: str) -> None:
    runs = [
        servers.arena.run(executor, servers.url("h2-stranger"), "title", timeout_s=20, **more)
        for more in ({"verify_tls": False}, {}, {"verify_tls": False}, {"verify_tls": True})
    ]
    outcomes = await asyncio.gather(*runs)
    assert [name_of(each) for each in outcomes] == ["fetched", "network:tls", "fetched", "network:tls"]


@pytest.mark.parametrize("executor", EXECUTORS)
async def test_rules_that_nobody_vouches_for_are_rules_for_that_job_only(
    servers: Range, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def rules(request: Request) -> None:
        await request.answer(b"User-agent: *\nDisallow: /\n")

    monkeypatch.setitem(ROUTES, "/robots.txt", rules)
    url = servers.url("stranger", f"/ruled/{executor}")
    taken = await servers.arena.run(executor, url, "title", verify_tls=False, respect_robots=True)
    assert name_of(taken) == "policy:robots", taken
    refused = await servers.arena.run(executor, url, "title", respect_robots=True)
    assert name_of(refused) == "network:tls", refused


@pytest.mark.parametrize("verifies", [False, True])
async def test_a_login_is_captured_from_whom_the_job_takes_it(servers: Range, verifies: bool) -> None:
    async with login_page(
        servers.arena.egress, frozenset(), "corral-test", headed=False, verifies_tls=verifies
    ) as page:
        refused = contextlib.nullcontext() if not verifies else pytest.raises(LoginFailed)
        with refused:
            await page.open(servers.url("stranger"))


async def test_a_page_that_nobody_vouches_for_is_kept_for_its_own_kind_only(servers: Range, tmp_path: Path) -> None:
    egress = servers.arena.egress
    cache = PageCache(DiskCache(tmp_path, 1_000_000), CacheMode.REPLAY)
    executor = HttpExecutor(egress, Robots(egress, "corral-test"), cache=cache)
    url = servers.url("stranger")
    outcomes = [await executor.execute(a_task(url, "title", verify_tls=verifies)) for verifies in (False, False, True)]
    assert [each.stats.get("cache") for each in outcomes if not isinstance(each, Deferred)] == ["miss", "hit", None]
    assert name_of(outcomes[2]) == "network:tls"


async def test_a_page_that_nobody_vouches_for_teaches_nothing(servers: Range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls would be made by jobs that do look."""

    async def page(request: Request) -> None:
        script = "fetch('/item').then(a => a.json()).then(a => document.querySelector('h1').textContent = a.title)"
        await request.answer(f"<h1></h1><script>{script}</script>".encode(), "Content-Type: text/html")

    async def item(request: Request) -> None:
        await request.answer(b'{"title": "Some thing of its own"}', "Content-Type: application/json")

    monkeypatch.setitem(ROUTES, "/filled", page)
    monkeypatch.setitem(ROUTES, "/item", item)
    field = {"name": "title", "css": "h1"}
    for name, verifies, is_taught in (("good", True, True), ("stranger", False, False)):
        url = servers.url(name, "/filled")
        outcome = await servers.arena.run("browser", url, field, timeout_s=20, verify_tls=verifies)
        assert isinstance(outcome, Fetched), outcome
        assert outcome.records == ({"title": "Some thing of its own"},)
        assert (outcome.recipe is not None) == is_taught
