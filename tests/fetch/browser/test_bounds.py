"""What a browser run may not do: go where we refuse, and load more than a page may hold once it is decoded."""

import gzip
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import playwright
import pytest
import pytest_asyncio

from corral.domain.runs.outcome import Failed, Fetched
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.launch_args import DISABLED_FEATURES, BrowserLimits
from corral.fetch.limits import MIB
from tests.fetch.browsing import a_task, open_browser
from tests.fetch.hostile import ROUTES, Hostile, Request
from tests.fetch.hostile_codings import gzip_blocks

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]
HTML = "Content-Type: text/html"
# The same rules with smaller numbers, so that a bomb need not be large.
LIMITS = BrowserLimits(max_content_bytes=2 * MIB, max_body_bytes=4 * MIB, max_decoded_bytes=12 * MIB)
BOMB = gzip_blocks(b"<p>" + b"a" * MIB, 64)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(den: Hostile) -> AsyncIterator[BrowserExecutor]:
    async with open_browser(den.port, limits=LIMITS) as executor:
        yield executor


def serve(monkeypatch: pytest.MonkeyPatch, path: str, body: bytes, *headers: str, status: str = "200 OK") -> None:
    async def route(request: Request) -> None:
        await request.answer(body, *headers, status=status)

    monkeypatch.setitem(ROUTES, path, route)


def a_page(script: str) -> bytes:
    return f"<!doctype html><title>t</title><h1>Title</h1><script>{script}</script>".encode()


# Where nothing is allowed, by address and by an address that our proxy cannot read.
FORBIDDEN = ["http://127.0.0.1:9/", "https://127.0.0.1:9/", "http://10.0.0.1/", "http://[::1]:9/", "http://a_b..c/"]


# A page that goes there by itself is refused by the same proxy: when there is little time, two of them do.
WAYS = [
    pytest.param(there, how, marks=pytest.mark.long if how != "redirect" and there in FORBIDDEN[1:-1] else ())
    for there in FORBIDDEN
    for how in ("redirect", "script", "refresh")
]


@pytest.mark.parametrize("there, how", WAYS)
async def test_a_refusal_of_ours_is_policy(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch, there: str, how: str
) -> None:
    if how == "redirect":
        serve(monkeypatch, "/away", b"", f"Location: {there}", status="302 Found")
    elif how == "script":
        serve(monkeypatch, "/away", a_page(f"location = '{there}'"), HTML)
    else:
        serve(monkeypatch, "/away", f'<meta http-equiv="refresh" content="0; url={there}">'.encode(), HTML)
    outcome = await browser.execute(a_task(den.url("/away"), "nothing"))
    assert isinstance(outcome, Failed)
    assert outcome.code == "policy"


PAGES = {
    "document": ("/bomb", b""),
    "frame": ("/start", b"<iframe src=/bomb></iframe>"),
    "script": ("/start", b"<script src=/bomb.js></script>"),
    "module": ("/start", b"<script type=module src=/bomb.js></script>"),
    "style": ("/start", b"<link rel=stylesheet href=/bomb.css>"),
    "call": ("/start", b"<script>fetch('/bomb').then(answer => answer.text())</script>"),
    "worker": ("/start", b"<script>new Worker('/worker.js')</script>"),
    "many": ("/start", b"<script>for (let i = 0; i < 9; i++) fetch('/large?' + i).then(a => a.text())</script>"),
}


@pytest.mark.parametrize("kind", PAGES)
async def test_a_body_that_grows_when_it_is_decoded_ends_the_run(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path, inside = PAGES[kind]
    packed = "Content-Encoding: gzip"
    serve(monkeypatch, "/start", b"<!doctype html><title>t</title><h1>Title</h1>" + inside, HTML)
    serve(monkeypatch, "/bomb", BOMB, HTML, packed)
    serve(monkeypatch, "/bomb.js", BOMB, "Content-Type: text/javascript", packed)
    serve(monkeypatch, "/bomb.css", BOMB, "Content-Type: text/css", packed)
    serve(monkeypatch, "/worker.js", b"fetch('/bomb').then(answer => answer.text())", "Content-Type: text/javascript")
    serve(monkeypatch, "/large", gzip.compress(b"a" * 3 * MIB), "Content-Type: text/plain", packed)
    outcome = await browser.execute(a_task(den.url(path), "nothing"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "body_too_large")
    assert outcome.stats["decoded_bytes"] < 40 * MIB


async def test_bodies_within_the_limits_are_loaded(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = b"//" + b"a" * 3 * MIB + b"\ndocument.querySelector('h1').textContent = 'Loaded'"
    serve(monkeypatch, "/fine", b"<title>t</title><h1>Title</h1><script src=/fine.js></script>", HTML)
    serve(monkeypatch, "/fine.js", zlib.compress(script), "Content-Type: text/javascript", "Content-Encoding: deflate")
    outcome = await browser.execute(a_task(den.url("/fine"), "h1"))
    assert isinstance(outcome, Fetched), outcome
    assert outcome.stats["http_status"] == 200


async def test_the_features_that_playwright_switches_off_stay_off() -> None:
    """Chromium takes the last list of features only, and that is ours."""
    driver = Path(playwright.__file__).parent / "driver" / "package" / "lib" / "coreBundle.js"
    text = driver.read_text()
    listed = text[text.index("disabledFeatures = [") :].partition("].filter(Boolean)")[0]
    lines = [line.strip().strip(',"') for line in listed.splitlines() if line.strip().startswith('"')]
    assert len(lines) > 5
    assert set(lines) <= set(DISABLED_FEATURES)
