"""Crawls at the gates of real hosts."""

import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy as sa

from corral.domain.hosts.limiter import SitePace
from corral.domain.runs.run import RunState
from corral.store.tables import items
from corral.wiring.app import App
from tests.chaos.level import LEVEL
from tests.engine.builders import node_of, run_node
from tests.engine.crawl.site import Page, Site, serve_site
from tests.engine.hosts.limited_crawls import settings_with_limits, start, wait_for_sound_end
from tests.waiting import until


def host_key(site: Site) -> str:
    return site.url.partition("//")[2]


def a_site(count: int, *more: str) -> dict[str, Page]:
    pages = {f"/{number}": Page() for number in range(count)}
    return {
        "/": Page(links=[*pages, *more]),
        "/robots.txt": Page(raw="", headers={"content-type": "text/plain"}),
        **pages,
    }


async def test_a_crawl_goes_on_with_other_hosts_while_one_is_left_alone_and_comes_back_to_it(tmp_path: Path) -> None:
    broken = {"/robots.txt": Page(raw=""), **{f"/b{number}": Page(status=500) for number in range(24)}}
    with serve_site(broken) as bad, serve_site(a_site(20, *[f"{bad.url}/b{number}" for number in range(24)])) as good:
        async with run_node(settings_with_limits(tmp_path, breaker_open_seconds=4)) as app:
            run_id = await start(app, f"{good.url}/", respect_robots=False)
            await until(lambda: host_key(bad) in node_of(app).limiter.watched)
            await until(lambda: sum(good.hits.values()) >= 21)
            hits = sum(bad.hits.values())
            way = await app.store.crawls.path_to(run_id, (await _a_waiting_key(app, run_id)))
            assert way[0].reason == "waiting:breaker"
            assert way[0].due_in_s > 0
            for name in broken:
                bad.pages[name] = Page()
            run = await wait_for_sound_end(app, run_id)
    assert (run.state, run.stats["done"], run.stats["failed"]) == (RunState.COMPLETED, 45, 0)
    assert hits < 24  # those that were under way when it opened


async def _a_waiting_key(app: App, run_id: str) -> str:
    wanted = sa.select(items.c.url_key).where(items.c.run_id == run_id, items.c.reason == "waiting:breaker").limit(1)

    async def is_waiting() -> bool:
        return bool(await app.store._db.read(lambda tx: tx.all(wanted)))

    await until(is_waiting)
    rows = await app.store._db.read(lambda tx: tx.all(wanted))
    return str(rows[0][0])


@pytest.mark.skipif(not LEVEL, reason="long")
async def test_a_crawl_of_a_broken_host_waits_for_the_probe_and_loses_no_page(tmp_path: Path) -> None:
    with serve_site(a_site(30)) as site:
        async with run_node(settings_with_limits(tmp_path, breaker_open_seconds=2)) as app:
            for number in range(30):
                site.pages[f"/{number}"] = Page(status=500)
            run_id = await start(app, f"{site.url}/", respect_robots=False)
            await until(lambda: host_key(site) in node_of(app).limiter.watched)
            await asyncio.sleep(0.5)
            before = sum(site.hits.values())
            for number in range(30):
                site.pages[f"/{number}"] = Page(takes_s=0.3)
            await until(lambda: sum(site.hits.values()) > before)
            await asyncio.sleep(0.1)
            assert sum(site.hits.values()) == before + 1  # the probe
            run = await wait_for_sound_end(app, run_id)
    assert (run.state, run.stats["done"], run.stats["failed"]) == (RunState.COMPLETED, 31, 0)


async def test_a_crawl_keeps_to_the_delay_that_robots_txt_asks_for(tmp_path: Path) -> None:
    pages = a_site(3)
    pages["/robots.txt"] = Page(raw="User-agent: *\nCrawl-delay: 0.5\n", headers={"content-type": "text/plain"})
    with serve_site(pages) as site:
        async with run_node(settings_with_limits(tmp_path, host_max_delay_seconds=5)) as app:
            run = await wait_for_sound_end(app, await start(app, f"{site.url}/", concurrency=8))
            assert run.state is RunState.COMPLETED
            respecting = [at for path, at in site.asked_at if path != "/robots.txt"]
            free = await wait_for_sound_end(app, await start(app, f"{site.url}/", respect_robots=False, max_depth=1))
    gaps = [later - earlier for earlier, later in pairwise(respecting)]
    assert len(gaps) == 3
    # As the server sees them: one may be late, and the next in time.
    assert sum(gaps) >= 3 * 0.5 - 0.4, gaps
    assert free.state is RunState.COMPLETED


@pytest.mark.skipif(not LEVEL, reason="long")
async def test_a_crawl_keeps_the_pace_a_person_has_set(tmp_path: Path) -> None:
    with serve_site(a_site(6)) as site:
        async with run_node(settings_with_limits(tmp_path)) as app:
            await app.store.hosts.set_pace(host_key(site), SitePace(2, 0.2))
            await until(lambda: host_key(site) in node_of(app).limiter.watched)
            run = await wait_for_sound_end(app, await start(app, f"{site.url}/", concurrency=8, respect_robots=False))
    gaps = [later - earlier for (_, earlier), (_, later) in pairwise(site.asked_at)]
    assert run.state is RunState.COMPLETED
    assert min(gaps) >= 0.099
    assert site.most_at_once <= 2


@pytest.mark.skipif(not LEVEL, reason="long")
async def test_a_crawl_reads_as_many_pages_of_a_host_at_once_as_it_was_promised(tmp_path: Path) -> None:
    pages = a_site(40)
    for number in range(40):
        pages[f"/{number}"] = Page(takes_s=0.5)
    with serve_site(pages) as site:
        async with run_node(settings_with_limits(tmp_path, host_concurrency=2)) as app:
            await wait_for_sound_end(app, await start(app, f"{site.url}/", concurrency=20, respect_robots=False))
    assert 15 <= site.most_at_once <= 20


@pytest.mark.parametrize("takes_s", [0.0, 0.4])
async def test_a_crawl_of_a_host_with_a_delay_keeps_the_order_of_the_links(tmp_path: Path, takes_s: float) -> None:
    pages = a_site(12)
    for name in pages:
        pages[name] = replace(pages[name], takes_s=takes_s)
    pages["/robots.txt"] = Page(raw="User-agent: *\nCrawl-delay: 0.3\n", headers={"content-type": "text/plain"})
    with serve_site(pages) as site:
        async with run_node(settings_with_limits(tmp_path, host_max_delay_seconds=5)) as app:
            run = await wait_for_sound_end(app, await start(app, f"{site.url}/", concurrency=5))
    asked = [path for path, _ in site.asked_at if path != "/robots.txt"]
    assert run.state is RunState.COMPLETED
    assert asked == ["/", *(f"/{number}" for number in range(12))]
