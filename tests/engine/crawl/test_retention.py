"""A node that keeps house forgets crawls by itself, and only those it may."""

from pathlib import Path

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.runs.record import RecordFilter
from corral.wiring.app import App
from corral.wiring.options import retention
from corral.wiring.roles import open_node
from tests.engine.builders import settings_for
from tests.engine.crawl.site import Page, serve_site

A_MOMENT = 1e-6


async def crawl_to_end(app: App, url: str, *, keep: bool) -> str:
    run, _ = await app.crawls.start(CrawlPlan.of({"start_urls": [url]}), keep=keep)
    while not (await app.store.runs.get(run.id)).state.is_terminal:
        await app.pulse.wait(0.02)
    return run.id


async def list_crawls(app: App) -> list[str]:
    return [run.id for run, _ in await app.store.crawls.newest(None, 10)]


async def test_finished_crawls_are_forgotten_after_their_time_unless_they_are_kept(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, None, egress_allow="127.0.0.1/32:*")
    assert retention(settings).max_crawl_age_hours == 24
    with serve_site({"/": Page(), "/kept": Page()}) as site:
        async with open_node(settings) as app:
            gone = await crawl_to_end(app, f"{site.url}/", keep=False)
            kept = await crawl_to_end(app, f"{site.url}/kept", keep=True)
    for hours, expected in ((0.0, [kept, gone]), (A_MOMENT, [kept])):
        later = settings.model_copy(update={"crawl_retention_hours": hours})
        async with open_node(later) as app:
            assert app.sweeper is not None
            await app.sweeper.sweep()
            await app.sweeper._prune()
            assert await list_crawls(app) == expected
            records = await app.store.records.newest(RecordFilter(), None, 10)
            assert sorted(record.run_id for record in records) == sorted(expected)
