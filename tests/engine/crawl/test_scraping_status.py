"""Health and capacity over HTTP: every number is that of the database, and each word has its reason."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from corral.api.app import create_app
from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.health import CrawlHealth, CrawlLoad, crawl_health
from corral.domain.crawl.item import BatchReport, ItemResult
from corral.domain.runs.run import Lease, RunAction
from corral.wiring.app import App
from corral.wiring.roles import open_client
from tests import services
from tests.engine.builders import settings_for
from tests.engine.crawl.conftest import DATABASES
from tests.store.builders import CREATED, a_run
from tests.store.queries.crawl.builders import ask, claim_run, done, first, url

KINDS = ("timeout:total", "network:reset", "bad_response:http_404", "blocked:captcha")


@pytest.fixture(params=DATABASES)
async def app(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[App]:
    """It serves and does not work: what crawls do is done by the tests."""
    database = None
    if request.param == "postgres":
        cluster: services.PostgresCluster = request.getfixturevalue("postgres")
        database = cluster.create_migrated()
    async with open_client(settings_for(tmp_path, database, max_crawls=3)) as serving:
        yield serving


async def status(app: App) -> dict[str, Any]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app(app)), base_url="http://127.0.0.1") as client:
        answer = await client.get("/scraping/status")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert (told["service"], told["status"]) == ("scraping", "operational")
    return dict(told["orchestrator"])


async def queue_crawl(app: App) -> str:
    run_id, _ = await app.store.crawls.add(a_run(kind="crawl"), CREATED, [url(number) for number in range(10)])
    return run_id


async def start_crawl(app: App, *, good: int = 0, bad: int = 0) -> Lease:
    """A task that is running, with so many pages done and failed."""
    lease = await claim_run(app.store, await queue_crawl(app))
    items = (await first(app.store, lease)).items
    failed = [
        ItemResult(item.id, item.key, ItemState.FAILED, KINDS[place % len(KINDS)])
        for place, item in enumerate(items[:bad])
    ]
    ended = (*failed, *(done(item) for item in items[bad : bad + good]))
    await ask(app.store, lease, BatchReport(ended, tuple(item.id for item in items[bad + good :]), 0))
    return lease


async def test_every_number_is_what_there_is(app: App) -> None:
    nothing = await status(app)
    assert (nothing["status"], nothing["total_tasks"], nothing["error_rate"]) == ("healthy", 0, 0)
    await start_crawl(app, good=4, bad=4)
    await queue_crawl(app)
    await app.store.runs.apply_action(await queue_crawl(app), RunAction.CANCEL)
    await app.store.runs.apply_action(await queue_crawl(app), RunAction.PAUSE)
    told = await status(app)
    assert told["task_status_distribution"] == {
        "pending": 2,
        "running": 1,
        "cancelled": 1,
        "completed": 0,
        "failed": 0,
        "partial": 0,
    }
    assert (told["active_tasks"], told["total_tasks"], told["available_task_slots"]) == (1, 4, 2)
    assert (told["max_concurrent_tasks"], told["max_concurrent_articles"]) == (3, 10)
    errors = {"timeout_errors": 1, "connection_errors": 1, "general_errors": 2, "cancelled_tasks": 1}
    assert {name: told["error_statistics"][name] for name in errors} == errors
    assert (told["error_rate"], told["status"]) == (0.5, "healthy")


async def test_it_is_at_capacity_while_every_slot_is_taken(app: App) -> None:
    leases = [await start_crawl(app) for _ in range(3)]
    await queue_crawl(app)
    told = await status(app)
    assert (told["status"], told["active_tasks"], told["available_task_slots"]) == ("at_capacity", 3, 0)
    await app.store.runs.apply_action(leases[0].run_id, RunAction.CANCEL)
    assert (await status(app))["status"] == "healthy"
    load = await app.store.crawls.load("another node")
    assert load.active == 0, "what others hold takes no room of ours"
    assert (await app.store.crawls.load(leases[0].owner)).active == 2


async def test_it_is_degraded_while_most_pages_fail_and_no_longer(app: App) -> None:
    await start_crawl(app, good=1, bad=6)
    told = await status(app)
    assert (told["status"], told["error_rate"]) == ("degraded", round(6 / 7, 4))
    await start_crawl(app, good=5)
    assert (await status(app))["status"] == "healthy"


async def test_it_is_degraded_while_it_stops(app: App) -> None:
    app.draining = True
    assert (await status(app))["status"] == "degraded"


@pytest.mark.parametrize(
    "load, expected",
    [
        (CrawlLoad(), CrawlHealth.HEALTHY),
        (CrawlLoad(active=2), CrawlHealth.HEALTHY),
        (CrawlLoad(active=3), CrawlHealth.AT_CAPACITY),
        (CrawlLoad(active=3, waited_s=1000), CrawlHealth.AT_CAPACITY),
        (CrawlLoad(waited_s=31), CrawlHealth.DEGRADED),
        (CrawlLoad(waited_s=29), CrawlHealth.HEALTHY),
        (CrawlLoad(failed=4), CrawlHealth.HEALTHY),
        (CrawlLoad(failed=5), CrawlHealth.DEGRADED),
        (CrawlLoad(done=5, failed=5), CrawlHealth.HEALTHY),
        (CrawlLoad(done=5, failed=6), CrawlHealth.DEGRADED),
    ],
)
def test_what_each_word_means(load: CrawlLoad, expected: CrawlHealth) -> None:
    assert crawl_health(load, 3) is expected
    assert crawl_health(load, 3, is_draining=True) is CrawlHealth.DEGRADED
