"""Archives of kept pages: read by warcio, whole after kills, and without what opens something."""

import asyncio
import functools
import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from warcio.checker import Checker

from corral.domain.crawl.crawl import Bounds, CrawlPlan, ItemState
from corral.domain.crawl.item import BatchReport, ItemResult
from corral.domain.crawl.page_archive import page_document, split_by_size
from corral.domain.errors import PagesNotKept
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import RunAction
from corral.export.formats import Format
from corral.export.stream import Export, chunks
from corral.store.open import open_store
from corral.store.store import Store
from corral.wiring.app import App
from tests.engine.builders import run_node, settings_for
from tests.engine.crawl.site import Page, serve_site, tree
from tests.export.fill import fill_crawl
from tests.export.warc_reader import read
from tests.store.builders import ME, OTHER
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")

SECRETS = ("s3cret-cookie", "s3cret-token", "s3cret-key", "s3cret-query")


@pytest.fixture
async def store(shared_url: str) -> AsyncIterator[Store]:
    opened = open_store(shared_url)
    yield opened
    await opened.close()


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with run_node(settings_for(tmp_path, egress_allow="127.0.0.1/32:*", workers=1)) as opened:
        yield opened


async def crawl(app: App, url: str, **options: Any) -> str:
    plan = CrawlPlan.of({"start_urls": [url], "keep_pages": True, **options})
    run, _ = await app.crawls.start(plan)

    async def has_ended() -> bool:
        return (await app.store.runs.get(run.id)).state.is_terminal

    await until(has_ended)
    return run.id


async def archive(store: Store, run_id: str, *, packs: bool = True) -> bytes:
    export = Export(await store.runs.get(run_id), Format.WARC, packs=packs)
    return b"".join([chunk async for chunk in chunks(store, export)])


async def test_a_crawl_that_keeps_its_pages_can_be_archived(app: App, tmp_path: Path) -> None:
    pages = tree(width=3, depth=1)
    pages["/0"].raw = "<title>packed</title><p>" + "some words in it " * 30
    pages["/old"] = Page(status=301, headers={"location": "/1"})
    pages["/"].links = [*pages["/"].links, "/old", "/gone"]
    with serve_site(pages) as site:
        run_id = await crawl(app, f"{site.url}/")
        data = await archive(app.store, run_id)
    records = read(data)
    assert records[0][0] == "warcinfo"
    assert b"software: Corral/" in records[0][3]
    assert f"isPartOf: run {run_id}".encode() in records[0][3]
    responses = [(url or "", head, body) for kind, url, head, body in records if kind == "response"]
    found = {url.removeprefix(site.url): (head, body) for url, head, body in responses}
    assert set(found) == {"/", "/0", "/1", "/2"}
    assert found["/0"][1].decode() == pages["/0"].raw
    assert found["/0"][0].statusline == "200 OK"
    assert found["/0"][0].get_header("content-length") == str(len(found["/0"][1]))
    assert gzip.decompress(data) == await archive(app.store, run_id, packs=False)
    assert data == await archive(app.store, run_id)
    check(data, tmp_path / "pages.warc.gz", records=len(records))


def check(data: bytes, path: Path, *, records: int) -> None:
    """What warcio itself thinks of it."""
    path.write_bytes(data)

    class Command:
        inputs = (str(path),)
        verbose = False

    checker = Checker(Command())
    checker.process_all()
    assert checker.exit_value == 0
    # Each record can be unpacked by itself.
    assert data.count(b"\x1f\x8b\x08\x00\x00\x00\x00\x00") == records


async def test_what_opens_something_is_not_kept(app: App) -> None:
    headers = {
        "set-cookie": f"sid={SECRETS[0]}; Path=/",
        "x-csrf-token": SECRETS[1],
        "x-api-key": SECRETS[2],
        "link": f"<https://a.test/?access_token={SECRETS[3]}>; rel=next",
        "x-plain": "stays",
    }
    with serve_site({"/?token=s3cret-query": Page(headers=headers, raw="<title>a</title><p>b")}) as site:
        run_id = await crawl(app, f"{site.url}/?token={SECRETS[3]}")
        data = await archive(app.store, run_id, packs=False)
    [(_, url, head, _)] = [each for each in read(data) if each[0] == "response"]
    assert (url, head.get_header("x-plain")) == (f"{site.url}/?token=***", "stays")
    assert [secret for secret in SECRETS if secret.encode() in data] == []
    [page] = await app.store.pages.next_batch(run_id, 0)
    assert [secret for secret in SECRETS if secret in f"{page.url} {page.headers}"] == []


async def test_a_run_that_kept_nothing_is_no_archive(store: Store, shared_url: str) -> None:
    run_id = await _fill_crawl(shared_url)
    with pytest.raises(PagesNotKept, match="did not keep its pages"):
        await archive(store, run_id)


async def _fill_crawl(url: str) -> str:
    return await asyncio.to_thread(functools.partial(fill_crawl, url, 1, goes_on=True))


def a_kept_page(number: int, size: int = 100) -> dict[str, Any]:
    url = f"http://a.test/{number}"
    body = f"page {number} ".encode() * size
    return page_document(url, None, http_status=200, headers=[("x", "ü")], body=body, fetched_at=1_000_000)


async def test_pages_are_kept_with_their_end_once_and_forgotten_with_their_run(store: Store, shared_url: str) -> None:
    run_id = await _fill_crawl(shared_url)
    [lease] = await store.runs.claim_one(run_id, ME, 10)
    step = await store.crawls.step(lease, BatchReport((), (), 10), Bounds())
    assert step is not None
    [item] = step.items
    done = ItemResult(item.id, item.key, ItemState.DONE, record={"url": item.url}, page=a_kept_page(0))
    for _ in range(2):  # told twice: the first answer was lost
        assert await store.crawls.step(lease, BatchReport((done,), (), 0), Bounds()) is not None
    [page] = await store.pages.next_batch(run_id, 0)
    assert (page.url, page.headers, page.body[:6]) == ("http://a.test/0", [["x", "ü"]], b"page 0")
    assert (await store.pages.count(run_id), await store.pages.next_batch(run_id, page.id)) == (1, [])
    assert await store.crawls.step(lease._replace(owner=OTHER), BatchReport((done,), (), 0), Bounds()) is None
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    assert await store.maintenance.prune(Retention(max_finished_runs=0)) == 1
    while await store.maintenance.purge():
        pass
    assert await store.pages.count(run_id) == 0


def test_a_report_carries_no_more_pages_than_fit() -> None:
    large = {**a_kept_page(0), "body": "x" * (20 * 1024 * 1024)}
    ended = [ItemResult(number, "k", ItemState.DONE, page=large) for number in range(4)]
    told, later = split_by_size(ended)
    assert ([each.id for each in told], [each.id for each in later]) == ([0], [1, 2, 3])
    huge = ItemResult(9, "k", ItemState.DONE, page={**large, "body": "x" * (60 * 1024 * 1024)})
    assert split_by_size([huge, ended[0]]) == ([huge], [ended[0]])
    plain = [ItemResult(number, "k", ItemState.DONE) for number in range(4)]
    assert split_by_size(plain) == (plain, [])
