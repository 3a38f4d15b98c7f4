"""The pool of a node: who gets which proxy, and what becomes of suspects."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from corral.domain.crawl.crawl import CrawlPlan, ItemState
from corral.domain.crawl.item_decision import decide_item
from corral.domain.net.pool_policy import Tier
from corral.domain.ports.proxies import LeasedProxy
from corral.domain.proxies.blame import Suspicions
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.choice import LeaseRequest
from corral.domain.proxies.imports import NewProxy
from corral.domain.proxies.outage import ProxyOutage
from corral.domain.proxies.use import ProxyUse, Verdict
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.retry import RetryPolicy, decide
from corral.domain.runs.run import RunAction
from corral.engine.proxies import pool
from corral.engine.proxies.messages import GrantProxy, ReportProxy, RequestProxy
from corral.engine.proxies.pool import ProxyPool
from corral.store.open import open_store
from corral.store.store import Store
from tests.domain.runs.builders import A_RUN
from tests.services.sqlite import migrate

NOW = datetime.now(UTC)


class Holder:
    """A worker that only listens."""

    def __init__(self) -> None:
        self.granted: dict[int, LeasedProxy | None] = {}
        self.heard = asyncio.Event()

    def send(self, messages: list[GrantProxy]) -> None:
        for message in messages:
            self.granted[message.number] = message.proxy
        self.heard.set()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_store(f"sqlite:///{migrate(tmp_path / 'corral.db')}")
    yield opened
    await opened.close()


async def add_alive(store: Store, count: int) -> None:
    await store.proxies.add([NewProxy(f"h{n}", f"http://h{n}:1", None, Tier.DATACENTRE, "") for n in range(count)])
    await store.proxies.record_checks([ProxyCheck(each, latency_ms=5) for each in await store.proxies.ids()])


class World:
    def __init__(self, store: Store) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        self.pool = ProxyPool(store.proxies, self._spawn, lambda _: None, chance=lambda: 0.0)
        self.holder = Holder()

    def _spawn(self, work: Any) -> None:
        self.tasks.add(asyncio.ensure_future(work))

    def ask(self, number: int, **more: Any) -> None:
        self.pool.hear(self.holder, RequestProxy(number, LeaseRequest("site", **more)))

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0.005)

    async def report(self, proxy_id: int, verdict: Verdict, page: str = "p") -> None:
        use = ProxyUse(proxy_id, "site", Tier.DATACENTRE, verdict, "why", page)
        self.pool.hear(self.holder, ReportProxy(use))
        await self.settle()

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()


async def test_a_proxy_without_a_success_gets_no_more_requests_than_it_has_failures_left(store: Store) -> None:
    await add_alive(store, 1)
    world = World(store)
    for number in range(5):
        world.ask(number)
    await world.settle()
    assert sorted(world.holder.granted) == [0, 1, 2], "the others wait for a verdict"
    for _ in range(3):
        await world.report(1, Verdict.FAULT)
    assert [world.holder.granted[number] for number in (3, 4)] == [None, None]
    await world.pool.flush()
    proxy = await store.proxies.get(1)
    assert (proxy.state, proxy.uses) == ("cooling", 3)
    world.close()


async def test_a_reload_while_uses_are_written_loses_none_of_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_alive(store, 1)
    world, may_write, write = World(store), asyncio.Event(), store.proxies.record_uses
    await world.pool._load(0)
    for _ in range(2):
        await world.report(1, Verdict.FAULT)

    async def write_late(uses: list[ProxyUse]) -> None:
        await may_write.wait()
        await write(uses)

    monkeypatch.setattr(store.proxies, "record_uses", write_late)
    writing = asyncio.create_task(world.pool.flush())
    await world.settle()
    monkeypatch.setattr(pool, "_FRESH_S", 0.0)
    for number in range(3):
        world.ask(number)
    await world.settle()
    may_write.set()
    await writing
    await world.settle()
    assert list(world.holder.granted) == [0], "one failure is left"
    world.close()


async def test_a_success_lets_the_waiting_requests_through(store: Store) -> None:
    await add_alive(store, 1)
    world = World(store)
    for number in range(5):
        world.ask(number)
    await world.settle()
    await world.report(1, Verdict.GOOD)
    assert all(world.holder.granted[number] is not None for number in range(5))
    world.pool.remove_holder(world.holder)
    world.close()


async def test_a_dead_site_neither_empties_the_pool_nor_blocks_it_for_other_sites(store: Store) -> None:
    await add_alive(store, 2)
    world = World(store)
    for proxy_id in (1, 2):
        await world.report(proxy_id, Verdict.GOOD, "elsewhere")
        for page in range(4):
            await world.report(proxy_id, Verdict.SUSPECT, f"dead {page}")
    for number in range(6):
        world.pool.hear(world.holder, RequestProxy(number, LeaseRequest("other site")))
    world.ask(7)  # at the dead site itself
    await world.settle()
    assert all(world.holder.granted[number] is not None for number in (*range(6), 7))
    await world.pool.flush()
    assert [each.state for each in await store.proxies.page(None, None, 9)] == ["alive", "alive"]
    world.close()


async def test_a_suspect_is_chosen_only_if_there_is_no_other(store: Store) -> None:
    await add_alive(store, 2)
    world = World(store)
    world.ask(0)
    await world.settle()
    await world.report(1, Verdict.SUSPECT)
    world.ask(1)
    world.ask(2, exclude=(2,))
    await world.settle()
    chosen = [world.holder.granted[number] for number in range(3)]
    assert [each and each.id for each in chosen] == [1, 2, 1]
    world.close()


async def test_an_empty_pool_answers_at_once(store: Store) -> None:
    world = World(store)
    world.ask(1)
    world.ask(2, tiers=tuple(Tier), is_tiered=True)
    await world.settle()
    assert world.holder.granted[1] is None
    assert world.holder.granted[2] == LeasedProxy(0, Tier.DIRECT), "only a tiered policy may connect directly"
    world.close()


def test_a_suspect_is_blamed_when_another_proxy_gets_the_page_and_only_then() -> None:
    def use(proxy: int, verdict: Verdict, page: str = "p") -> ProxyUse:
        return ProxyUse(proxy, "site", Tier.DATACENTRE, verdict, "slow", page)

    suspicions = Suspicions()
    assert suspicions.judge(use(1, Verdict.SUSPECT), 0.0) == []
    assert suspicions.judge(use(2, Verdict.GOOD, "other page"), 1.0) == [use(2, Verdict.GOOD, "other page")]
    assert suspicions.judge(use(2, Verdict.GOOD), 2.0) == [use(2, Verdict.GOOD), use(1, Verdict.FAULT)]
    assert suspicions.judge(use(3, Verdict.SUSPECT), 3.0) == [use(3, Verdict.FAULT)], "the page had been answered"
    assert suspicions.judge(use(4, Verdict.SUSPECT, "dead page"), 4.0) == []
    assert suspicions.expire(1000.0) == [use(4, Verdict.NOTHING, "dead page")]
    assert suspicions.judge(use(5, Verdict.SUSPECT, "slow page"), 1001.0) == []
    retried = suspicions.judge(use(5, Verdict.GOOD, "slow page"), 1002.0)
    assert retried == [use(5, Verdict.GOOD, "slow page"), use(5, Verdict.NOTHING, "slow page")], "the same proxy"


async def test_a_proxy_that_gets_the_page_later_is_no_suspect_any_more(store: Store) -> None:
    await add_alive(store, 1)
    world = World(store)
    await world.report(1, Verdict.SUSPECT)
    await world.report(1, Verdict.GOOD)
    for number in range(5):
        world.ask(number)
    await world.settle()
    assert all(world.holder.granted.get(number) is not None for number in range(5))
    world.close()


FAULT = Failed(FailureCode.NETWORK, "refused", "proxy", stats={"pool_tries": 3})


def test_faults_of_pool_proxies_are_no_attempts_up_to_a_bound() -> None:
    run = A_RUN._replace(attempt=3, max_attempts=3)
    given_back = decide(run, FAULT, RetryPolicy(), NOW)
    assert (given_back.action, given_back.due_in_s) == (RunAction.RELEASE, 2.0)
    often = run._replace(attempts=tuple({"detail": "proxy"} for _ in range(20)))
    assert decide(often, FAULT, RetryPolicy(), NOW).action is RunAction.FAIL


FIXED_FAULT = Failed(FailureCode.NETWORK, "refused", "proxy")


def test_a_fixed_proxy_has_as_many_tries_as_the_run_has_attempts_and_uses_none_of_them() -> None:
    run = A_RUN._replace(attempt=3, max_attempts=3)
    for earlier, action, pause_s in ((0, RunAction.RELEASE, 10), (1, RunAction.RELEASE, 30), (2, RunAction.FAIL, 0)):
        entries = ({"detail": "http_500"}, *({"detail": "proxy"} for _ in range(earlier)))
        decided = decide(run._replace(attempts=entries), FIXED_FAULT, RetryPolicy(jitter=0), NOW)
        assert (decided.action, decided.due_in_s) == (action, pause_s)
        empty = Failed(FailureCode.NETWORK, "none", "no_proxy", stats={"pool_tries": 0})
        assert decide(run._replace(attempts=entries), empty, RetryPolicy(jitter=0), NOW).action is action
    assert decide(run._replace(max_attempts=1), FIXED_FAULT, RetryPolicy(), NOW).action is RunAction.FAIL


def test_an_outage_of_the_proxy_is_over_after_as_many_rounds_as_attempts() -> None:
    outage = ProxyOutage()
    outage.note_fault(0.0, 10.0)
    outage.note_fault(0.1, 10.0)  # another page of the same round
    assert (outage.rounds, outage.paused_until) == (1, 10.0)
    outage.note_fault(10.0, 30.0)
    assert not outage.is_over(3)
    outage.note_answer()
    assert (outage.rounds, outage.paused_until < 0) == (0, True)
    for at in (50.0, 60.0, 70.0):
        outage.note_fault(at, 10.0)
    assert outage.is_over(3)


def test_faults_of_pool_proxies_are_no_attempts_of_a_page() -> None:
    plan = CrawlPlan.of({"start_urls": ["http://a.test/"]})
    decided = decide_item(3, FAULT, plan, NOW, key="k")
    assert (decided.to, decided.counts_attempt) == (ItemState.PENDING, False)
    assert decide_item(3, FAULT, plan, NOW, key="k", proxy_faults=20).to is ItemState.FAILED
    fixed = [decide_item(3, FIXED_FAULT, plan, NOW, key="k", proxy_faults=earlier) for earlier in (2, 3)]
    assert [(each.to, each.counts_attempt) for each in fixed] == [(ItemState.PENDING, False), (ItemState.FAILED, True)]
    empty = Failed(FailureCode.NETWORK, "none", "no_proxy", stats={"pool_tries": 0})
    found = [decide_item(3, empty, plan, NOW, key="k", proxy_faults=earlier) for earlier in (2, 3)]
    assert [(each.to, each.counts_attempt) for each in found] == [(ItemState.PENDING, False), (ItemState.FAILED, True)]
