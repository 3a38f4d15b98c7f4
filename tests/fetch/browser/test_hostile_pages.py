"""A page that keeps its browser busy ends in time, and the next one does not suffer for it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from corral.domain.runs.outcome import Fetched
from corral.fetch.parsing.messages import ReaderLimits
from tests.chaos.level import LEVEL, by_level
from tests.fetch.arena import EXECUTORS, Arena, arena_with, name_of
from tests.fetch.browsing import engine_of, serve
from tests.fetch.hostile import ROUTES
from tests.fetch.hostile_pages import stream_body
from tests.slack import SLACK
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arena() -> AsyncIterator[Arena]:
    # A page that is read takes half of it.
    async with arena_with(reader_limits=ReaderLimits(cpu_s=by_level(3, 5))) as made:
        await made.run("browser", made.den.url("/page"), "title", timeout_s=30)
        yield made


# Too much to read, or nearly. What a browser makes of them depends on how fast it is.
LARGE = [
    ("/large/links", "fetched"),
    ("/large/deep", "limit:parse"),
    ("/large/deep-hidden", "limit:parse"),
    ("/large/attributes", "limit:parse"),
    ("/large/text", "fetched"),
    ("/large/comments", "fetched"),
    ("/large/entities", "fetched"),
    ("/large/tables", "limit:parse"),
    ("/large/formatting", "limit:parse"),
    ("/large/million-links", "limit:body_too_large"),
    ("/charset/marks", "fetched"),
]
# In a browser most of them take all the time they are given; a few will do when there is little time.
FEW = frozenset({"/large/links", "/large/deep", "/large/attributes", "/charset/marks"})
BY_BROWSER = {"fetched", "limit:parse", "limit:body_too_large", "limit:browser", "timeout:browser"}


@pytest.mark.parametrize(
    "path, by_http, executor",
    [(*page, executor) for page in LARGE for executor in EXECUTORS if LEVEL or executor == "http" or page[0] in FEW],
)
async def test_a_page_that_is_too_much_to_read_ends_in_time(
    arena: Arena, path: str, by_http: str, executor: str
) -> None:
    # Without a browser its reader's limit of processor time ends it, which takes longer the busier the machine is.
    timeout_s = 15 * SLACK if executor == "http" else 3
    outcome = await arena.run(executor, arena.den.url(path), "title", timeout_s=timeout_s)
    if name_of(outcome) == "timeout:first_byte":  # on a busy machine, until the server has made it for the first time
        outcome = await arena.run(executor, arena.den.url(path), "title", timeout_s=timeout_s)
    if executor == "http":
        assert name_of(outcome) == by_http, outcome
    else:
        assert name_of(outcome) in BY_BROWSER, outcome
    assert arena.took_s < timeout_s + SLACK
    after = await arena.run(executor, arena.den.url("/page"), "title", timeout_s=30)
    assert isinstance(after, Fetched), "the next page does not suffer for it"


BUSY = {
    "popups": "for (let i = 0; i < 10000; i++) open('/page')",
    "navigation": "location = '/busy?' + Math.random()",
    "dialogs": "onbeforeunload = () => 'stay'; for (;;) { alert(1); confirm(2); prompt(3); }",
    "loop": "for (;;) {}",
    "history": "for (;;) history.pushState(0, '', '?' + Math.random())",
    "memory": "const a = []; for (;;) a.push(new Uint8Array(5e7).fill(1))",
    "writes": "setInterval(() => document.write('<p>' + 'x'.repeat(1e6)), 1)",
    "requests": "for (let i = 0; i < 20000; i++) fetch('/page?' + i)",
    "workers": f"for (let i = 0; i < {by_level(50, 500)}; i++) "
    "new Worker(URL.createObjectURL(new Blob(['for (;;) {}'])))",
    "frames": "for (let i = 0; i < 2000; i++) document.documentElement.append(document.createElement('iframe'))",
}
ENDS = {"timeout:browser", "limit:browser", "limit:body_too_large", "unknown:browser_crash", "fetched"}


@pytest.mark.parametrize("what", BUSY if LEVEL else ("popups", "dialogs", "loop", "writes", "workers"))
async def test_a_page_that_keeps_its_browser_busy_ends_in_time(
    arena: Arena, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/busy", f"<title>Busy</title><script>{BUSY[what]}</script>")
    timeout_s = by_level(2, 3)
    outcome = await arena.run("browser", arena.den.url("/busy"), "never", timeout_s=timeout_s)
    assert name_of(outcome) in ENDS, outcome
    assert arena.took_s < (timeout_s + 1) * SLACK
    # A page that does not close in time ends its browser, and with it those that came meanwhile: they run again.
    engine = engine_of(arena.browser)
    await until(lambda: not engine.active)
    after = await arena.run("browser", arena.den.url("/page"), "title", timeout_s=30)
    assert isinstance(after, Fetched), after


async def test_a_download_without_an_end_is_refused_at_once(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Disposition: attachment\r\n\r\n"
    monkeypatch.setitem(ROUTES, "/download", stream_body(head, b"x" * 65536, 160_000))
    outcome = await arena.run("browser", arena.den.url("/download"), "title", timeout_s=10)
    assert name_of(outcome) == "limit:browser"
    assert arena.took_s < 5 * SLACK
