"""A crawl and who helps with it, for the tests of the store: workers that do as those of the engine, step by step."""

from collections import Counter
from typing import Any

from corral.domain.crawl.crawl import Bounds, Counts, ItemState
from corral.domain.crawl.item import Batch, BatchReport, DiscoveredLink, Item, ItemResult
from corral.domain.crawl.sharing import host_key_of_url
from corral.domain.ids import Owner
from corral.domain.runs.run import CRAWL_HELPER, Lease
from corral.store.store import Store
from tests.store.builders import CREATED, ME, OTHER, a_run
from tests.store.conftest import Sql

AT_ONCE = 6
SHARED = Bounds(workers=4, concurrency=AT_ONCE)


def page(host: int, number: int, depth: int = 1, *, www: str = "") -> DiscoveredLink:
    name = f"{www}h{host}.test"
    return DiscoveredLink(f"http://{name}/{number}", f"{name}/{number}", name, depth, None, float(depth))


def done(item: Item, *found: DiscoveredLink) -> ItemResult:
    return ItemResult(item.id, item.key, ItemState.DONE, record={"url": item.url}, found=found, size=10)


class Worker:
    """As engine.worker.kinds.crawl.crawl does it, one thing at a time."""

    def __init__(self, store: Store, lease: Lease, bounds: Bounds = SHARED) -> None:
        self.store = store
        self.lease = lease
        self.bounds = bounds
        self.held: dict[int, Item] = {}
        self.at_once = 0
        self.is_done = False
        self.heard: Batch | None = None
        self.traps: dict[str, Any] | None = None  # what it tells once

    async def step(self, *ended: ItemResult, want: int | None = None, is_last: bool = False) -> Batch:
        for each in ended:
            self.held.pop(each.id, None)
        if want is None:
            want = 3 * (self.at_once or (0 if self.lease.run.kind == CRAWL_HELPER else AT_ONCE)) - len(self.held)
        report = BatchReport(
            tuple(ended), tuple(self.held), max(0, want), is_last, self.traps, self.at_once, self.is_done
        )
        self.traps = None
        step = await self.store.crawls.step(self.lease, report, self.bounds)
        assert step is not None, "the lease is ours"
        self.heard = step
        self.at_once = AT_ONCE if step.at_once is None else step.at_once
        self.held |= {item.id: item for item in step.items}
        self.is_done = not self.held and want > 0 and step.next_due_s is None
        return step

    @property
    def places(self) -> set[str]:
        return {host_key_of_url(item.url) for item in self.held.values()}


async def a_crawl(store: Store, *seeds: DiscoveredLink) -> str:
    run = a_run(kind="crawl", max_attempts=1, payload={"url": "http://h0.test/", "crawl": {}})
    run_id, _ = await store.crawls.add(run, CREATED, [each._replace(depth=0, rank=0.0) for each in seeds])
    return run_id


async def claim_worker(store: Store, run_id: str, bounds: Bounds = SHARED) -> Worker:
    [lease] = await store.runs.claim_one(run_id, ME, 10)
    return Worker(store, lease, bounds)


async def helpers(store: Store, count: int, bounds: Bounds = SHARED, owner: Owner = OTHER) -> list[Worker]:
    found = [Worker(store, lease, bounds) for lease in await store.crawls.claim_helpers(owner, count, 10)]
    assert len(found) == count
    return found


async def share_crawl(store: Store, hosts: int = 4, pages: int = 30, **changed: Any) -> tuple[Worker, Worker]:
    """A crawl and one that helps with it, each with something to do."""
    bounds = SHARED._replace(workers=2, **changed)
    crawl = await claim_worker(store, await a_crawl(store, *(page(host, 0) for host in range(hosts))), bounds)
    step = await crawl.step()
    found = [page(host, number) for number in range(1, pages) for host in range(hosts)]
    assert step.helpers == 0, "there is nothing left for others to do"
    [first, *others] = step.items
    await crawl.step(done(first, *found), *(done(each) for each in others), want=0)
    step = await crawl.step(want=2)
    assert step.helpers == 1
    [helper] = await helpers(store, 1, bounds)
    await helper.step()
    for _ in range(20):
        if helper.held and crawl.held:
            return crawl, helper
        ended = [done(each) for each in list(crawl.held.values())[:2]]
        await crawl.step(*ended)
        await helper.step()
    raise AssertionError("the helper got nothing")


def check(sql: Sql, crawl: str, counts: Counts, most: int = AT_ONCE) -> None:
    found: Counter[str] = Counter(
        dict(sql(f"SELECT state, count(*) FROM items WHERE run_id = '{crawl}' GROUP BY state"))
    )
    assert {name: found[name] for name in counts._fields} == counts._asdict()
    at = Counter(host for host, _ in sql(f"SELECT DISTINCT host, helper FROM items WHERE {_match_leased_items(crawl)}"))
    assert not [host for host, count in at.items() if count > 1], "a host is with one worker at a time"
    [(granted,)] = sql(f"SELECT coalesce(sum(concurrency), 0) FROM crawl_helpers WHERE run_id = '{crawl}'")
    assert granted <= most


def _match_leased_items(crawl: str) -> str:
    return f"run_id = '{crawl}' AND state = 'leased'"


async def work_off(workers: list[Worker]) -> None:
    """Until none of them has anything left to do."""
    for _ in range(500):
        for worker in workers:
            await worker.step(*(done(each) for each in list(worker.held.values())))
        if all(worker.is_done for worker in workers):
            return
    raise AssertionError("it never ends")
