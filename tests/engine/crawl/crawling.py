"""Helpers of the tests of crawls, shared with other tests."""

import asyncio
import time
from typing import Any

from corral.domain.crawl.crawl import Counts, CrawlPlan
from corral.domain.runs.run import Run
from corral.wiring.app import App
from tests.waiting import pauses


async def start(app: App, url: str, **options: Any) -> str:
    plan = {"start_urls": [url], "max_depth": 10, "respect_robots": False, **options}
    run, _ = await app.crawls.start(CrawlPlan.of(plan))
    return run.id


async def wait_for_crawl(app: App, run_id: str, within_s: float = 30.0) -> Run:
    deadline = time.monotonic() + within_s
    looks = pauses()
    while not (run := await app.store.runs.get(run_id)).state.is_terminal:
        assert time.monotonic() < deadline, f"{run.state}: {await app.store.crawls.get(run_id)}"
        await asyncio.sleep(next(looks))
    return run


async def crawl(app: App, url: str, **options: Any) -> tuple[Run, dict[str, dict[str, Any]], Counts]:
    """The run, its records by path, and how many items it has where."""
    run = await wait_for_crawl(app, await start(app, url, **options))
    now = await app.store.crawls.get(run.id)
    assert now.counts.leased == 0
    return run, await records(app, run.id, url), now.counts


async def records(app: App, run_id: str, url: str) -> dict[str, dict[str, Any]]:
    found = await app.store.records.of_run(run_id, "", 1000)
    root = "/".join(url.split("/")[:3])
    by_path = {record.data["url"].removeprefix(root): record.data for record in found}
    assert len(by_path) == len(found), "a page has two records"
    return by_path


async def reasons(app: App, run_id: str) -> dict[str, int]:
    return {reason: count for _, reason, count in await app.store.crawls.count_reasons(run_id)}
