"""The pages of a host that makes them wait are requested in the order in which they were found, beside other hosts.

The crawls run without trap detection: it defers some of these pages, which are all alike, behind the others.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest

from corral.domain.crawl.crawl import Counts, CrawlPlan, ItemState
from corral.domain.crawl.item import Batch, BatchReport, Item, ItemResult
from corral.domain.hosts.order import HostOrder, Position, QueuedPage
from corral.domain.net.url import parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, WaitReason
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import RunState
from corral.engine.hosts.messages import SlotGrant, SlotKind, SlotRefusal, SlotWithdrawal, ToLimiter
from corral.engine.hosts.permits import Permits
from corral.engine.worker.kinds.crawl.crawl import CrawlKind
from tests.engine.builders import node_of, run_node
from tests.engine.crawl.site import Page, Site, serve_site
from tests.engine.hosts.limited_crawls import settings_with_limits, start, wait_for_sound_end
from tests.waiting import until

TEXT = {"content-type": "text/plain"}
TARGET = parse_target("http://site.test/page")
PACE = Deferred("site.test", WaitReason.PACE, 1.0)


def slow_pages(count: int, delay_s: float = 0.05) -> dict[str, Page]:
    robots = Page(raw=f"User-agent: *\nCrawl-delay: {delay_s}\n", headers=TEXT)
    return {"/robots.txt": robots, **{f"/s{number}": Page() for number in range(count)}}


def order_of_requests(site: Site) -> list[int]:
    """The numbers of the pages, as the server's log has them."""
    return [int(path[2:]) for path, _ in site.asked_at if path.startswith("/s")]


def links_to(site: Site, count: int) -> list[str]:
    return [f"{site.url}/s{number}" for number in range(count)]


def interleave(*lists: list[str]) -> list[str]:
    return [each for each in chain.from_iterable(zip_longest(*lists)) if each is not None]


def beside_fast_pages(*links: list[str], count: int = 40) -> dict[str, Page]:
    fast = [f"/f{number}" for number in range(count)]
    return {"/": Page(links=interleave(*links, fast)), **{path: Page() for path in fast}}


@pytest.mark.parametrize("concurrency", [1, 10])
async def test_pages_of_delayed_hosts_keep_their_order_beside_a_fast_host(tmp_path: Path, concurrency: int) -> None:
    count = 10 if concurrency == 1 else 30
    with ExitStack() as stack:
        slow = [stack.enter_context(serve_site(slow_pages(count))) for _ in range(2)]
        fast = stack.enter_context(serve_site(beside_fast_pages(*(links_to(site, count) for site in slow))))
        async with run_node(settings_with_limits(tmp_path, host_max_delay_seconds=5)) as app:
            run = await wait_for_sound_end(
                app, await start(app, f"{fast.url}/", concurrency=concurrency, avoid_traps=False)
            )
    assert run.state is RunState.COMPLETED
    assert [order_of_requests(site) for site in slow] == [list(range(count))] * 2


async def test_after_a_retry_after_the_pages_go_on_in_their_order(tmp_path: Path) -> None:
    with serve_site(slow_pages(20)) as busy, serve_site(beside_fast_pages(links_to(busy, 20))) as fast:
        busy.pages["/s3"] = Page(status=429, headers={"retry-after": "1"})
        async with run_node(settings_with_limits(tmp_path, host_max_delay_seconds=1)) as app:
            run_id = await start(app, f"{fast.url}/", concurrency=10, avoid_traps=False)
            await until(lambda: busy.hits["/s3"] > 0)
            busy.pages["/s3"] = Page()
            run = await wait_for_sound_end(app, run_id)
    assert run.state is RunState.COMPLETED
    order = order_of_requests(busy)
    assert order[:4] == [0, 1, 2, 3]
    assert [number for number in order[4:] if number != 3] == list(range(4, 20))


async def test_redirects_of_and_to_a_delayed_host_change_no_order_and_are_not_repeated_at_once(tmp_path: Path) -> None:
    pages = slow_pages(20, delay_s=0.1)
    for number in (3, 4, 11):
        pages[f"/s{number}"] = Page(status=302, headers={"location": f"/to{number}"})
        pages[f"/to{number}"] = Page()
    pages |= {f"/from{number}": Page() for number in range(5)}
    with serve_site(pages) as slow:
        fast_pages = beside_fast_pages(links_to(slow, 20))
        for number in range(5):
            fast_pages[f"/f{number}"] = Page(status=302, headers={"location": f"{slow.url}/from{number}"})
        with serve_site(fast_pages) as fast:
            async with run_node(settings_with_limits(tmp_path, host_max_delay_seconds=5)) as app:
                run = await wait_for_sound_end(app, await start(app, f"{fast.url}/", concurrency=10, avoid_traps=False))
    assert run.state is RunState.COMPLETED
    assert order_of_requests(slow) == list(range(20))
    assert all(slow.hits[f"/from{number}"] == 1 for number in range(5))
    assert sum(fast.hits[f"/f{number}"] for number in range(5)) <= 25


async def test_after_a_kill_the_pages_that_were_in_flight_come_first_and_the_others_in_order(tmp_path: Path) -> None:
    with serve_site(slow_pages(20, delay_s=0.1)) as slow, serve_site(beside_fast_pages(links_to(slow, 20))) as fast:
        async with run_node(settings_with_limits(tmp_path, host_max_delay_seconds=5)) as app:
            run_id = await start(app, f"{fast.url}/", concurrency=10, avoid_traps=False)
            await until(lambda: slow.hits["/s5"] > 0)
            [worker] = node_of(app).worker_pids
            os.kill(worker, signal.SIGKILL)
            run = await wait_for_sound_end(app, run_id)
    assert run.state is RunState.COMPLETED
    order = order_of_requests(slow)
    assert list(dict.fromkeys(order)) == list(range(20))
    assert all(later - earlier <= 1 for earlier, later in pairwise(order))


class LateFrontier:
    """Hands out `/s2` in an answer that it gave before it was told that `/s1` has to wait; later in order."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self.is_asked = asyncio.Event()
        self.is_refused = asyncio.Event()
        self.pending = {each.id: each for each in (item(1), item(2))}

    @asynccontextmanager
    async def open(self, plan: CrawlPlan, task: Task) -> AsyncIterator["LateFrontier"]:
        yield self

    async def visit(self, item: Item, plan: CrawlPlan, task: Task) -> ItemResult | Deferred:
        self.visits.append(item.url.rpartition("/")[2])
        if self.visits == ["s1"]:
            await self.is_asked.wait()
            self.is_refused.set()
            return PACE
        return ItemResult(item.id, item.key, ItemState.DONE)

    def notify(self, progress: dict[str, Any]) -> None:
        raise AssertionError("a crawl reports its items")

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        raise NotImplementedError

    async def step(self, report: BatchReport) -> Batch:
        found: list[Item] = []
        for each in report.ended:
            if each.state is ItemState.PENDING:
                self.pending[each.id] = item(each.id)
        if not self.visits and not self.is_asked.is_set():
            found = [self.pending.pop(1), item(3, "other.test")]
        elif not self.is_asked.is_set():
            self.is_asked.set()
            await self.is_refused.wait()
            found = [self.pending.pop(2)]
        elif report.want:
            found = [self.pending.pop(each) for each in sorted(self.pending)]
        return Batch(tuple(found), Counts(pending=len(self.pending)), next_due_s=0.0 if self.pending else None)


def item(number: int, host: str = "site.test") -> Item:
    return Item(number, f"http://{host}/s{number}", f"key {number}", 1, 1)


async def test_a_page_that_was_handed_out_too_early_waits_for_those_before_it() -> None:
    frontier = LateFrontier()
    payload = {"crawl": {"start_urls": ["http://site.test/"], "concurrency": 2}}
    task = Task("run", 1, "crawl", "http", 1, Payload(payload), 10.0)
    await CrawlKind(frontier).perform(task, frontier)
    assert frontier.visits == ["s1", "s3", "s1", "s2"]


def begin_pages(order: HostOrder, *numbers: int) -> dict[int, QueuedPage]:
    return {number: order.begin("site.test", Position(is_deferred=False, rank=1.0, id=number)) for number in numbers}


async def test_a_slot_goes_to_the_first_page_of_the_crawl_and_refusals_to_the_last() -> None:
    permits, order = Permits(), HostOrder()
    visits = {number: permits.visit(queued=page) for number, page in begin_pages(order, 0, 1, 2, 3).items()}
    asked = {number: asyncio.create_task(visits[number].enter(TARGET)) for number in (2, 0, 1)}
    await asyncio.sleep(0)
    permits.hear(SlotRefusal("site.test", WaitReason.PACE, (1.0,)))
    permits.hear(SlotGrant("site.test", SlotKind.ONCE))
    assert await asked[2] == PACE
    assert await asked[0] is None
    assert await visits[3].enter(TARGET) == PACE, "it would overtake the one that was sent back"
    assert not asked[1].done()
    permits.hear(SlotGrant("site.test", SlotKind.ONCE))
    assert await asked[1] is None


async def test_a_slot_is_held_for_the_first_page_until_it_arrives_or_ends_without_a_request() -> None:
    permits, order = Permits(), HostOrder()
    visits = {number: permits.visit(queued=page) for number, page in begin_pages(order, 1, 2, 3).items()}
    second, third = [asyncio.create_task(visits[number].enter(TARGET)) for number in (2, 3)]
    await asyncio.sleep(0)
    permits.hear(SlotGrant("site.test", SlotKind.ONCE))
    await asyncio.sleep(0)
    assert not second.done()
    assert await visits[1].enter(TARGET) is None
    permits.hear(SlotGrant("site.test", SlotKind.ONCE))
    assert await second is None
    order.end(1)
    begin_pages(order, 0)
    permits.hear(SlotGrant("site.test", SlotKind.ONCE))
    await asyncio.sleep(0)
    assert not third.done()
    order.end(0)
    assert await third is None


async def test_a_slot_is_not_held_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.engine.hosts.permits._HOLD_S", 0.01)
    permits = Permits()
    pages = begin_pages(HostOrder(), 1, 2)
    second = asyncio.create_task(permits.visit(queued=pages[2]).enter(TARGET))
    await asyncio.sleep(0)
    permits.hear(SlotGrant("site.test", SlotKind.ONCE))
    async with asyncio.timeout(5):
        assert await second is None


async def test_a_page_that_waits_is_sent_back_with_an_earlier_one_that_came_after_it() -> None:
    permits, order = Permits(), HostOrder()
    said: list[ToLimiter] = []
    permits.say = said.append
    later = asyncio.create_task(permits.visit(queued=begin_pages(order, 2)[2]).enter(TARGET))
    await asyncio.sleep(0)
    earlier = asyncio.create_task(permits.visit(queued=begin_pages(order, 1)[1]).enter(TARGET))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    permits.hear(SlotRefusal("site.test", WaitReason.PACE, (1.0,)))
    assert [await earlier, await later] == [PACE, PACE]
    assert said[-1] == SlotWithdrawal("site.test", 1)


def test_pages_behind_one_that_was_sent_back_are_refused_and_no_others() -> None:
    order = HostOrder()
    pages = begin_pages(order, 1, 2, 3)
    elsewhere = order.begin("other.test", Position(is_deferred=False, rank=1.0, id=4))
    pages[2].refuse(PACE)
    pages |= begin_pages(order, 0, 5)
    assert pages[5].refusal == PACE, "the visit of page 2 has not ended: the crawl does not know yet that it comes back"
    order.end(2)
    again = begin_pages(order, 2)[2]
    assert [page.refusal for page in (pages[1], again, pages[3], elsewhere)] == [None, None, PACE, None]
    order.end(0)
    order.end(1)
    assert again.is_first
    assert not pages[3].is_first
