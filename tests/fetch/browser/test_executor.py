import asyncio
import os
import time
from typing import Any

import psutil
import pytest

from corral.demo import RunningSite
from corral.domain.runs.outcome import Failed, Fetched
from corral.fetch.browser import engine as browser_engine
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.faults import fault_of_net_error
from corral.fetch.browser.launch_args import (
    CHROMIUM_ARGS,
    DISABLED_FEATURES,
    FORBIDDEN_VARIABLE,
    UNWANTED_ARGS,
    find_chromium,
)
from corral.fetch.http import HttpExecutor
from corral.fetch.proxy.passes import ProxyLimits
from corral.fetch.robots import Robots
from tests.chaos.level import by_level
from tests.fetch.browsing import a_task, engine_of, open_browser, serve
from tests.fetch.hostile import Hostile
from tests.slack import SLACK
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]


async def test_a_page_filled_by_script_gives_what_plain_http_misses(
    browser: BrowserExecutor, site: RunningSite
) -> None:
    task = a_task(f"{site.url}/shop/1", "name", "price")
    egress = browser._egress
    plain = await HttpExecutor(egress, Robots(egress, "corral-test")).execute(task)
    assert isinstance(plain, Fetched)
    assert plain.missing == ("name", "price")

    outcome = await browser.execute(task)
    assert isinstance(outcome, Fetched), outcome
    assert outcome.missing == ()
    [record] = outcome.records
    assert record["price"].endswith("EUR")
    stats = outcome.stats
    assert stats["title"] == record["name"]
    assert (stats["http_status"], stats["content_type"], stats["browser"]) == (200, "text/html", "chromium")
    assert stats["final_url"] == f"{site.url}/shop/1"
    assert stats["cost"] == 100
    assert stats["content_length"] > 500
    assert stats["bytes"] > stats["content_length"]
    assert stats["requests"] == 4
    assert set(stats["timings"]) == {"ready_ms", "open_ms", "load_ms", "total_ms"}


async def test_a_field_that_never_comes_is_missing_once_the_page_is_quiet(
    browser: BrowserExecutor, site: RunningSite
) -> None:
    started = time.monotonic()
    outcome = await browser.execute(a_task(f"{site.url}/articles", "title", "warranty"))
    assert isinstance(outcome, Fetched)
    assert outcome.missing == ("warranty",)
    assert time.monotonic() - started < 8 * SLACK


@pytest.mark.parametrize(
    "path, code, detail",
    [
        ("/blocked", "blocked", "http_403"),
        ("/unauthorized", "blocked", "http_401"),
        ("/missing", "bad_response", "http_404"),
        ("/broken", "bad_response", "http_500"),
        ("/limited?key=b&retry_after=7", "rate_limited", "http_429"),
        ("/redirect-loop", "limit", "redirects"),
        ("/reset", "network", "incomplete"),
    ],
)
async def test_a_bad_answer_is_classified(
    browser: BrowserExecutor, site: RunningSite, path: str, code: str, detail: str
) -> None:
    outcome = await browser.execute(a_task(site.url + path, "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == (code, detail)
    if detail == "http_429":
        assert outcome.retry_after == "7"
    if detail.startswith("http_"):
        assert outcome.stats["title"]


async def test_a_failed_handshake_is_told_apart(browser: BrowserExecutor, site: RunningSite) -> None:
    outcome = await browser.execute(a_task(site.url.replace("http:", "https:")))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("network", "tls")


async def test_redirects_are_followed_and_counted(browser: BrowserExecutor, site: RunningSite) -> None:
    outcome = await browser.execute(a_task(f"{site.url}/redirect?n=3", "title"))
    assert isinstance(outcome, Fetched)
    assert (outcome.stats["redirects"], outcome.stats["final_url"]) == (3, f"{site.url}/articles")


async def test_a_page_that_is_slow_ends_with_the_budget(browser: BrowserExecutor, site: RunningSite) -> None:
    await browser.execute(a_task(f"{site.url}/empty"))
    started = time.monotonic()
    outcome = await browser.execute(a_task(f"{site.url}/slow?seconds=30", timeout_s=1.5))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("timeout", "browser")
    assert time.monotonic() - started < (1.5 + 1) * SLACK


async def test_robots_are_respected_unless_the_job_says_otherwise(browser: BrowserExecutor, site: RunningSite) -> None:
    url = f"{site.url}/private/secret"
    refused = await browser.execute(a_task(url, "title", respect_robots=True))
    assert isinstance(refused, Failed)
    assert (refused.code, refused.detail) == ("policy", "robots")
    assert isinstance(await browser.execute(a_task(url, "title")), Fetched)


async def test_images_and_media_are_not_asked_for(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/rich", "<title>Rich</title><img src=/picture.png><video src=/film.mp4 autoplay></video>")
    # Several at once: what blocks them has to be there before the page is.
    outcomes = await asyncio.gather(*[browser.execute(a_task(den.url("/rich"), "title")) for _ in range(12)])
    assert all(isinstance(outcome, Fetched) for outcome in outcomes)
    assert den.count_requests("/picture.png") == den.count_requests("/film.mp4") == 0


async def test_a_page_that_draws_itself_frame_by_frame_is_read_when_it_is_drawn(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chromium can be told to make no frames: a page is then a tenth cheaper, and what waits for one waits for ever."""
    script = "<title>x</title><style>#box{width:1px;transition:width 20ms}</style><p id=drawn></p><div id=box>.</div>"
    script += "<script>const frame = () => new Promise(requestAnimationFrame);(async () => {"
    script += "for (let n = 0; n < 5; n++) await frame();"
    script += "await new Promise(seen => new IntersectionObserver(([e]) => e.isIntersecting && seen()).observe(box));"
    script += "await new Promise(over => { box.ontransitionend = over; box.style.width = '9px' });"
    script += "drawn.textContent = 'all of it' })()</script>"
    serve(monkeypatch, "/frames", script)
    outcome = await browser.execute(a_task(den.url("/frames"), "drawn"))
    assert isinstance(outcome, Fetched)
    assert outcome.records == ({"drawn": "all of it"},)


async def test_nothing_is_carried_from_one_run_to_the_next(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "<title>x</title><p id=found></p><script>found.textContent = 'cookie:' + document.cookie + ' store:' + "
    script += "localStorage.length; document.cookie = 'a=1'; localStorage.a = 1</script>"
    serve(monkeypatch, "/cookie", script)
    for _ in range(2):
        outcome = await browser.execute(a_task(den.url("/cookie"), "found"))
        assert isinstance(outcome, Fetched)
        assert outcome.records == ({"found": "cookie: store:0"},)


async def test_a_target_never_sees_the_proxy_credentials(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    den.heads.clear()
    serve(monkeypatch, "/login", "no", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")
    outcome = await browser.execute(a_task(den.url("/login")))
    assert isinstance(outcome, Failed)
    assert outcome.detail == "http_401"
    assert den.heads
    assert not [head for head in den.heads if "authorization" in head.lower() or "proxy" in head.lower()]


async def test_a_page_says_who_is_asking(browser: BrowserExecutor, den: Hostile) -> None:
    den.heads.clear()
    await browser.execute(a_task(den.url("/page"), "title"))
    assert "Chrome/" in den.heads[0]
    assert "corral-test" in den.heads[0]


async def test_a_page_may_grow_only_so_large(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "<title>x</title><pre id=p hidden></pre><script>p.textContent = 'x'.repeat(11e6)</script>"
    serve(monkeypatch, "/grows", page)
    outcome = await browser.execute(a_task(den.url("/grows"), "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "body_too_large")
    announced = await browser.execute(a_task(den.url("/announces-10gb"), "title"))
    assert isinstance(announced, Failed)
    assert announced.code == "limit"


async def test_an_empty_answer_is_an_answer(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/nothing", "", status="204 No Content")
    outcome = await browser.execute(a_task(den.url("/nothing"), "title"))
    assert isinstance(outcome, Fetched)
    assert (outcome.records, outcome.missing) == (({"title": None},), ("title",))


async def test_a_page_that_sends_its_reader_on_is_followed(
    browser: BrowserExecutor, den: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/by-script", "<title>Wait</title><script>location = '/page'</script>")
    serve(monkeypatch, "/by-meta", "<title>Wait</title><meta http-equiv=refresh content='0;url=/page'>")
    for path in ("/by-script", "/by-meta"):
        outcome = await browser.execute(a_task(den.url(path), "title"))
        assert isinstance(outcome, Fetched)
        assert outcome.records == ({"title": "A page"},), path


async def test_a_cancelled_run_leaves_nothing_open(browser: BrowserExecutor, site: RunningSite) -> None:
    await browser.execute(a_task(f"{site.url}/empty"))
    engine = engine_of(browser)
    for pause_s in (0.0, 0.02, 0.08, 0.5):
        run = asyncio.create_task(browser.execute(a_task(f"{site.url}/slow?seconds=30")))
        await asyncio.sleep(pause_s)
        run.cancel()
        started = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert time.monotonic() - started < 0.5 * SLACK
    await until(lambda: not engine.browser.contexts and not engine.active, within_s=5)
    assert engine_of(browser) is engine


async def test_many_pages_leave_no_trace(browser: BrowserExecutor, site: RunningSite) -> None:
    await browser.execute(a_task(f"{site.url}/empty"))
    engine = engine_of(browser)
    await until(lambda: not engine.browser.contexts, within_s=5)
    before = len(engine._sizes())
    for start in range(0, by_level(12, 20), 4):
        tasks = [a_task(f"{site.url}/shop/{number + 1}", "name") for number in range(start, start + 4)]
        outcomes = await asyncio.gather(*[browser.execute(task) for task in tasks])
        assert [type(outcome) for outcome in outcomes] == [Fetched] * 4
    await until(lambda: not engine.browser.contexts, within_s=5)
    await until(lambda: len(engine._sizes()) <= before + 1, within_s=5)
    assert engine_of(browser) is engine
    assert sum(engine._sizes().values()) < 500 * 1024 * 1024


async def test_a_run_may_use_only_so_many_bytes(site: RunningSite) -> None:
    async with open_browser(site.port, proxy_limits=ProxyLimits(max_run_bytes=300_000)) as small:
        outcome = await small.execute(a_task(f"{site.url}/large?bytes=2000000", "title"))
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.detail) == ("limit", "browser")


async def test_without_a_chromium_it_says_what_to_install(site: RunningSite, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_browser(site.port) as executor:
        monkeypatch.setattr(browser_engine, "find_chromium", lambda _own: None)
        outcome = await executor.execute(a_task(site.url))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("policy", "strategy_unavailable")
    assert "chromium-headless-shell" in outcome.message
    assert "playwright install chromium" in outcome.message


async def test_it_does_not_start_where_loopback_would_go_around_the_proxy(
    site: RunningSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FORBIDDEN_VARIABLE, "1")
    async with open_browser(site.port) as executor:
        outcome = await executor.execute(a_task(site.url))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("policy", "strategy_unavailable")


async def test_the_arguments_are_these() -> None:
    assert (
        "--disable-background-networking",
        "--disable-breakpad",
        "--disable-client-side-phishing-detection",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        f"--disable-features={','.join(DISABLED_FEATURES)}",
        "--disable-gpu",
        "--disable-notifications",
        "--disable-print-preview",
        "--disable-quic",
        "--disable-remote-fonts",
        "--disable-speech-api",
        "--disable-sync",
        "--dns-prefetch-disable",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        "--metrics-recording-only",
        "--mute-audio",
        "--no-default-browser-check",
        "--no-first-run",
        "--no-pings",
        "--proxy-bypass-list=<-loopback>",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    ) == CHROMIUM_ARGS


async def test_chromium_is_started_with_them_and_sees_little_else(browser: BrowserExecutor, site: RunningSite) -> None:
    await browser.execute(a_task(f"{site.url}/empty"))
    process = psutil.Process(engine_of(browser).pids[-1])
    arguments = process.cmdline()
    assert set(CHROMIUM_ARGS) <= set(arguments)
    assert not set(UNWANTED_ARGS) & set(arguments)
    assert ("--no-sandbox" in arguments) == (os.geteuid() == 0)
    assert len([each for each in arguments if each.startswith("--proxy-server=http://127.0.0.1:")]) == 1
    assert not [each for each in arguments if each.startswith("--remote-debugging-port")]
    assert set(process.environ()) <= {"HOME", "TMPDIR", "XDG_CONFIG_HOME", "PATH", "LANG", "PWD", "SHLVL", "_"}


async def test_a_chromium_is_looked_for_by_name_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    found = find_chromium()
    for name in ("CHROME_PATH", "CHROMIUM", "BROWSER", "PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH"):
        monkeypatch.setenv(name, "/bin/true")
    assert find_chromium() == found
    shell = tmp_path / "chromium_headless_shell-7" / "linux" / "headless_shell"
    shell.parent.mkdir(parents=True)
    shell.write_text("")
    shell.chmod(0o755)
    assert find_chromium(str(tmp_path / "chromium-7" / "linux" / "chrome")) == str(shell)


@pytest.mark.parametrize(
    "error, name",
    [
        ("NAME_NOT_RESOLVED", "network:dns"),
        ("CERT_AUTHORITY_INVALID", "network:tls"),
        ("SSL_PROTOCOL_ERROR", "network:tls"),
        ("CONNECTION_RESET", "network:reset"),
        ("EMPTY_RESPONSE", "network:reset"),
        ("TUNNEL_CONNECTION_FAILED", "network:unreachable"),
        ("UNSAFE_REDIRECT", "policy:scheme"),
        ("UNSAFE_PORT", "policy:url"),
        # What it says of a stream that the server gave up; trying again helps.
        ("HTTP2_PROTOCOL_ERROR", "network:reset"),
        ("RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH", "bad_response:protocol"),
        ("CONTENT_DECODING_FAILED", "bad_response:encoding"),
    ],
)
async def test_chromium_s_errors_have_our_names(error: str, name: str) -> None:
    failure = fault_of_net_error(error)
    assert f"{failure.code}:{failure.detail}" == name
