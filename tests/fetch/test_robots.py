import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import Job, Strategy
from corral.domain.net.url import parse_target
from corral.domain.runs.event import EventKind
from corral.domain.runs.outcome import Fetched
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext
from corral.fetch.http import HttpExecutor
from corral.fetch.robots import Robots
from corral.runtime.new_ids import new_id
from tests.engine.builders import events, run_node, settings_for, wait_for_runs
from tests.fetch.browsing import a_task, needs_chromium
from tests.fetch.hostile import ROUTES, Hostile, Request
from tests.slack import SLACK

pytestmark = pytest.mark.usefixtures("forked_workers")

RULES = b"User-agent: *\nDisallow: /private\nAllow: /private/open\n"


def serve(monkeypatch: pytest.MonkeyPatch, body: bytes, status: str = "200 OK") -> None:
    async def route(request: Request) -> None:
        await request.answer(body, status=status)

    monkeypatch.setitem(ROUTES, "/robots.txt", route)


async def is_allowed(egress: Egress, hostile: Hostile, path: str, robots: Robots | None = None) -> bool:
    robots = robots or Robots(egress, "corral-test")
    return await robots.refusal(parse_target(hostile.url(path))) is None


@pytest.mark.parametrize(
    "path, allowed", [("/", True), ("/private", False), ("/private/x?y", False), ("/private/open", True)]
)
async def test_rules_are_followed(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, path: str, allowed: bool
) -> None:
    serve(monkeypatch, RULES)
    assert await is_allowed(egress, hostile, path) is allowed


@pytest.mark.parametrize("status", ["404 X", "403 X", "500 X", "503 X"])
async def test_a_page_is_allowed_where_there_are_no_rules(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    serve(monkeypatch, RULES, status)
    assert await is_allowed(egress, hostile, "/private")


@pytest.mark.parametrize("route", ["/reset", "/gzip-bomb", "/to-metadata", "/not-http", "/loop", "/silent"])
async def test_a_broken_robots_txt_does_not_stop_a_page(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    monkeypatch.setitem(ROUTES, "/robots.txt", ROUTES[route])
    assert await is_allowed(egress, hostile, "/private")


async def test_html_is_no_robots_txt(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, b"<html>Disallow: /</html>")
    assert await is_allowed(egress, hostile, "/private")


async def test_only_the_first_500_kib_count(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, RULES + b"# filler\n" * 200_000 + b"Disallow: /late\n")
    robots = Robots(egress, "corral-test")
    started = time.monotonic()
    assert not await is_allowed(egress, hostile, "/private", robots)
    assert await is_allowed(egress, hostile, "/late", robots)
    assert time.monotonic() - started < 3 * SLACK


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_half_a_rule_is_none(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, end: bytes
) -> None:
    start = b"User-agent: *" + end + b"Disallow: /private" + end
    filler = b"#" * (500 * 1024 - len(start) - len(end) - len(b"Disallow: /"))
    serve(monkeypatch, start + filler + end + b"Disallow: /late" + end)
    robots = Robots(egress, "corral-test")
    assert not await is_allowed(egress, hostile, "/private", robots)
    assert await is_allowed(egress, hostile, "/page", robots)


async def test_a_page_in_its_place_is_not_cut(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, b"<html>" + b"<p>words</p>" * 60_000)
    robots = Robots(egress, "corral-test")
    assert await is_allowed(egress, hostile, "/page", robots)
    assert robots.notes(parse_target(hostile.url("/page"))) == {}


LARGE = RULES + b"# filler\n" * 70_000 + b"Disallow: /late\n"


@pytest.mark.browser
@pytest.mark.parametrize("strategy", [Strategy.HTTP, Strategy.BROWSER])
async def test_a_run_tells_that_robots_txt_was_cut_and_what_was_read_holds(
    tmp_path: Path, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, strategy: Strategy
) -> None:
    assert len(LARGE) > 600 * 1024
    serve(monkeypatch, LARGE)
    if strategy is Strategy.BROWSER:
        needs_chromium()
    settings = settings_for(tmp_path, egress_allow=f"127.0.0.1/32:{hostile.port}", workers=1)
    async with run_node(settings) as app:
        ended_as = {}
        for path in ("/private", "/late"):
            job = Job(JobId(new_id()), hostile.url(path), (FieldSpec("title"),), datetime.now(UTC), strategy=strategy)
            await app.jobs.create(job)
            run, _ = await app.submitter.start(job.id)
            [run] = await wait_for_runs(app, [run.id], timeout_s=30)
            ended_as[path] = (run.state.value, run.failure_detail)
            [cut] = [event for event in await events(app, run.id) if event.kind is EventKind.ROBOTS_TRUNCATED]
            assert (cut.level, cut.meta) == ("warn", {"origin": hostile.url(""), "read_bytes": 500 * 1024})
            assert run.stats["robots_truncated"] == cut.meta
        assert ended_as == {"/private": ("failed", "robots"), "/late": ("completed", None)}


async def test_a_run_that_does_not_ask_has_nothing_to_tell(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, LARGE)
    executor = HttpExecutor(egress, Robots(egress, "corral-test"))
    told = await executor.execute(a_task(hostile.url("/late"), "title", respect_robots=True))
    assert isinstance(told, Fetched)
    assert "robots_truncated" in told.stats
    silent = await executor.execute(a_task(hostile.url("/late"), "title", respect_robots=False))
    assert isinstance(silent, Fetched)
    assert "robots_truncated" not in silent.stats


async def test_patterns_full_of_stars_are_matched_in_time(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, b"User-agent: *\nDisallow: /" + b"*a" * 60 + b"b$\n")
    started = time.monotonic()
    assert await is_allowed(egress, hostile, "/" + "a" * 1500)
    assert time.monotonic() - started < 2 * SLACK


async def test_many_pages_ask_once(egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, RULES)
    robots = Robots(egress, "corral-test")
    await asyncio.gather(*(is_allowed(egress, hostile, f"/{i}", robots) for i in range(20)))
    assert hostile.count_requests("/robots.txt") == 1


async def test_a_group_of_thousands_of_names_is_read_in_time(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every rule for every name would be a hundred million."""
    names = b"".join(b"User-agent: bot%d\n" % number for number in range(12_000))
    serve(monkeypatch, names + b"User-agent: corral-test\n" + b"".join(b"Disallow: /%d\n" % n for n in range(15_000)))
    robots = Robots(egress, "corral-test/1.0")
    started = time.monotonic()
    assert not await is_allowed(egress, hostile, "/7", robots)
    assert await is_allowed(egress, hostile, "/page", robots)
    assert time.monotonic() - started < 3 * SLACK


@pytest.mark.parametrize(
    "text, allowed",
    [
        ("User-agent: *\nDisallow: /\n\nUser-agent: corral\nDisallow:\n", True),
        ("User-agent: corral\nDisallow: /\n\nUser-agent: *\nAllow: /\n", False),
        ("User-agent: other\nUser-agent: corral\nDisallow: /\n", False),
        ("User-agent: other\nDisallow: /\n", True),
        ("User-agent: corral\nDisallow: /a\n\nUser-agent: corral-test\nDisallow: /page\n", False),
        ("User-agent: corral\nSitemap: /s\nUser-agent: other\nDisallow: /\n", False),
        ("USER-AGENT: *\ndisallow: / # all of it\n", False),
        ("User-agent: rral\nDisallow: /\n", True),
        ("Disallow: /\n", True),
    ],
)
async def test_the_group_that_fits_us_best_counts(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, text: str, allowed: bool
) -> None:
    serve(monkeypatch, text.encode())
    assert await is_allowed(egress, hostile, "/page", Robots(egress, "corral-test/1.0 (+http://a.example)")) is allowed


async def test_rules_that_are_kept_take_so_much_room_and_no_more(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, b"User-agent: *\n" + b"Disallow: /a\n" * 40_000)
    robots = Robots(egress, "corral-test")
    for number in range(8):
        host = f"h{number}.localhost"
        target = parse_target(hostile.url("/", host=host))
        await robots.refusal(target, FetchContext(frozenset({host})))
    assert 0 < sum(each.chars for each in robots._rules.values()) <= 2 * 1024 * 1024
    assert len(robots._rules) == 4


@pytest.mark.parametrize(
    "route", ["/bomb/gzip", "/bomb/br", "/bomb/zstd", "/bomb/plain", "/endless/headers", "/large/million-links"]
)
async def test_a_robots_txt_without_an_end_costs_a_page_its_start_only(
    egress: Egress, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    monkeypatch.setitem(ROUTES, "/robots.txt", ROUTES[route])
    started = time.monotonic()
    assert await is_allowed(egress, hostile, "/private")
    assert time.monotonic() - started < 4 * SLACK
