"""What is kept of a page that failed, and of which it is not."""

import asyncio
import struct
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from corral.domain.ports.execution import Task
from corral.domain.runs.artifact import ArtifactKind
from corral.domain.runs.outcome import Deferred, Failed, Fetched, Outcome
from corral.domain.sites.session import parse_session
from corral.fetch.browser import failure_evidence
from corral.fetch.browser.executor import BrowserExecutor
from corral.files.artifacts import ArtifactFolder
from tests.fetch.browsing import a_task, engine_of, open_browser, serve
from tests.fetch.hostile import ROUTES, Hostile, redirect_to
from tests.slack import SLACK
from tests.waiting import until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.browser]

BLOCKED = "<title>Denied</title><h1 style='background:#f00;height:700px'>Access denied</h1>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ArtifactFolder:
    return ArtifactFolder(tmp_path_factory.mktemp("evidence") / "artifacts")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(den: Hostile, folder: ArtifactFolder) -> AsyncIterator[BrowserExecutor]:
    async with open_browser(den.port, folder=folder) as executor:
        yield executor


def read_artifacts(outcome: Outcome, folder: ArtifactFolder) -> dict[str, bytes]:
    assert not isinstance(outcome, Deferred)
    found = {artifact.kind.value: folder.read(artifact) or b"" for artifact in outcome.artifacts}
    assert all(len(found[artifact.kind.value]) == artifact.bytes > 0 for artifact in outcome.artifacts)
    return found


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


async def test_a_failed_page_leaves_a_screenshot_and_its_html(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "/denied", BLOCKED, status="403 Forbidden")
    outcome = await browser.execute(a_task(den.url("/denied"), "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("blocked", "http_403")
    found = read_artifacts(outcome, folder)
    assert set(found) == {"screenshot", "html"}
    assert size_of(found["screenshot"]) == (1280, 720)
    assert b"Access denied" in found["html"]


async def test_a_page_without_the_asked_fields_is_kept_a_good_one_is_not(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder
) -> None:
    outcome = await browser.execute(a_task(den.url("/"), "title", "warranty"))
    assert isinstance(outcome, Fetched)
    assert outcome.missing == ("warranty",)
    assert set(read_artifacts(outcome, folder)) == {"screenshot", "html"}
    before = len(folder.list_files())
    good = await browser.execute(a_task(den.url("/"), "title"))
    assert isinstance(good, Fetched)
    assert (good.missing, good.artifacts, len(folder.list_files())) == ((), (), before)


async def test_nothing_is_kept_of_what_we_refused_or_never_saw(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {file.name for file in folder.list_files()}
    serve(monkeypatch, "/inside", "<script>location = 'http://169.254.169.254/'</script>")
    for path, code in (("/metadata-302", "policy"), ("/inside", "policy"), ("/reset", "network")):
        outcome = await browser.execute(a_task(den.url(path), "title"))
        assert isinstance(outcome, Failed), path
        assert (outcome.code, outcome.artifacts) == (code, ()), path
    assert {file.name for file in folder.list_files()} == before


async def test_a_page_that_does_not_end_is_kept_as_it_was_and_stays_a_timeout(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await browser.execute(a_task(den.url("/"), "title"))  # it has been started
    started = time.monotonic()
    outcome = await browser.execute(a_task(den.url("/stops-midway"), "title", "warranty", timeout_s=6))
    assert isinstance(outcome, Failed)
    assert outcome.code in {"timeout", "network"}
    assert time.monotonic() - started < 6 * SLACK

    serve(
        monkeypatch, "/spins", "<title>Spins</title><script>onload = () => setTimeout(() => {while (1);}, 50)</script>"
    )
    started = time.monotonic()
    outcome = await browser.execute(a_task(den.url("/spins"), "warranty", timeout_s=6))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("timeout", "browser")
    assert time.monotonic() - started < 6 * SLACK, "the budget of the run holds for its evidence too"


async def test_evidence_that_takes_too_long_is_given_up(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> str:
        await asyncio.sleep(60)
        raise AssertionError

    monkeypatch.setattr("corral.fetch.browser.visit.PageVisit.screenshot", never)
    monkeypatch.setattr("corral.fetch.browser.renderer.WITHIN_S", 0.5)
    serve(monkeypatch, "/denied", BLOCKED, status="403 Forbidden")
    started = time.monotonic()
    outcome = await browser.execute(a_task(den.url("/denied"), "title"))
    assert isinstance(outcome, Failed)
    assert outcome.code == "blocked"
    assert set(read_artifacts(outcome, folder)) == {"html"}, "what was ready in time is kept"
    assert time.monotonic() - started < 9 * SLACK, "it would take a minute"


async def test_a_crashed_page_fails_as_before(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    await browser.execute(a_task(den.url("/"), "title"))
    running = asyncio.create_task(browser.execute(a_task(den.url("/"), "warranty")))
    await until(lambda: _is_loaded(browser))
    await engine_of(browser).browser.close()
    outcome = await running
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail, outcome.artifacts) == ("unknown", "browser_crash", ())


async def _is_loaded(browser: BrowserExecutor) -> bool:
    pages = [page for context in engine_of(browser).browser.contexts for page in context.pages]
    return any([await page.title() == "A page" for page in pages])


async def test_html_is_cut_and_holds_no_value_of_the_session(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "canary-in-the-page-0123456789"
    serve(monkeypatch, "/echo", f"<p>your cookie: {canary}</p>" + "<p>x</p>" * 1000, status="403 Forbidden")
    monkeypatch.setattr(failure_evidence, "_MAX_HTML_BYTES", 1000)
    state = parse_session(den.url("/"), [{"name": "sid", "value": canary}])
    outcome = await browser.execute(replace(a_task(den.url("/echo"), "title"), session=state))
    assert isinstance(outcome, Failed)
    html = read_artifacts(outcome, folder)["html"]
    assert (len(html), canary.encode() in html) == (1000, False)
    assert b"your cookie: ***" in html


async def test_html_holds_nothing_the_site_knows_us_by(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own cookie, and what opens the addresses on the way: the one that was asked for, the one it led to."""
    seen = "<p>sid=SetByTheSite01 token=AskedFor012345 sig=LedTo0123456789 consent=accepted</p>"
    serve(monkeypatch, "/there", seen, "Set-Cookie: sid=SetByTheSite01", "Set-Cookie: c=accepted", status="403 No")
    monkeypatch.setitem(ROUTES, "/leads", redirect_to(b"/there?sig=LedTo0123456789"))
    outcome = await browser.execute(a_task(den.url("/leads?token=AskedFor012345"), "title"))
    assert b"<p>sid=*** token=*** sig=*** consent=accepted</p>" in read_artifacts(outcome, folder)["html"]


async def test_a_full_disk_costs_the_evidence_not_the_outcome(
    browser: BrowserExecutor, den: Hostile, folder: ArtifactFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.files.private_file._RESERVED_BYTES", 2**62)
    serve(monkeypatch, "/denied", BLOCKED, status="403 Forbidden")
    outcome = await browser.execute(a_task(den.url("/denied"), "title"))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.artifacts) == ("blocked", ())


async def test_without_a_folder_nothing_is_kept(den: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "/denied", BLOCKED, status="403 Forbidden")
    async with open_browser(den.port) as executor:
        task: Task = a_task(den.url("/denied"), "title")
        outcome = await executor.execute(task)
        assert isinstance(outcome, Failed)
        assert outcome.artifacts == ()


async def test_the_kinds_are_those_that_are_served() -> None:
    assert {kind.value for kind in ArtifactKind} == {"screenshot", "html", "stdout", "stderr"}
