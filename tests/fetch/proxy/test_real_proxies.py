"""Through proxies as others run them: tinyproxy, and one that is spoken to over TLS."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from corral.domain.runs.outcome import Failed, Fetched
from tests.fetch.browsing import needs_chromium
from tests.fetch.certificates import Issued, authority, certificate
from tests.fetch.hostile import Hostile, hostile_server
from tests.fetch.proxy.proxies_helpers import MOSTLY_HTTP, PASSWORD, WAYS, a_task, address, executors, name_of
from tests.fetch.upstream import upstream_proxy
from tests.services import Tinyproxy, tinyproxy
from tests.services.ports import free_port

OURS = authority()


@pytest.fixture(scope="module")
def proxy() -> Iterator[Tinyproxy]:
    with tinyproxy("user", PASSWORD) as running:
        yield running


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[Hostile]:
    """The same site over TLS, with a certificate that nobody has signed."""
    async with hostile_server(speaking=certificate(None).context(tmp_path, "site")) as server:
        yield server


def url_with_login(proxy: Tinyproxy, password: str = PASSWORD) -> str:
    return f"http://user:{password}@127.0.0.1:{proxy.port}"


@pytest.mark.parametrize("by", WAYS)
async def test_a_page_and_one_over_tls_come_through_tinyproxy(
    by: str, proxy: Tinyproxy, hostile: Hostile, secure: Hostile
) -> None:
    if by == "browser":
        needs_chromium()
    over_tls = secure.url("/").replace("http:", "https:")
    async with executors(hostile.port, secure.port, proxy.port) as ways:
        for url, server in ((hostile.url("/"), hostile), (over_tls, secure)):
            outcome = await ways[by].execute(a_task(url, url_with_login(proxy), by, verify_tls=False))
            assert isinstance(outcome, Fetched), outcome
            assert outcome.records[0]["title"] == "A page"
            asked = [line for line in proxy.list_requests() if f"CONNECT 127.0.0.1:{server.port} " in line]
            # A browser turns away from a certificate before it takes it.
            assert len(asked) >= server.connections > 0, "nothing came by another way"
        refused = await ways[by].execute(a_task(over_tls, url_with_login(proxy), by))
        assert name_of(refused) == "network:tls", "a proxy changes nothing about whose certificate it is"


@pytest.mark.parametrize("by", MOSTLY_HTTP)
async def test_tinyproxy_wants_its_password(by: str, proxy: Tinyproxy, hostile: Hostile) -> None:
    if by == "browser":
        needs_chromium()
    async with executors(hostile.port, proxy.port) as ways:
        for address_ in (url_with_login(proxy, "wrong-one"), f"http://127.0.0.1:{proxy.port}"):
            outcome = await ways[by].execute(a_task(hostile.url("/"), address_, by))
            assert name_of(outcome) == "network:proxy", outcome
            assert "wrong-one" not in str(outcome)
    assert hostile.connections == 0


@pytest.mark.parametrize("by", MOSTLY_HTTP)
async def test_a_target_that_tinyproxy_cannot_reach_is_a_fault_of_the_proxy(by: str, proxy: Tinyproxy) -> None:
    if by == "browser":
        needs_chromium()
    nobody = free_port()
    async with executors(nobody, proxy.port) as ways:
        outcome = await ways[by].execute(a_task(f"http://127.0.0.1:{nobody}/", url_with_login(proxy), by))
    assert name_of(outcome) == "network:proxy", outcome


# -- a proxy over TLS -------------------------------------------------------------------------------------


def trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ours: Issued) -> None:
    bundle = tmp_path / "authorities.pem"
    bundle.write_text(ours.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))


@pytest.mark.parametrize("by", WAYS)
async def test_a_proxy_over_tls_carries_pages_and_tunnels(
    by: str, hostile: Hostile, secure: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "browser":
        needs_chromium()
    trust(monkeypatch, tmp_path, OURS)
    speaking = certificate(OURS).context(tmp_path, "proxy")
    async with (
        upstream_proxy("user", PASSWORD, speaking=speaking) as upstream,
        executors(hostile.port, secure.port, upstream.port) as ways,
    ):
        through = address(upstream, "https", f"user:{PASSWORD}@")
        for url in (hostile.url("/"), secure.url("/").replace("http:", "https:")):
            outcome = await ways[by].execute(a_task(url, through, by, verify_tls=False))
            assert isinstance(outcome, Fetched), outcome
            assert outcome.records[0]["title"] == "A page"
        assert {f"127.0.0.1:{server.port}" for server in (hostile, secure)} == set(upstream.asked)
        assert len(upstream.asked) >= hostile.connections + secure.connections


@pytest.mark.parametrize("fault", ["stranger", "other-host", "expired"])
async def test_the_certificate_of_a_proxy_is_looked_at_whatever_the_job_says_of_its_target(
    fault: str, hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(monkeypatch, tmp_path, OURS)
    shown = {
        "stranger": lambda: certificate(authority()),
        "other-host": lambda: certificate(OURS, "other.example"),
        "expired": lambda: certificate(OURS, expired=True),
    }[fault]()
    async with (
        upstream_proxy("user", PASSWORD, speaking=shown.context(tmp_path, "proxy")) as upstream,
        executors(hostile.port, upstream.port) as ways,
    ):
        through = address(upstream, "https", f"user:{PASSWORD}@")
        outcome = await ways["http"].execute(a_task(hostile.url("/"), through, verify_tls=False))
        assert isinstance(outcome, Failed), outcome
        assert name_of(outcome) == "network:proxy"
        assert "TLS" in outcome.message
        assert upstream.asked == []
