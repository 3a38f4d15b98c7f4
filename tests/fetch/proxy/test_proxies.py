"""Through a proxy: everything of a run goes there, to addresses that were checked, and nothing goes without it."""

from dataclasses import replace

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.net.proxy import OpenProxy, ProxyPolicy, parse_proxy
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.domain.secret import Secret
from corral.fetch.egress import dns
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.proxy.credentials import WithProxy
from corral.fetch.sessions import SessionKeys
from corral.secrets.vault import Keyring
from tests.fetch.browsing import needs_chromium
from tests.fetch.conftest import QUICK
from tests.fetch.hostile import Hostile
from tests.fetch.proxy.proxies_helpers import PASSWORD, WAYS, a_task, address, executors, name_of
from tests.fetch.upstream import upstream_proxy


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """shop.test is on this machine, and so is every name that ends in .test."""
    known = dns._addresses
    monkeypatch.setattr(dns, "_addresses", lambda host: ("127.0.0.1",) if host.endswith(".test") else known(host))


@pytest.mark.parametrize("by", WAYS)
@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_page_comes_through_the_proxy_which_is_told_an_address(
    by: str, scheme: str, hostile: Hostile, names: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "browser":
        needs_chromium()
    monkeypatch.setenv("NO_PROXY", "*")  # what the environment says of proxies is not for us
    async with upstream_proxy("user", PASSWORD) as upstream, executors(hostile.port, upstream.port) as ways:
        task = a_task(
            hostile.url("/", host="shop.test"), address(upstream, scheme, f"user:{PASSWORD}@"), by, respect_robots=True
        )
        outcome = await ways[by].execute(task)
        assert isinstance(outcome, Fetched), outcome
        assert outcome.records[0]["title"] == "A page"
        assert hostile.count_requests("/robots.txt") == 1, "robots.txt is a part of the run"
        assert set(upstream.asked) == {f"127.0.0.1:{hostile.port}"}
        assert len(upstream.asked) == hostile.connections, "nothing came by another way"
        assert b"shop.test" in upstream.carried
        assert PASSWORD.encode() not in upstream.carried, "what the proxy knows us by is not for the site"


FAULTY = {
    "502": (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "502"),
    "407": (b"HTTP/1.1 407 No\r\n\r\n", "407"),
    "SSH": (b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n\r\n", "not HTTP"),
    "silence": (b"", "in time"),
}
# A browser's start each: when there is little time, it gets one that answers and one that does not.
FAULTY_WAYS = [
    pytest.param(by, *FAULTY[fault], id=f"{by}-{fault}", marks=[pytest.mark.browser, *late] if by == "browser" else [])
    for by in ("http", "browser")
    for fault in FAULTY
    for late in ([pytest.mark.long] if fault in ("502", "SSH") else [],)
]


@pytest.mark.parametrize("by, answers, told", FAULTY_WAYS)
async def test_a_proxy_that_does_not_do_its_work_is_named_and_not_gone_around(
    by: str, answers: bytes, told: str, hostile: Hostile
) -> None:
    if by == "browser":
        needs_chromium()
    async with upstream_proxy(answers=answers) as upstream, executors(hostile.port, upstream.port) as ways:
        outcome = await ways[by].execute(a_task(hostile.url("/"), address(upstream), by))
        assert name_of(outcome) == "network:proxy", outcome
        assert isinstance(outcome, Failed)
        assert told in outcome.message
        assert upstream.connections > 0
        assert hostile.connections == 0


async def test_a_wrong_password_a_dead_proxy_and_a_wrong_kind(hostile: Hostile) -> None:
    async with upstream_proxy("user", PASSWORD) as upstream, executors(hostile.port, upstream.port, 9) as ways:
        http = ways["http"]
        for proxy in (
            address(upstream),
            address(upstream, "http", "user:wrong-one@"),
            address(upstream, "socks5", "user:wrong-one@"),
            address(upstream, "socks5"),
            address(upstream, "https"),
            "http://127.0.0.1:9",
        ):
            outcome = await http.execute(a_task(hostile.url("/"), proxy))
            assert name_of(outcome) == "network:proxy", (proxy, outcome)
            assert "wrong-one" not in str(outcome)
        assert hostile.connections == 0


@pytest.mark.parametrize("by", WAYS)
async def test_a_proxy_at_a_forbidden_address_is_refused_like_any_target(by: str, hostile: Hostile) -> None:
    if by == "browser":
        needs_chromium()
    async with upstream_proxy() as canary, executors(hostile.port) as ways:
        outcome = await ways[by].execute(a_task(hostile.url("/"), address(canary), by))
        assert name_of(outcome) == "policy:egress", outcome
        assert (canary.connections, hostile.connections) == (0, 0)


@pytest.mark.parametrize("by", WAYS)
async def test_what_a_page_leads_to_is_checked_before_the_proxy_hears_of_it(by: str, hostile: Hostile) -> None:
    if by == "browser":
        needs_chromium()
    async with upstream_proxy() as upstream, executors(hostile.port, upstream.port) as ways:
        outcome = await ways[by].execute(a_task(hostile.url("/metadata-302"), address(upstream), by))
        assert name_of(outcome) == "policy:egress", outcome
        assert set(upstream.asked) == {f"127.0.0.1:{hostile.port}"}


async def test_the_relay_is_not_its_own_proxy(hostile: Hostile) -> None:
    async with executors(hostile.port) as ways:
        http = ways["http"]
        assert isinstance(http, HttpExecutor)
        forward = http._proxies._forward
        await forward.start()
        outcome = await http.execute(a_task(hostile.url("/"), f"http://127.0.0.1:{forward.port}"))
        assert name_of(outcome) == "policy:egress"


async def test_a_recipe_is_replayed_through_the_proxy(hostile: Hostile) -> None:
    recipe = {
        "id": "r",
        "version": 1,
        "url_pattern": "/shop/*",
        "calls": [{"method": "GET", "url": "{origin}/api", "headers": {}}],
        "fields": {"title": {"call": 0, "value": "{$.name}"}},
    }
    async with upstream_proxy() as upstream, executors(hostile.port, upstream.port) as ways:
        outcome = await ways["api_replay"].execute(
            a_task(hostile.url("/shop/1"), address(upstream), respect_robots=True, recipe=recipe)
        )
        assert name_of(outcome) == "extraction:shape_changed", "the page is no JSON, but it was fetched"
        assert len(upstream.asked) == hostile.connections == 2


async def test_a_tls_target_is_reached_through_a_tunnel(hostile: Hostile) -> None:
    async with upstream_proxy() as upstream, executors(hostile.port, upstream.port) as ways:
        url = hostile.url("/").replace("http:", "https:")
        outcome = await ways["http"].execute(a_task(url, address(upstream)))
        assert isinstance(outcome, Failed), "the server does not speak TLS"
        assert outcome.detail in {"tls", "connect", "reset"}
        assert upstream.asked == [f"127.0.0.1:{hostile.port}"]
        assert upstream.carried.startswith(b"\x16\x03"), "a TLS handshake, not a request in the open"


@pytest.mark.browser
async def test_a_login_is_captured_through_the_proxy_too(hostile: Hostile) -> None:
    needs_chromium()
    from corral.fetch.browser.login import login_page

    async with upstream_proxy("user", PASSWORD) as upstream:
        entries = (AllowEntry.parse(f"127.0.0.1/32:{port}") for port in (hostile.port, upstream.port))
        egress = Egress(EgressPolicy(tuple(entries)), QUICK, "corral-test")
        through = parse_proxy(address(upstream, "http", f"user:{PASSWORD}@"))
        async with login_page(egress, frozenset(), "corral-test", headed=False, upstream=through) as page:
            await page.open(hostile.url("/"))
        assert hostile.connections > 0
        assert len(upstream.asked) >= hostile.connections
        await egress.close()


# -- credentials ------------------------------------------------------------------------------------------


class Seen:
    """An executor that only looks at its task."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.proxy: OpenProxy | None = None

    async def execute(self, task: Task) -> Outcome:
        self.proxy = task.proxy
        return self.outcome


RING = Keyring().with_new()


def seal_for(where: str, text: str = f"user:{PASSWORD}") -> ProxyPolicy:
    policy = ProxyPolicy(where)
    return replace(policy, sealed=RING.seal_text(Secret(text), policy.bound))


async def execute(policy: ProxyPolicy, outcome: Outcome, ring: Keyring = RING) -> tuple[Outcome, Seen]:
    inner = Seen(outcome)
    task = Task("run", 1, "page", "http", 1, Payload({"url": "http://a.test/", "proxy": policy.document()}), 5)
    return await WithProxy(inner, SessionKeys(ring.texts())).execute(task), inner


async def test_credentials_are_opened_for_the_run_and_shown_nowhere() -> None:
    fault = Failed("network", f"it said {PASSWORD}", stats={"echo": [PASSWORD]}, traceback=PASSWORD)  # type: ignore[arg-type]
    outcome, inner = await execute(seal_for("http://proxy.test:8080"), fault)
    assert inner.proxy is not None
    assert inner.proxy.secrets() == ["user", PASSWORD]
    assert PASSWORD not in repr(inner.proxy)
    assert PASSWORD not in str(outcome)
    assert isinstance(outcome, Failed)
    assert outcome.stats["proxy"] == "http://***@proxy.test:8080"


async def test_a_seal_moved_to_another_proxy_does_not_open() -> None:
    stolen = replace(seal_for("http://proxy.test:8080"), address="http://evil.test:8080")
    for policy, ring in ((stolen, RING), (seal_for("http://proxy.test:8080"), Keyring().with_new())):
        outcome, inner = await execute(policy, Fetched(), ring)
        assert name_of(outcome) == "policy:proxy_sealed"
        assert inner.proxy is None
