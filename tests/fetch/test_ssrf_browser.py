"""Every spelling of a forbidden address, by every way a page has to ask for something. No canary may hear anything."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from corral.domain.errors import BadInput
from corral.domain.outcome import Failed, Fetched, Outcome
from corral.domain.url import parse_target
from corral.fetch.browser import BrowserExecutor
from corral.fetch.forward_proxy import ProxyLimits
from tests.fetch.browsing import a_task, browsing, serve
from tests.fetch.hostile import Hostile, hostile_server
from tests.fetch.ssrf_corpus import NAMES, corpus, forbidden_v4, forbidden_v6, spellings_v4, wrapped_v4
from tests.fetch.test_ssrf import canary

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

MANY = ProxyLimits(max_run_requests=1_000_000)
# How many of each are under way at once; frames are the dearest.
WAYS = {
    "fetch": "(u) => fetch(u, {mode: 'no-cors'})",
    "redirect": "(u) => fetch('/redirect?' + encodeURIComponent(u), {mode: 'no-cors'})",
    "script": "(u) => placed('script', {src: u})",
    "style": "(u) => placed('link', {rel: 'stylesheet', href: u})",
    "frame": "(u) => placed('iframe', {src: u})",
    "frame-redirect": "(u) => placed('iframe', {src: '/redirect?' + encodeURIComponent(u)})",
    "socket": "(u) => opened(new WebSocket(u.replace(/^http/i, 'ws')))",
    "events": "(u) => opened(new EventSource(u))",
    "beacon": "(u) => navigator.sendBeacon(u, 'x')",
    "image": "(u) => placed('img', {src: u})",
    "preload": "(u) => placed('link', {rel: 'preload', as: 'fetch', href: u})",
    "worker": "(u) => asked(u)",
}
PAGE = """<title>x</title><p id=done></p><script type=module>
const wait = (ms) => new Promise((then) => setTimeout(then, ms));
const settled = (thing, ...names) => new Promise((then) => names.forEach((name) => thing.addEventListener(name, then)));
const opened = (thing) => settled(thing, "open", "error").then(() => thing.close());
const placed = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  const loaded = settled(element, "load", "error");
  document.body.append(element);
  return loaded.then(() => element.remove());
};
const worker = new Worker(URL.createObjectURL(new Blob([
  "onmessage = (e) => fetch(e.data, {mode: 'no-cors'}).catch(() => 0).then(() => postMessage(e.data))"
])));
const asked = (u) => new Promise((then) => {
  const heard = (e) => { if (e.data === u) { worker.removeEventListener("message", heard); then(); } };
  worker.addEventListener("message", heard);
  worker.postMessage(u);
});
const holding = new AbortController(); // a page that waits for nothing is taken as it is
fetch("/silent", {signal: holding.signal}).catch(() => 0);
const way = WAY;
const urls = URLS;
let tried = 0;
const work = async () => {
  for (let u; (u = urls.pop()) !== undefined; tried++) {
    await Promise.race([Promise.resolve().then(() => way(u)).catch(() => 0), wait(1000)]);
  }
};
await Promise.all(Array.from({length: 24}, work));
await wait(100);
document.getElementById("done").textContent = tried;
holding.abort();
</script>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def den() -> AsyncIterator[Hostile]:
    async with hostile_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(den: Hostile) -> AsyncIterator[BrowserExecutor]:
    async with browsing(den.port, proxy_limits=MANY) as executor:
        yield executor


def share_of(way: str, port: int) -> list[str]:
    """All that leads to this machine by every way; the rest of the corpus is dealt out, few of it to frames."""
    urls = [url for url in corpus(port) if not url.lower().startswith(("javascript:", "data:", "about:"))]
    here = {f"http://{host}:{port}/" for host in (*spellings_v4("127.0.0.1"), *wrapped_v4("127.0.0.1"), *NAMES)}
    cheap = [name for name in WAYS if "frame" not in name]
    first, step = (cheap.index(way), len(cheap)) if way in cheap else (len(way), 30)
    return [url for number, url in enumerate(urls) if url in here or number % step == first % step]


async def tried(browser: BrowserExecutor, den: Hostile, way: str, urls: list[str]) -> Outcome:
    """A page that asks for all of them this way."""
    with pytest.MonkeyPatch.context() as patch:
        serve(patch, "/many", PAGE.replace("WAY", WAYS[way]).replace("URLS", json.dumps(urls)))
        return await browser.execute(a_task(den.url("/many"), "done", timeout_s=110))


@pytest.mark.parametrize("way", WAYS)
async def test_no_way_out_of_a_page_reaches_a_forbidden_address(
    browser: BrowserExecutor, den: Hostile, way: str
) -> None:
    async with canary() as heard:
        urls = share_of(way, heard.port)
        outcome = await tried(browser, den, way, urls)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"done": str(len(urls))},)
    assert heard.connections == 0


async def test_the_canary_hears_every_way_where_it_is_allowed(den: Hostile) -> None:
    """Otherwise the above would say nothing. Pictures are not asked for at all."""
    async with canary() as heard, browsing(den.port, heard.port, proxy_limits=MANY) as free:
        for way in WAYS:
            outcome = await tried(free, den, way, [f"http://127.0.0.1:{heard.port}/{way}"])
            assert isinstance(outcome, Fetched), outcome
    arrived = {head.split(" ")[1].strip("/") for head in heard.heads}
    assert arrived == {*WAYS} - {"image"}


async def test_no_target_of_a_run_is_a_forbidden_address(browser: BrowserExecutor) -> None:
    """What cannot be read as a URL never gets to the browser; of the rest, one of each address."""
    async with canary() as heard:
        addresses = {f"http://{ip}:{heard.port}/" for ip in forbidden_v4()[:40:4]}
        addresses |= {f"http://[{ip}]:{heard.port}/" for ip in forbidden_v6()[:20:4]}
        for url in corpus(heard.port):
            if is_readable(url) and url not in addresses:
                continue
            outcome = await browser.execute(a_task(url, "title"))
            assert isinstance(outcome, Failed), url
            assert outcome.code == "policy", (url, outcome)
    assert heard.connections == 0


def is_readable(url: str) -> bool:
    try:
        parse_target(url)
    except BadInput:
        return False
    return True
