"""Every spelling of a forbidden address, by every way a page has to ask for something. No canary may hear anything.

The canaries listen in a network where every address is this machine, so that what is dialled is heard wherever it
was to go, past our proxy too. Where the right to make such a network is missing they hear what leads to this machine;
what the proxy refused is counted in both.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import async_playwright

from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Failed, Fetched
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.launch_args import BrowserLimits, find_chromium
from corral.fetch.browser.visit import PageVisit
from tests.chaos.level import by_level
from tests.fetch.browsing import a_task, engine_of
from tests.fetch.ssrf_corpus import corpus, deal_out, for_pages, forbidden_v4, forbidden_v6
from tests.fetch.ssrf_page import WAYS
from tests.fetch.ssrf_world import LOADS, RecordingEgress, World, open_browser, open_world

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

GROUPS = {
    "scripts": tuple(WAYS)[:9],
    "documents": tuple(WAYS)[9:18],
    "frames": tuple(WAYS)[18:22],
    "past HTTP": tuple(WAYS)[22:],
}
# The rest of the corpus is dealt out to these, so that each of it is tried in some way.
CHEAP = (*GROUPS["scripts"], *GROUPS["documents"])
# What never gets as far as the proxy: resources nobody reads, and what the browser is started without.
WALLED_OFF = {"image", "font", "preconnect", "dns-prefetch", "stun", "transport", "service-worker"}
# The headless shell does nothing about these, with or without walls.
IDLE = {"preconnect", "dns-prefetch"}
TABS = 4
# On a busy machine some requests fail at the first try, because a page waits for a limited time.
TRIES = 3
# When there is little time each way gets a share of the addresses, another one than the way before it: each address is
# still tried by some way of the scripts or documents, which are more than the shares.
SHARES = {"scripts": 16, "documents": 16, "frames": 8, "past HTTP": 8}
ASKED = {
    "turn": by_level(2, 10)
}  # how many distinct addresses the proxy must have been asked for, to have been tried at all
MOSTLY = by_level(3, 20)
EVERYWHERE = ("127.0.0.1", "[::1]", "10.9.9.9", "169.254.169.254", "168.63.129.16", "[fd00:ec2::254]")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world() -> AsyncIterator[World]:
    async with open_world() as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def behind_walls(world: World) -> AsyncIterator[tuple[BrowserExecutor, RecordingEgress]]:
    async with open_browser(f"127.0.0.1/32:{world.den.port}") as made:
        yield made


async def test_every_way_is_in_a_group() -> None:
    assert [way for ways in GROUPS.values() for way in ways] == [*WAYS]


async def read_report(browser: BrowserExecutor, world: World) -> dict[str, Any]:
    """What the page says it did, by way."""
    outcome = await browser.execute(a_task(world.den.url("/many"), "done", timeout_s=110))
    assert isinstance(outcome, Fetched), outcome
    return dict(json.loads(outcome.records[0]["done"]))


@pytest.mark.parametrize("group", GROUPS)
async def test_no_way_out_of_a_page_reaches_a_forbidden_address(
    world: World,
    behind_walls: tuple[BrowserExecutor, RecordingEgress],
    group: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser, egress = behind_walls
    share_of = by_level(SHARES[group], 1)
    urls: dict[str, list[str]] = {}
    for way in GROUPS[group]:
        port = world.port(way)
        share = deal_out(port, CHEAP.index(way), len(CHEAP)) if way in CHEAP else ()
        every = [*for_pages(port, few=group == "frames"), *share]
        urls[way] = every[[*WAYS].index(way) % share_of :: share_of]
    world.serve_urls(monkeypatch, urls)
    told = await read_report(browser, world)
    assert world.silent(GROUPS[group])
    for way in GROUPS[group]:
        assert told[way]["given"] == len(urls[way]) >= 1000 // share_of
        assert told[way]["tried"] == told[way]["asked"], (way, told[way])
        refused = egress.refused[world.port(way)]
        assert len(refused) == 0 if way in WALLED_OFF else len(refused) >= ASKED.get(way, MOSTLY), (way, len(refused))
        assert egress.allowed[world.port(way)] == set()
    assert not any(b"leak" in name for name in world.names)


async def test_no_page_is_loaded_from_a_forbidden_address(
    world: World, behind_walls: tuple[BrowserExecutor, RecordingEgress]
) -> None:
    """As written, and after a redirect; in tabs that go from one to the next, as fast as they can."""
    browser, egress = behind_walls
    await browser.execute(a_task(world.den.url("/page"), "title"))  # it is started by then
    ports = {way: world.port(way) for way in LOADS}
    given = {way: for_pages(port, few=True) for way, port in ports.items()}
    # When there is little time one half is loaded as written, and the other half after a redirect.
    step = by_level(2, 1)
    left = distinct(given["top"])[::step]
    left += [
        world.den.url(f"/redirect?{quote(url, safe='')}") for url in distinct(given["top-redirect"])[step - 1 :: step]
    ]
    async with asyncio.TaskGroup() as group:
        for _ in range(TABS):
            group.create_task(load_in_tab(browser, left))
    assert world.silent(LOADS)
    for way, port in ports.items():
        assert len(given[way]) >= 1000
        assert len(egress.refused[port]) >= MOSTLY
        assert egress.allowed[port] == set()


def distinct(urls: tuple[str, ...]) -> list[str]:
    """As our own parser reads them: what it refuses never gets to a browser."""
    return list({parse_target(url).url: url for url in urls if is_readable(url)}.values())


async def load_in_tab(browser: BrowserExecutor, left: list[str]) -> None:
    """A tab of a run's own, which takes one after the other."""
    engine, proxy = engine_of(browser), browser.renderer._proxy
    visit, granted = PageVisit(engine, BrowserLimits(max_navigations=1_000_000)), proxy.admit()
    try:
        await visit.open(proxy.address, granted, "t")
        while left:
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await visit.load(left.pop())
    finally:
        visit.finish()
        proxy.revoke(granted)
        assert visit.opening is not None
        await engine.dismiss(visit.opening)


async def test_the_canaries_hear_every_way_where_there_are_no_walls(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the above would say nothing: the same page, in the same Chromium, started as anybody would."""
    addresses = EVERYWHERE if world.is_everywhere else EVERYWHERE[:2]
    world.forget()
    hosts = (*addresses, "leak.example")
    world.serve_urls(monkeypatch, {way: [f"http://{host}:{world.port(way)}/" for host in hosts] for way in WAYS})
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=find_chromium(), chromium_sandbox=False)
        tab = await chromium.new_page()
        reached: dict[str, int] = {}
        for _ in range(TRIES):
            await tab.goto(world.den.url("/many"))
            await tab.wait_for_function("document.getElementById('done').textContent", timeout=30_000)
            reached = {way: max(world.heard[way].connections, world.datagrams[way]) for way in WAYS}
            if {way for way, count in reached.items() if count == 0} <= IDLE:
                break
        await chromium.close()
    assert {way for way, count in reached.items() if count == 0} <= IDLE, reached
    assert {way for way, count in reached.items() if count < len(addresses)} <= {*IDLE, *GROUPS["past HTTP"]}, reached
    assert not world.is_everywhere or world.names, "nobody asked for a name"


async def test_a_page_asks_in_every_way_where_it_is_allowed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walls are for what is forbidden: what a run may reach it reaches, but by the ways no run needs."""
    world.forget()
    world.serve_urls(monkeypatch, {way: [f"http://127.0.0.1:{world.port(way)}/"] for way in WAYS})
    heard: set[str] = set()
    async with open_browser("127.0.0.1/32:*") as (browser, _):
        for _ in range(TRIES):
            await read_report(browser, world)
            heard = {way for way in WAYS if not world.silent((way,))}
            if heard >= {*WAYS} - WALLED_OFF:
                break
    assert heard == {*WAYS} - WALLED_OFF


async def test_no_target_of_a_run_is_a_forbidden_address(
    world: World, behind_walls: tuple[BrowserExecutor, RecordingEgress]
) -> None:
    """What cannot be read as a URL never gets to the browser; of the rest, one of each address."""
    browser, _ = behind_walls
    port = world.port("top")
    addresses = {f"http://{ip}:{port}/" for ip in forbidden_v4()[:40:4]}
    addresses |= {f"http://[{ip}]:{port}/" for ip in forbidden_v6()[:20:4]}
    for url in corpus(port):
        if is_readable(url) and url not in addresses:
            continue
        outcome = await browser.execute(a_task(url, "title"))
        assert isinstance(outcome, Failed), url
        assert outcome.code == "policy", (url, outcome)


def is_readable(url: str) -> bool:
    try:
        parse_target(url)
    except BadInput:
        return False
    return True
