"""The recent results of crawls, on every database."""

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.health import CrawlLoad
from corral.domain.crawl.item import BatchReport, ItemResult
from corral.domain.ids import first_id_of
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store.conftest import Sql
from tests.store.queries.crawl.builders import ask, claim_run, crawl_of, done, first


async def test_pages_of_long_ago_do_not_count_while_their_crawl_goes_on(store: Store, sql: Sql) -> None:
    lease = await claim_run(store, await crawl_of(store, seeds=10))
    items = (await first(store, lease)).items
    failed = tuple(ItemResult(item.id, item.key, ItemState.FAILED, "timeout:total") for item in items[:6])
    held = tuple(item.id for item in items[8:])
    await ask(store, lease, BatchReport((*failed, *map(done, items[6:8])), held, 0))
    assert await store.crawls.load(None) == CrawlLoad(1, done=2, failed=6)
    sql("UPDATE items SET updated_at = updated_at - 3600000")
    sql("UPDATE records SET id = '00000000' || substr(id, 9)")
    await ask(store, lease, BatchReport((done(items[8]),), held[1:], 0))
    assert await store.crawls.load(None) == CrawlLoad(1, done=1, failed=0)


def test_an_id_sorts_by_its_time() -> None:
    made = new_id()
    millis = int(made.replace("-", "")[:12], 16)
    assert first_id_of(millis) <= made < first_id_of(millis + 1)
