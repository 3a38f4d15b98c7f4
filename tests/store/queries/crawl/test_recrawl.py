"""Records of pages that an incremental crawl does not receive again, on every database."""

import json
from typing import Any

from corral.domain.crawl.crawl import ItemState, Since
from corral.domain.crawl.item import BatchReport, Change, ItemResult
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.crawl.scope import Scope
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import Lease
from corral.store.store import Store
from tests.store.builders import CREATED, a_run
from tests.store.conftest import Sql
from tests.store.queries.crawl.builders import ask, claim_run, done, url


async def _crawl(store: Store) -> Lease:
    plan = CrawlPayload(url="http://a.test/0", plan_document={"start_urls": ["http://a.test/0"]})
    run = a_run(kind="crawl", payload=Payload.of(plan))
    run_id, _ = await store.crawls.add(run, CREATED, [url(0)])
    return await claim_run(store, run_id)


async def test_all_records_of_an_unchanged_page_are_carried_over_with_their_details(store: Store, sql: Sql) -> None:
    def read_stored(run_id: str) -> list[tuple[str, Any, Any]]:
        rows = sql(f"SELECT item_key, data, details FROM records WHERE run_id = '{run_id}' ORDER BY item_key")
        return [
            (key, *(each if each is None or isinstance(each, dict) else json.loads(each) for each in rest))
            for key, *rest in rows
        ]

    earlier = await _crawl(store)
    [item] = (await ask(store, earlier, BatchReport((), (), 10))).items
    more = (('{"n": 2}', {"n": {"raw": "two"}}), ('{"n": 3}', None))
    read = done(item, details={"url": {"raw": "x"}}, more=more, version=("digest", '"1"', None))
    await ask(store, earlier, BatchReport((read,), (), 0))
    assert len(read_stored(earlier.run_id)) == 3

    since = Since(earlier.run_id, Scope.of({"mode": "any", "max_depth": 3}, ("http://a.test/0",)))
    lease = await _crawl(store)
    [again] = (await ask(store, lease, BatchReport((), (), 10), since=since)).items
    assert again.earlier_version == ("digest", '"1"', None)
    same = ItemResult(again.id, again.key, ItemState.DONE, version=again.earlier_version, change=Change.UNCHANGED)
    await ask(store, lease, BatchReport((same,), (), 0), since=since)
    expected = [(key, {**data, "change": "unchanged"}, details) for key, data, details in read_stored(earlier.run_id)]
    assert read_stored(lease.run_id) == expected
