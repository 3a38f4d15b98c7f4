"""Helpers of the tests of frontier, shared with other tests."""

from collections import Counter
from typing import Any

from corral.domain.crawl.crawl import Bounds, Counts, ItemState
from corral.domain.crawl.item import Batch, BatchReport, DiscoveredLink, Item, ItemResult
from corral.domain.runs.run import Lease
from corral.store.store import Store
from tests.store.builders import CREATED, ME, a_run
from tests.store.conftest import Sql


def url(number: int, depth: int = 0, reason: str | None = None) -> DiscoveredLink:
    return DiscoveredLink(f"http://a.test/{number}", f"key-{number}", "a.test", depth, reason, float(depth))


async def crawl_of(store: Store, seeds: int = 1) -> str:
    run = a_run(kind="crawl", max_attempts=1)
    run_id, _ = await store.crawls.add(run, CREATED, [url(number) for number in range(seeds)])
    return run_id


async def claim_run(store: Store, run_id: str) -> Lease:
    [lease] = await store.runs.claim_one(run_id, ME, 10)
    return lease


def done(item: Item, *found: DiscoveredLink, **changed: object) -> ItemResult:
    record = {"url": item.url}
    return ItemResult(item.id, item.key, ItemState.DONE, record=record, found=found, size=10)._replace(**changed)  # type: ignore[arg-type]


async def ask(store: Store, lease: Lease, report: BatchReport, max_pages: int | None = None, **bounds: Any) -> Batch:
    step = await store.crawls.step(lease, report, Bounds(max_pages, **bounds))
    assert step is not None
    return step


async def first(store: Store, lease: Lease, want: int = 10) -> Batch:
    return await ask(store, lease, BatchReport((), (), want))


def check_counts(sql: Sql, run_id: str, counts: Counts) -> None:
    found: Counter[str] = Counter(
        dict(sql(f"SELECT state, count(*) FROM items WHERE run_id = '{run_id}' GROUP BY state"))
    )
    told = counts._asdict()
    assert {name: found[name] for name in told} == told
    assert counts.discovered == found.total()
