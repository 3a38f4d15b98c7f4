"""Where a page must not get to, whatever it tries. The canaries listen on forbidden ports and must hear nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from corral.domain.runs.outcome import Failed, Fetched
from corral.fetch.browser.executor import BrowserExecutor
from tests.fetch.browsing import a_task, open_browser, serve
from tests.fetch.hostile import ROUTES, Hostile, hostile_server, redirect_to

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

TRIES = """<title>Tries</title><p id=done></p>
<link rel=stylesheet href="HTTP/style.css"><link rel=dns-prefetch href="//leak.invalid">
<link rel=preconnect href="HTTP"><link rel=prefetch href="HTTP/prefetch"><link rel=preload as=script href="HTTP/pre.js">
<img src="HTTP/image.png"><script src="HTTP/script.js"></script><iframe src="HTTP/frame"></iframe>
<iframe src="file:///etc/passwd" id=local></iframe><object data="HTTP/object"></object><embed src="HTTP/embed">
<form id=form method=post action="HTTP/form" target=there><input name=a></form><iframe name=there></iframe>
<video src="HTTP/video"></video><a id=link href="HTTP/link" ping="HTTP/ping" target=_blank>x</a>
<script type=module>
const wait = (ms) => new Promise((then) => setTimeout(then, ms));
const tries = [
  () => fetch("HTTP/fetch", {mode: "no-cors"}),
  () => fetch("http://[::1]:PORT/six", {mode: "no-cors"}),
  () => fetch("http://localhost:PORT/name", {mode: "no-cors"}),
  () => fetch("http://169.254.169.254/latest/meta-data/", {mode: "no-cors"}),
  () => fetch("file:///etc/passwd").then((r) => r.text()).then((t) => { document.title = t; }),
  () => new Promise((then) => { const s = new WebSocket("ws://127.0.0.1:PORT/ws"); s.onerror = s.onopen = then; }),
  () => new Promise((then) => { const e = new EventSource("HTTP/events"); e.onerror = then; }),
  () => navigator.sendBeacon("HTTP/beacon", "x"),
  () => new Worker(URL.createObjectURL(new Blob(["fetch('HTTP/worker', {mode: 'no-cors'})"]))),
  () => navigator.serviceWorker.register("/worker.js"),
  () => import("HTTP/module.js"),
  () => window.open("HTTP/popup"),
  () => document.getElementById("form").submit(),
  () => document.getElementById("link").click(),
  async () => { const t = new WebTransport("https://127.0.0.1:UDP/"); await t.ready; },
  async () => {
    const turn = {urls: "turn:127.0.0.1:PORT?transport=tcp", username: "a", credential: "b"};
    const peer = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:UDP"}, turn]});
    peer.createDataChannel("x");
    await peer.setLocalDescription(await peer.createOffer());
  },
];
for (const each of tries) await Promise.race([Promise.resolve().then(each).catch(() => 0), wait(400)]);
await wait(300);
document.getElementById("done").textContent = "tried";
</script>"""


class Datagrams(asyncio.DatagramProtocol):
    count = 0

    def datagram_received(self, data: bytes, addr: object) -> None:
        self.count += 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def canary() -> AsyncIterator[Hostile]:
    async with hostile_server() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(den: Hostile) -> AsyncIterator[BrowserExecutor]:
    async with open_browser(den.port) as executor:
        yield executor


async def test_no_way_out_of_a_page_leads_to_a_forbidden_address(
    browser: BrowserExecutor, den: Hostile, canary: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport, datagrams = await asyncio.get_running_loop().create_datagram_endpoint(
        Datagrams, local_addr=("127.0.0.1", 0)
    )
    udp_port = transport.get_extra_info("sockname")[1]
    page = TRIES.replace("HTTP", f"http://127.0.0.1:{canary.port}").replace("PORT", str(canary.port))
    serve(monkeypatch, "/tries", page.replace("UDP", str(udp_port)))
    worker = f"self.addEventListener('install', () => fetch('{canary.url('/sw')}', {{mode: 'no-cors'}}))"
    serve(monkeypatch, "/worker.js", worker, "Content-Type: text/javascript")
    try:
        outcome = await browser.execute(a_task(den.url("/tries"), "done", "title", timeout_s=30))
    finally:
        transport.close()
    assert isinstance(outcome, Fetched), outcome
    assert outcome.records == ({"done": "tried", "title": "Tries"},)
    assert f"127.0.0.1:{canary.port}" in outcome.stats["refused"]
    assert "169.254.169.254:80" in outcome.stats["refused"]
    assert canary.connections == 0
    assert datagrams.count == 0
    assert den.count_requests("/worker.js") == 0


@pytest.mark.parametrize(
    "how",
    [
        "redirect",
        "meta",
        "script",
        "https",
    ],
)
async def test_a_page_that_leads_to_a_forbidden_address_is_refused(
    browser: BrowserExecutor, den: Hostile, canary: Hostile, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    forbidden = canary.url("/secret")
    if how == "redirect":
        monkeypatch.setitem(ROUTES, "/leads", redirect_to(forbidden.encode()))
    elif how == "meta":
        serve(monkeypatch, "/leads", f"<title>x</title><meta http-equiv=refresh content='0;url={forbidden}'>")
    else:
        to = forbidden.replace("http:", f"{how}:") if how == "https" else forbidden
        serve(monkeypatch, "/leads", f"<title>x</title><script>location = '{to}'</script>")
    outcome = await browser.execute(a_task(den.url("/leads"), "title"))
    assert isinstance(outcome, Failed), outcome
    assert (outcome.code, outcome.detail) == ("policy", "egress")
    assert canary.connections == 0


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:PORT/", "https://127.0.0.1:PORT/", "http://localhost:PORT/", "http://169.254.169.254/"]
)
async def test_a_forbidden_target_is_refused(browser: BrowserExecutor, canary: Hostile, url: str) -> None:
    outcome = await browser.execute(a_task(url.replace("PORT", str(canary.port)), "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("policy", "egress")
    assert canary.connections == 0


async def test_a_trusted_host_may_be_reached(browser: BrowserExecutor) -> None:
    async with hostile_server() as private:
        outcome = await browser.execute(a_task(private.url(), "title", trusted_hosts=[f"127.0.0.1:{private.port}"]))
        assert isinstance(outcome, Fetched)
        assert isinstance(await browser.execute(a_task(private.url(), "title")), Failed)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "view-source:file:///etc/passwd",
        "chrome://version",
        "data:text/html,x",
        "blob:http://127.0.0.1/x",
        "about:blank",
        "javascript:alert(1)",
        "ftp://127.0.0.1/",
    ],
)
async def test_only_http_is_opened(browser: BrowserExecutor, url: str) -> None:
    outcome = await browser.execute(a_task(url, "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("policy", "scheme")


async def test_no_page_gets_hold_of_a_local_file(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    frame = "<title>x</title><iframe id=f src=file:///etc/passwd></iframe><p id=seen></p>"
    frame += "<script>onload = () => { try { seen.textContent = f.contentDocument.body.innerText } catch {} }</script>"
    serve(monkeypatch, "/frame", frame)
    serve(monkeypatch, "/goes", "<title>x</title><script>location = 'file:///etc/passwd'</script>")
    serve(monkeypatch, "/blob", "<title>x</title><script>location = URL.createObjectURL(new Blob(['y']))</script>")
    for path in ("/frame", "/goes", "/blob"):
        outcome = await browser.execute(a_task(den.url(path), "seen", "text"))
        assert secret not in str(outcome)
    redirected = await browser.execute(a_task(den.url("/to-file"), "text"))
    assert isinstance(redirected, Failed)
    assert (redirected.code, redirected.detail) == ("policy", "scheme")


async def test_dialogs_do_not_stop_a_page(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "alert(1); confirm(2); prompt(3); print(); onbeforeunload = () => 'stay'; said.textContent = 'through'"
    serve(monkeypatch, "/dialogs", f"<title>x</title><p id=said></p><script>{script}</script>")
    outcome = await browser.execute(a_task(den.url("/dialogs"), "said"))
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({"said": "through"},)


async def test_popups_are_closed_and_a_flood_of_them_ends_the_run(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/popups", "<title>Popups</title><script>for (let i = 0; i < 3; i++) open('/page')</script>")
    assert isinstance(await browser.execute(a_task(den.url("/popups"), "title")), Fetched)
    flood = "<title>Flood</title><script>fetch('/silent'); setInterval(() => open('/page'), 5)</script>"
    serve(monkeypatch, "/flood", flood)
    outcome = await browser.execute(a_task(den.url("/flood"), "never"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "browser")


async def test_endless_navigation_ends_the_run(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/again", "<title>x</title><script>location = '/again?' + Math.random()</script>")
    outcome = await browser.execute(a_task(den.url("/again"), "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "browser")


async def test_downloads_are_refused(browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "/file", "x" * 1000, "Content-Type: application/zip", "Content-Disposition: attachment")
    outcome = await browser.execute(a_task(den.url("/file"), "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "browser")
    serve(monkeypatch, "/offers", "<title>Offers</title><a id=a href=/file download>x</a><script>a.click()</script>")
    assert isinstance(await browser.execute(a_task(den.url("/offers"), "title")), Fetched)
