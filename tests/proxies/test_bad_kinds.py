"""Every kind of bad proxy, in every way of fetching: out within three uses, no page lost, none fetched directly.

The pool believes that all proxies are good, and the bad ones better than the good ones.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId, RunId
from corral.domain.jobs.job import CrawlMode, Job, Priority, Strategy
from corral.domain.net.pool_policy import Tier
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.imports import NewProxy
from corral.domain.proxies.pooled import Anonymity, PooledProxy
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import NewRun, Run
from corral.runtime.new_ids import new_id
from corral.wiring.app import App
from tests.chaos.level import LEVEL, by_level
from tests.engine.builders import put, run_node, settings_for, wait_for_runs
from tests.fetch.browsing import needs_chromium
from tests.proxies.world import BAD_IN_USE, PROXY_ADDRESS, ProxyWorld, proxy_world, relay
from tests.slack import SLACK

POOL = ProxyPolicy("pool")
RECIPE = {
    "id": "r",
    "version": 1,
    "url_pattern": "/page/*",
    "calls": [{"method": "GET", "url": "{origin}/api/", "headers": {}}],
    "fields": {"title": {"call": 0, "value": "{$.title}"}},
}
PAGES = {Strategy.HTTP: 40, Strategy.API_REPLAY: 40, Strategy.BROWSER: by_level(10, 14)}
# The kinds that a browser notices in different ways; over HTTP, all kinds are tried.
_BAD_IN_BROWSER = ("dead", "stalls", "redirects", "truncates", "certificate")
_ROUNDS = 20

pytestmark = pytest.mark.usefixtures("forked_workers")


async def stock(app: App, world: ProxyWorld, bad: dict[str, Any]) -> None:
    names = list(world.proxies)
    found = [NewProxy(name, world.address(name), None, Tier.DATACENTRE, "") for name in names]
    await app.store.proxies.add(found)
    checks = [
        ProxyCheck(number, latency_ms=1 if name in bad else 60_000, anonymity=Anonymity.ELITE)
        for number, name in enumerate(names, 1)
    ]
    await app.store.proxies.record_checks(checks)


async def read_pool(app: App, world: ProxyWorld) -> dict[str, PooledProxy]:
    by_address = {each.address: each for each in await app.store.proxies.page(None, None, 100)}
    return {name: by_address[world.address(name)] for name in world.proxies}


def a_page(world: ProxyWorld, number: int, strategy: Strategy) -> NewRun:
    payload = {
        "url": f"{world.site}/page/{number}",
        "fields": [{"name": "title"}],
        "respect_robots": False,
        "proxy": POOL.document(),
        "recipe": RECIPE if strategy is Strategy.API_REPLAY else None,
        "timeout_s": 12,
    }
    return NewRun(RunId(new_id()), None, "page", Priority.MEDIUM, 3, strategy, strategy, Payload(payload))


async def fetch_pages(app: App, world: ProxyWorld, strategy: Strategy) -> list[Run]:
    runs = [a_page(world, number, strategy) for number in range(PAGES[strategy])]
    return await wait_for_runs(app, await put(app, *runs), timeout_s=150 * SLACK)


async def start_job(app: App, world: ProxyWorld, mode: CrawlMode) -> list[Run]:
    config = {"max_pages": 50} if mode is CrawlMode.CRAWL else {"item_links": {"css": "a"}}
    job = Job(
        JobId(new_id()), f"{world.site}/", (FieldSpec("title"),), datetime.now(UTC), crawl_mode=mode,
        list_config=config, proxy=POOL, strategy=Strategy.HTTP, respect_robots=False,
    )  # fmt: skip
    await app.store.jobs.add(job, None)
    started, _ = await app.submitter.start(job.id)
    return await wait_for_runs(app, [started.id], timeout_s=150 * SLACK)


async def _are_out(app: App, world: ProxyWorld, bad: dict[str, Any]) -> bool:
    for _ in range(10):  # uses are written twice a second
        pool = await read_pool(app, world)
        if all(pool[name].state.value == "cooling" for name in bad):
            return True
        await asyncio.sleep(0.2)
    return False


@pytest.mark.parametrize(
    "way",
    [
        Strategy.HTTP,
        Strategy.API_REPLAY,
        CrawlMode.CRAWL,
        pytest.param(CrawlMode.LIST, marks=pytest.mark.long),  # the pages of a list are fetched like those of a crawl
        pytest.param(Strategy.BROWSER, marks=pytest.mark.browser),
    ],
)
async def test_bad_proxies_are_out_within_three_uses(tmp_path: Path, way: Strategy | CrawlMode) -> None:
    if way is Strategy.BROWSER:
        needs_chromium()
    names = _BAD_IN_BROWSER if way is Strategy.BROWSER and not LEVEL else tuple(BAD_IN_USE)
    bad = {name: BAD_IN_USE[name] for name in names}
    good = {f"good {number}": relay for number in range(len(bad))}
    navigation_ms = 12_000 if way is Strategy.BROWSER else 6_000
    settings = settings_for(
        tmp_path, egress_allow="127.0.0.0/8:*", http_timeout_seconds=12, browser_nav_timeout_ms=navigation_ms,
        browser_concurrency=3, proxy_config=tmp_path / "proxies.yaml",
    )  # fmt: skip
    (tmp_path / "proxies.yaml").write_text("tiers: {datacentre: {cost_per_request: 0.25}}")
    with proxy_world({**bad, **good}) as world:
        async with run_node(settings) as app:
            await stock(app, world, bad)
            runs: list[Run] = []
            # The choice is weighted and random: a bad proxy that had two uses may wait long for the third.
            for _ in range(_ROUNDS):
                runs += await (
                    fetch_pages(app, world, way) if isinstance(way, Strategy) else start_job(app, world, way)
                )
                if await _are_out(app, world, bad):
                    break
            found = await read_pool(app, world)
            costs = [await app.sites.costs.of_run(run.id) for run in runs]
        assert {cost["cost"] / cost["requests"] for cost in costs} == {0.25}, "the tries that failed included"
        assert {run.state.value for run in runs} == {"completed"}, [run.error_message for run in runs]
        if isinstance(way, CrawlMode):
            assert all(run.stats["done"] >= 40 for run in runs)
            assert not any(run.stats["failed"] for run in runs)
        assert {name: (found[name].state.value, found[name].uses) for name in bad} == dict.fromkeys(bad, ("cooling", 3))
        assert {found[name].state.value for name in good} == {"alive"}
        assert set(world.callers) == {PROXY_ADDRESS}, world.callers
