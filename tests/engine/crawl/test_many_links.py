"""Index pages with very many links: all of them are followed, in short transactions, also after a kill in between."""

import asyncio
import contextlib
import signal
import time
from pathlib import Path

import psutil
import pytest

from corral.wiring.app import App
from tests.chaos.level import by_level
from tests.chaos.report import report
from tests.cli.command import Corral
from tests.engine.crawl.crawling import start, wait_for_crawl
from tests.engine.crawl.site import Page, serve_site
from tests.engine.crawl.tasks import submit
from tests.slack import SLACK
from tests.stack import Stack, corral_up

MANY = by_level(12_000, 100_000)


@pytest.fixture(autouse=True)
def cheap_workers() -> None:
    """Real processes: their memory is measured."""


def _index(count: int) -> Page:
    links = "".join(f'<li><a href="/catalogue/part-{n // 1000}/item-{n}.html">{n}</a>' for n in range(count))
    return Page(raw=f"<title>Index</title><body><h1>All</h1><ul>{links}</ul>")


async def _watch(app: App, figures: dict[str, float]) -> None:
    """How long the event loop of the node and a small write beside the crawl took at most, and who took how much."""
    us = psutil.Process()
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.01)
        slept = time.monotonic()
        await app.store.jobs.change_defaults({})
        found = {"loop s": slept - began - 0.01, "write s": time.monotonic() - slept}
        for each in us.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                kind = "worker" if "corral.entrypoints.worker_process" in each.cmdline() else "reader"
                found[f"{kind} MiB"] = max(found.get(f"{kind} MiB", 0.0), each.memory_info().rss / 2**20)
        figures |= {name: max(value, figures.get(name, 0.0)) for name, value in found.items()}


async def test_every_link_of_a_large_index_is_known_and_the_node_stays_responsive(app: App) -> None:
    figures: dict[str, float] = {}
    with serve_site({"/": _index(MANY)}) as site:
        watch = asyncio.create_task(_watch(app, figures))
        began = time.monotonic()
        run = await wait_for_crawl(
            app, await start(app, f"{site.url}/", max_pages=1, max_depth=1), within_s=120 * SLACK
        )
        took_s = time.monotonic() - began
        watch.cancel()
        counts = (await app.store.crawls.get(run.id)).counts
    assert (counts.pending, counts.done, run.stats["links_dropped"]) == (MANY, 1, 0)
    assert max(figures["loop s"], figures["write s"]) < 5 * SLACK
    told = ", ".join(f"{name} {value:.2f}" for name, value in sorted(figures.items()))
    report(f"a page of {MANY} links: {took_s:.1f} s; {told}")


def test_a_page_beyond_the_bound_makes_the_crawl_partial_and_names_the_setting(corral: Corral) -> None:
    outside = [f"http://elsewhere.test/{number}" for number in range(10)]
    inside = [f"/{number}" for number in range(120)]
    pages = {"/": Page([*outside, *inside]), **{link: Page() for link in inside}}
    with serve_site(pages) as site:
        crawl = ("crawl", f"{site.url}/", "--max-pages", "200", "--strategy", "http")
        whole = corral(*crawl, APP_MAX_PAGE_LINKS="120")
        assert whole.code == 0, whole.err
        cut = corral(*crawl, "--restart", APP_MAX_PAGE_LINKS="100")
        said = cut.err + cut.out
        assert (cut.code, "APP_MAX_PAGE_LINKS" in said, f"such as {site.url}/)" in said) == (3, True, True), said
        [newest, *_] = corral("run", "list", "--json").json
        stats = corral("run", "show", newest["id"], "--json").json["stats"]
        # Links out of the crawl are not lost.
        assert stats["left_out"] == {"link_limit": 1, "links_dropped": 20}
        assert stats["left_out_examples"] == {"link_limit": f"{site.url}/"}


def test_a_kill_while_links_are_written_loses_and_doubles_none(tmp_path: Path) -> None:
    count = MANY
    with serve_site({"/": _index(count)}) as site:
        with corral_up(tmp_path, site.url, APP_WORKERS="1") as stack:
            task = submit(stack, f"{site.url}/", max_pages=1, max_depth=1)
            deadline = time.monotonic() + 60 * SLACK
            while (before := _count_discovered(stack, task)) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            stack.process.send_signal(signal.SIGKILL)
            stack.process.wait()
        with corral_up(tmp_path, site.url, APP_WORKERS="1") as stack:
            deadline = time.monotonic() + 120 * SLACK
            while stack.client.get(f"/jobs/runs/{task}").json()["status"] in ("queued", "running"):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            run = stack.client.get(f"/jobs/runs/{task}").json()
    assert (run["stats"]["discovered"], run["stats"]["pending"], run["stats"]["links_dropped"]) == (count + 1, count, 0)
    assert before < count
    assert site.hits["/"] == 2


def _count_discovered(stack: Stack, task: str) -> int:
    return int(stack.client.get(f"/scraping/tasks/{task}/status").json()["total_items"])
