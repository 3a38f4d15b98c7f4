"""Crawls through a real node, its workers and their readers, over a real site, on both databases."""

import asyncio
import time
from collections import Counter

import pytest

from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.runs.run import RunAction, RunState
from corral.wiring.app import App
from tests.engine.builders import node_of
from tests.engine.crawl.crawling import crawl, reasons, records, start, wait_for_crawl
from tests.engine.crawl.site import Page, serve_site, tree
from tests.slack import SLACK
from tests.waiting import until


async def test_every_page_is_read_once_and_recorded_once(app: App) -> None:
    with serve_site(tree(width=3, depth=3)) as site:
        run, found, counts = await crawl(app, f"{site.url}/")
        assert run.state is RunState.COMPLETED
        assert set(found) == set(site.pages)
        assert set(site.hits.values()) == {1}
        assert counts == Counts(done=len(site.pages))
        page = found["/0/1"]
        assert (page["title"], page["depth"], page["source"]) == ("Page /0/1", 2, site.url.removeprefix("http://")[:9])
        assert page["text"] == page["full_text"][:2000]
        assert page["word_count"] == len(page["full_text"].split()) > 20
        assert page["char_count"] == len(page["full_text"])
        assert (page["retry_attempt"], page["timestamp"][-1]) == (0, "Z")
        assert page["scrape_duration"] > 0


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_each_depth_is_really_followed_and_none_beyond(app: App, depth: int) -> None:
    with serve_site(tree(width=2, depth=5)) as site:
        run, found, _ = await crawl(app, f"{site.url}/", max_depth=depth)
        assert {path.count("/") if path != "/" else 0 for path in found} == set(range(depth + 1))
        assert len(found) == 2 ** (depth + 1) - 1
        assert (await reasons(app, run.id))["too_deep"] == 2 ** (depth + 1)


async def test_a_page_that_fails_is_tried_again_and_then_given_up(app: App) -> None:
    pages = {
        "/": Page(["/flaky", "/broken", "/missing", "/fine"]),
        "/flaky": Page(fails_first=1),
        "/broken": Page(status=500),
        "/fine": Page(),
    }
    with serve_site(pages) as site:
        run, found, counts = await crawl(app, f"{site.url}/", retry_attempts=2)
        assert run.state is RunState.PARTIAL
        assert set(found) == {"/", "/flaky", "/fine"}
        assert found["/flaky"]["retry_attempt"] == 1
        assert site.hits == Counter({"/": 1, "/flaky": 2, "/broken": 2, "/missing": 1, "/fine": 1})
        assert (counts.done, counts.failed, counts.missing) == (3, 1, 1)
        assert await reasons(app, run.id) == {"bad_response:http_500": 1, "http_404": 1}


async def test_partial_results_can_be_no_use(app: App) -> None:
    with serve_site({"/": Page(["/broken"]), "/broken": Page(status=400)}) as site:
        run, _, _ = await crawl(app, f"{site.url}/", partial_results_ok=False)
        assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "bad_response", "http_400")
        assert run.error_message == "crawl failed: 1 of 2 pages failed, and partial results are not accepted"


async def test_a_crawl_that_may_read_nothing_says_so(app: App) -> None:
    with serve_site({"/": Page(status=302, headers={"location": "http://elsewhere.test/"})}) as site:
        run, _, _ = await crawl(app, f"{site.url}/")
        assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "policy", "out_of_scope")
        assert run.error_message == "crawl failed: no page was allowed (out_of_scope)"


async def test_a_crawl_of_which_everything_failed_has_failed(app: App) -> None:
    with serve_site({}) as site:
        run, found, counts = await crawl(app, f"{site.url}/")
        assert (run.state, found, counts) == (RunState.FAILED, {}, Counts(failed=1))
        assert run.error_message == "crawl failed: 1 of 1 pages failed: the target answered 404"
        assert (run.failure_code, run.failure_detail) == ("bad_response", "http_404")


async def test_a_page_budget_ends_it_well(app: App) -> None:
    with serve_site(tree(width=3, depth=3)) as site:
        run, found, counts = await crawl(app, f"{site.url}/", max_pages=7)
        assert (run.state, run.stats["stopped_by"]) == (RunState.COMPLETED, "budget")
        assert len(found) == counts.done == sum(site.hits.values()) == 7
        assert counts.pending > 0


async def test_its_time_ends_it_with_what_it_has(app: App) -> None:
    pages = tree(width=6, depth=3)
    for path in pages:
        pages[path].takes_s = 0.5 if path != "/" else 0.0
    with serve_site(pages) as site:
        max_seconds = 3
        while True:  # all pages take 64 s; a busy machine needs seconds for the first ones
            began = time.monotonic()
            run, found, counts = await crawl(app, f"{site.url}/", max_seconds=max_seconds, concurrency=2)
            assert time.monotonic() - began < max_seconds + 4 * SLACK
            if len(found) > 1 or max_seconds > 30:
                break
            max_seconds *= 3
        assert (run.state, run.stats["stopped_by"]) == (RunState.PARTIAL, "time")
        assert 1 < len(found) < len(pages)
        assert counts.leased == 0


async def test_no_more_pages_at_once_than_asked_for(app: App) -> None:
    pages = tree(width=12, depth=1)
    for path in pages:
        pages[path].takes_s = 0.05
    for at_once in (1, 4):
        with serve_site(pages) as site:
            await crawl(app, f"{site.url}/", concurrency=at_once)
            assert site.most_at_once == at_once


async def test_scope_patterns_nofollow_and_noindex(app: App) -> None:
    noindex = '<meta name=robots content="noindex">'
    pages = {
        "/": Page(["/in/a", "/in/b", "/out/c", "http://other.test/", "/in/x.png", "/hidden"]),
        "/in/a": Page(["/in/deep"]),
        "/in/b": Page(head=noindex, links=["/in/behind"]),
        "/in/deep": Page(),
        "/in/behind": Page(),
        "/out/c": Page(),
        "/in/x.png": Page(raw=b"\x89PNG", headers={"content-type": "image/png"}),
    }
    with serve_site(pages) as site:
        options = {"scope": {"include": ["/in/*"], "exclude": ["*deep"]}}
        run, found, counts = await crawl(app, f"{site.url}/", **options)
        assert set(found) == {"/", "/in/a", "/in/behind"}
        assert await reasons(app, run.id) == {
            "excluded": 1,
            "noindex": 1,
            "not_a_page": 1,
            "not_included": 2,
            "out_of_scope": 1,
        }
        assert counts.skipped == 6
        assert site.hits["/out/c"] == site.hits["/in/deep"] == 0


async def test_robots_txt_is_respected_unless_told_otherwise(app: App) -> None:
    rules = Page(raw="User-agent: *\nDisallow: /closed", headers={"content-type": "text/plain"})
    pages = {"/": Page(["/open", "/closed"]), "/open": Page(), "/closed": Page(), "/robots.txt": rules}
    with serve_site(pages) as site:
        run, found, _ = await crawl(app, f"{site.url}/", respect_robots=True)
        assert set(found) == {"/", "/open"}
        assert (run.state, site.hits["/closed"]) == (RunState.COMPLETED, 0)
        assert await reasons(app, run.id) == {"policy:robots": 1}
        _, found, _ = await crawl(app, f"{site.url}/", respect_robots=False)
        assert set(found) == {"/", "/open", "/closed"}


async def test_a_site_that_cannot_say_what_it_allows_is_not_crawled(app: App) -> None:
    pages = {"/": Page(["/a"]), "/a": Page(), "/robots.txt": Page(status=503)}
    with serve_site(pages) as site:
        run, _, counts = await crawl(app, f"{site.url}/", respect_robots=True)
        assert (run.state, counts, site.hits["/"]) == (RunState.FAILED, Counts(failed=1), 0)
        assert await reasons(app, run.id) == {"policy:robots_unreachable": 1}
        _, found, _ = await crawl(app, f"{site.url}/", respect_robots=False)
        assert set(found) == {"/", "/a"}


async def test_a_robots_txt_that_leads_nowhere_allows_nothing(app: App) -> None:
    round_and_round = Page(status=302, headers={"location": "/robots.txt?again"})
    rest = {"/": Page(), "/robots.txt?again": Page(status=302, headers={"location": "/robots.txt"})}
    with serve_site({**rest, "/robots.txt": round_and_round}) as site:
        run, _, counts = await crawl(app, f"{site.url}/", respect_robots=True)
        assert (run.state, counts, site.hits["/"]) == (RunState.FAILED, Counts(failed=1), 0)
        assert await reasons(app, run.id) == {"policy:robots_unreachable": 1}
        assert run.failure_detail == "robots_unreachable"


@pytest.mark.parametrize("tries", [1, 2])
async def test_a_robots_txt_that_breaks_off_is_asked_again_and_then_allows_nothing(app: App, tries: int) -> None:
    def hangs_up() -> None:
        raise RuntimeError

    with serve_site({"/": Page(), "/robots.txt": Page(on_ask=hangs_up)}) as site:
        run, _, _ = await crawl(app, f"{site.url}/", respect_robots=True, retry_attempts=tries)
        [page] = await app.store.crawls.items(run.id, ItemState.FAILED, 0, 5)
        assert (page.reason, page.attempt, site.hits["/"]) == ("policy:robots_unreachable", tries, 0)
        assert "closed the connection" in (page.message or "")


async def test_a_redirect_leads_to_nothing_that_a_link_would_not_lead_to(app: App) -> None:
    rules = Page(raw="User-agent: *\nDisallow: /closed", headers={"content-type": "text/plain"})
    with serve_site({"/": Page()}) as elsewhere:
        away = elsewhere.url.replace("127.0.0.1", "localhost") + "/"
        pages = {
            "/": Page(["/to-closed", "/away", "/to-open"]),
            "/to-closed": Page(status=302, headers={"location": "/closed"}),
            "/away": Page(status=301, headers={"location": away}),
            "/to-open": Page(status=307, headers={"location": "/open"}),
            "/open": Page(),
            "/closed": Page(),
            "/robots.txt": rules,
        }
        with serve_site(pages) as site:
            run, found, _ = await crawl(app, f"{site.url}/", respect_robots=True)
            assert (run.state, set(found)) == (RunState.COMPLETED, {"/", "/open"})
            assert await reasons(app, run.id) == {"policy:robots": 1, "out_of_scope": 1}
            assert (site.hits["/closed"], dict(elsewhere.hits)) == (0, {})


async def test_paused_it_stands_still_and_resumed_it_goes_on_where_it_was(app: App) -> None:
    pages = tree(width=4, depth=2)
    for path in pages:
        pages[path].takes_s = 0.05
    with serve_site(pages) as site:
        run_id = await start(app, f"{site.url}/", concurrency=2)
        await until(lambda: len(site.hits) >= 5)
        await app.submitter.apply_action(run_id, RunAction.PAUSE)
        await until(lambda: node_of(app).executing == 0)
        stood = len(site.hits)
        await asyncio.sleep(0.5)
        assert len(site.hits) == stood < len(pages)
        await app.submitter.apply_action(run_id, RunAction.RESUME)
        run = await wait_for_crawl(app, run_id)
        assert run.state is RunState.COMPLETED
        assert set(await records(app, run_id, site.url)) == set(pages)
        assert sum(site.hits.values()) - len(pages) <= 4, "no more is read again than was under way, or just read"


async def test_cancelled_it_keeps_what_it_has(app: App) -> None:
    pages = tree(width=4, depth=2)
    for path in pages:
        pages[path].takes_s = 0.05
    with serve_site(pages) as site:
        run_id = await start(app, f"{site.url}/", concurrency=2)
        await until(lambda: len(site.hits) >= 6)
        await app.submitter.apply_action(run_id, RunAction.CANCEL)
        assert (await app.store.runs.get(run_id)).state is RunState.CANCELLED
        await until(lambda: node_of(app).executing == 0)
        asked = sum(site.hits.values())
        await asyncio.sleep(0.3)
        assert sum(site.hits.values()) == asked
        assert 0 < len(await records(app, run_id, site.url)) < len(pages)


async def test_crawls_wait_for_their_turn(app: App) -> None:
    pages = {f"/{number}": Page(takes_s=1.0) for number in range(7)}
    with serve_site(pages) as site:
        ids = [await start(app, f"{site.url}{path}") for path in pages]
        most = 0
        while any([not (await app.store.runs.get(each)).state.is_terminal for each in ids]):
            states = Counter([(await app.store.runs.get(each)).state for each in ids])
            most = max(most, states[RunState.RUNNING])
            await asyncio.sleep(0.05)
        assert most == 5
        for each in ids:
            await wait_for_crawl(app, each)
