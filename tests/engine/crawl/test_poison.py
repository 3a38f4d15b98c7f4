"""A page that kills whoever reads it costs three workers and itself; the rest of the crawl goes on."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from corral.domain.crawl.crawl import ItemState
from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.engine.builders import node_of, run_node, settings_for
from tests.engine.crawl.crawling import records, start, wait_for_crawl
from tests.engine.crawl.site import Page, serve_site, tree


def killer(app: App) -> Callable[[], None]:
    """Ends the one worker there is, as a page does that makes the parser of a library crash."""

    def kill() -> None:
        [worker] = node_of(app).worker_pids
        os.kill(worker, signal.SIGSEGV)
        time.sleep(0.2)

    return kill


async def test_a_page_that_kills_its_worker_three_times_has_failed_and_the_others_are_read(
    database: str | None, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, database, egress_allow="127.0.0.1/32:*", workers=1)
    async with run_node(settings) as app:
        pages = tree(width=6, depth=2)
        pages["/2"].on_ask = killer(app)
        with serve_site(pages) as site:
            run = await wait_for_crawl(app, await start(app, f"{site.url}/", concurrency=4), within_s=60)
            assert (run.state, site.hits["/2"]) == (RunState.PARTIAL, 3)
            [failed] = await app.store.crawls.items(run.id, ItemState.FAILED, 0, 10)
            assert (failed.url, failed.reason, failed.losses) == (f"{site.url}/2", "worker_lost:poison", 3)
            below = {f"/2/{number}" for number in range(6)}
            assert set(await records(app, run.id, site.url)) == set(pages) - below - {"/2"}
            assert run.stats["reasons"] == {"worker_lost:poison": 1}
            # Those that were only there are read again, and none of them is blamed.
            assert max(hits for path, hits in site.hits.items() if path != "/2") <= 3


async def test_a_crawl_that_begins_with_such_a_page_ends_and_says_so(database: str | None, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, database, egress_allow="127.0.0.1/32:*", workers=1)
    async with run_node(settings) as app:
        with serve_site({"/": Page(on_ask=killer(app))}) as site:
            run = await wait_for_crawl(app, await start(app, f"{site.url}/"), within_s=60)
            assert (run.state, site.hits["/"]) == (RunState.FAILED, 3)
            assert run.error_message == "crawl failed: 1 of 1 pages failed"
            await asyncio.sleep(0)
