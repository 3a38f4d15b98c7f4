"""Helpers of the tests of crawls, shared with other tests."""

from pathlib import Path
from typing import Any

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.runs.run import Run
from corral.settings import Settings
from corral.wiring.app import App
from tests.engine.builders import settings_for, sound, wait_for_runs


def settings_with_limits(folder: Path, **changed: Any) -> Settings:
    plain: dict[str, Any] = {"egress_allow": "127.0.0.0/8:*", "breaker_failures": 3, "workers": 1}
    return settings_for(folder, **(plain | changed))


async def start(app: App, url: str, **options: object) -> str:
    plan = {"start_urls": [url], "scope": {"mode": "any"}, "max_depth": 2, "concurrency": 4, "retry_attempts": 3}
    run, _ = await app.crawls.start(CrawlPlan.of({**plan, **options}))
    return run.id


async def wait_for_sound_end(app: App, run_id: str) -> Run:
    [run] = await wait_for_runs(app, [run_id], timeout_s=40)
    await sound(app)
    return run
