"""`corral crawl` as a person uses it: a real process, a real site, Ctrl-C and all."""

import asyncio
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from corral.cli.job_draft import trust_typed_host
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.runs.run import RunAction
from corral.settings import load_settings
from corral.wiring.roles import open_client
from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site, tree
from tests.engine.crawl.web import a_web
from tests.fetch.certificates import certificate
from tests.slack import SLACK

pytestmark = pytest.mark.usefixtures("migrated")


def test_a_site_is_crawled_into_a_file(corral: Corral) -> None:
    with serve_site(tree(width=3, depth=2)) as site:
        done = corral("crawl", f"{site.url}/", "--depth", "2", "-o", "pages.jsonl")
        assert (done.code, done.out) == (0, "13 records written to pages.jsonl\n"), done.err
        lines = (corral.folder / "pages.jsonl").read_text().splitlines()
        assert {json.loads(line)["url"].removeprefix(site.url) for line in lines} == set(site.pages)
        assert "13 pages" in done.err
        table = corral("crawl", f"{site.url}/", "--depth", "1", "-o", "pages.csv", "--json")
        assert table.json["counts"]["done"] == 4
        assert table.json["reasons"] == [{"state": "skipped", "reason": "too_deep", "count": 9}]
        assert (corral.folder / "pages.csv").read_text().startswith("url,title,depth,")


def test_failed_pages_and_a_failed_crawl_have_their_own_exit_codes(corral: Corral) -> None:
    pages = {"/": Page(["/gone", "/broken"]), "/broken": Page(status=400)}
    with serve_site(pages) as site:
        some = corral("crawl", f"{site.url}/")
        assert (some.code, "1 pages failed" in some.err) == (3, True), some.err
        assert "1 missing: links that lead to 404 or 410" in some.out
        run = some.out.rpartition("see `corral crawl pages ")[2].partition(" ")[0]
        assert f"see `corral crawl pages {run} --state failed|missing`" in some.out
        listed = corral("crawl", "pages", run, "--state", "failed", "--json").json
        assert [(page["url"], page["reason"]) for page in listed] == [(f"{site.url}/broken", "bad_response:http_400")]
        table = corral("crawl", "pages", run, "--state", "missing")
        assert (table.code, f"{site.url}/gone" in table.out, "http_404" in table.out) == (0, True, True)
        assert "no page of run" in corral("crawl", "pages", run, "--state", "deferred").out
        assert corral("crawl", "pages", run, "--state", "lost").code == 2
        assert "deletes them 24 h after the end; `corral run keep " in some.out
        none = corral("crawl", f"{site.url}/nothing")
        assert (none.code, "crawl failed" in none.err) == (1, True), none.err
    assert corral("crawl", "nonsense").code == 2
    assert corral("crawl", "http://a.test/", "--include", "no slash").code == 2
    assert corral("crawl", "http://a.test/", "--scope", "world").code == 2
    planned = corral("crawl", "http://a.test/", "--dry-run", "--json").json
    assert (planned["plan"]["max_pages"], planned["plan"]["asked_pages"]) == (1000, False)


def test_dead_links_are_results(corral: Corral) -> None:
    with serve_site({"/": Page(["/gone", "/moved"]), "/moved": Page(status=410)}) as site:
        done = corral("crawl", f"{site.url}/", "--json")
        assert (done.code, done.json["counts"]["missing"], done.json["counts"]["failed"]) == (0, 2, 0)


def test_processes_of_one_command_share_a_crawl(corral: Corral) -> None:
    with a_web(4, 21, takes_s=0.2) as web:
        start = web.sites[0].pages["/0"]
        start.links = [*start.links, *(f"{site.url}/0" for site in web.sites)]
        done = corral(
            *("crawl", f"{web.sites[0].url}/0", "--depth", "5", "--allow-domain", "127.0.0.1"),
            *("--concurrency", "6", "--workers", "2", "--json"),
            APP_EGRESS_ALLOW="127.0.0.1/32:*",
        )
        assert done.code == 0, done.err
        assert done.json["counts"]["done"] == len(web.depths()) == len(web.pages)
        assert web.most_at_once() <= 6
        told = corral("events", done.json["run"]["id"]).out
        assert "Helper joined" in told
        assert "Helper left" in told
        assert len(corral("run", "list", "--json").json) == 1


def test_interrupted_it_is_paused_and_the_same_command_goes_on(
    corral: Corral, started_forks: Callable[..., "subprocess.Popen[str]"]
) -> None:
    pages = tree(width=4, depth=2)
    for path in pages:
        pages[path].takes_s = 0.1
    with serve_site(pages) as site:
        command = ("crawl", f"{site.url}/", "--depth", "2", "--concurrency", "2", "--json")
        crawling = started_forks(corral, *command)
        while len(site.hits) < 6:
            time.sleep(0.02)
        crawling.send_signal(signal.SIGINT)
        _, err = crawling.communicate(timeout=20 * SLACK)
        assert crawling.returncode == 130, err
        assert "paused, and nothing is lost" in err
        assert "Traceback" not in err
        again = corral(*command)
        assert again.code == 0, again.err
        assert "resuming run" in again.err
        assert again.json["counts"]["done"] == len(pages)
        assert sum(site.hits.values()) - site.hits["/robots.txt"] - len(pages) <= 4


@pytest.mark.parametrize("option", ["--restart", pytest.param("--fresh", id="former")])
def test_restart_leaves_an_interrupted_crawl_alone(corral: Corral, option: str) -> None:
    with serve_site({"/": Page()}) as site:
        command = ("crawl", f"{site.url}/", "--json")
        plan = CrawlPlan.of(corral.here(*command, "--dry-run").json["plan"])
        interrupted = asyncio.run(_pause_crawl(corral, plan))
        fresh = corral(*command, option)
        assert (fresh.code, "resuming run" in fresh.err) == (0, False), fresh.err
        resumed = corral(*command)
    assert fresh.json["run"]["id"] != interrupted == resumed.json["run"]["id"]
    assert "resuming run" in resumed.err


async def _pause_crawl(corral: Corral, plan: CrawlPlan) -> str:
    async with open_client(load_settings(data_dir=corral.data)) as app:
        run, _ = await app.crawls.start(plan, trusted_hosts=trust_typed_host(app.settings, plan.start_urls[0]))
        await app.submitter.apply_action(run.id, RunAction.PAUSE)
    return run.id


def test_why_knows_every_url_that_was_seen(corral: Corral) -> None:
    pages = {"/": Page(["/copy", "/a", "/gone", "http://elsewhere.test/"]), "/a": Page(["/b"]), "/b": Page(["/deep"])}
    pages["/copy"] = Page(head='<link rel=canonical href="/a">')
    with serve_site(pages) as site:
        corral("crawl", f"{site.url}/", "--depth", "2", "--max-pages", "3")
        told = corral.here("why", f"{site.url}/a#top")
        assert (told.code, told.out.splitlines()[0]) == (0, "done: read with status 200")
        assert f"found on {site.url}/ (depth 0, done)" in told.out
        wanted = {
            f"{site.url}/gone": ("missing", "missing: it answers 404"),
            "http://elsewhere.test/": ("skipped", "by the rule out_of_scope"),
            f"{site.url}/copy": ("skipped", f"by the rule canonical: its canonical URL is {site.url}/a"),
            f"{site.url}/b": ("pending", "the crawl ended before (its max_pages was used up)"),
        }
        for url, (state, because) in wanted.items():
            found = corral.here("why", url, "--json").json
            assert found["item"]["state"] == state
            assert found["because"].startswith(because)
        assert corral.here("why", f"{site.url}/never").code == 1
        assert corral.here("why", "nonsense").code == 2


def test_every_option_of_a_plan_can_be_given(corral: Corral) -> None:
    given = {
        "--max-mb 2": ("max_bytes", 2_000_000),
        "--max-per-host 7": ("max_per_host", 7),
        "--max-time 2": ("max_seconds", 120.0),
        "--retries 5": ("retry_attempts", 5),
        "--no-robots": ("respect_robots", False),
        "--follow-nofollow": ("follow_nofollow", True),
        "--ignore-noindex": ("obey_noindex", False),
        "--no-canonical": ("use_canonical", False),
        "--no-trap-detection": ("avoid_traps", False),
        "--sitemaps": ("use_sitemaps", True),
        "--order best": ("order", "best"),
        "--since last": ("since", "last"),
        "--all-or-nothing": ("partial_results_ok", False),
    }
    plain = corral.here("crawl", "http://a.test/", "--dry-run", "--json").json["plan"]
    for option, (name, value) in given.items():
        plan = corral.here("crawl", "http://a.test/", *option.split(), "--dry-run", "--json").json["plan"]
        assert plan == {**plain, name: value} != plain, option
    scoped = corral.here("crawl", "http://a.test/", "--allow-domain", "b.test", "--dry-run", "--json").json["plan"]
    assert scoped["scope"]["allowed_domains"] == ["b.test"]
    kept = corral.here("crawl", "http://a.test/", "--keep-param", "SID", "--dry-run", "--json").json["plan"]
    assert kept["keep_params"] == ["sid"]
    words = corral.here("crawl", "http://a.test/", "--keyword", "Prices", "--dry-run", "--json").json["plan"]
    assert (words["order"], words["keywords"]) == ("best", ["prices"])
    assert corral.here("crawl", "http://a.test/", "--keyword", "a", "--order", "breadth").code == 2


def test_crawled_again_it_says_what_changed(corral: Corral) -> None:
    with serve_site({"/": Page(["/a", "/b"]), "/a": Page(), "/b": Page()}) as site:
        first = corral("crawl", f"{site.url}/", "--since", "last")
        assert (first.code, "no earlier crawl" in first.err) == (0, True)
        site.pages["/a"].text = "Another text than before, and a longer one."
        del site.pages["/b"]
        again = corral("crawl", f"{site.url}/", "--since", "last", "--json").json
        assert again["changes"] == {"new": 0, "changed": 1, "unchanged": 1, "gone": 1}
        assert again["gone"] == [f"{site.url}/b"]
        told = corral("crawl", f"{site.url}/", "--since", again["run"]["id"])
        assert "0 new, 0 changed, 2 unchanged, 0 gone" in told.out
    assert corral("crawl", "http://127.0.0.1:9/", "--since", "nonsense").code == 2


@contextmanager
def _serve_own_certificate(folder: Path) -> Iterator[str]:
    """Serve a page with a certificate that no authority signed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    server.socket = certificate(None).context(folder, "own").wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_dead_start_address_fails_in_seconds_and_says_what_helps(corral: Corral) -> None:
    began = time.monotonic()
    refused = corral("crawl", "http://127.0.0.1:9/", "--no-robots", APP_RETRY_BASE_SECONDS="30")
    assert refused.code == 1
    assert "refused the connection" in refused.err
    assert "check its host and port" in refused.err
    with serve_site({}) as site:
        tls = corral("crawl", site.url.replace("http:", "https:"), APP_RETRY_BASE_SECONDS="30")
    assert (tls.code, "write http:// instead of https://" in tls.err) == (1, True), tls.err
    with _serve_own_certificate(corral.folder) as url:
        unknown = corral("crawl", url, APP_RETRY_BASE_SECONDS="30")
    assert (unknown.code, "--no-verify-tls" in unknown.err) == (1, True), unknown.err
    assert time.monotonic() - began < 60


def test_the_progress_line_says_what_is_waited_for(corral: Corral) -> None:
    with serve_site({"/": Page(["/busy"]), "/busy": Page(status=503, headers={"retry-after": "7"})}) as site:
        done = corral("crawl", f"{site.url}/", "--retries", "2")
    assert f"waiting for {site.url.removeprefix('http://')} until " in done.err
