import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from corral.domain.crawl.crawl import Bounds, CrawlPlan, ItemState
from corral.domain.crawl.item import BatchReport, DiscoveredLink, ItemResult
from corral.domain.hosts.breaker import BreakerState
from corral.domain.hosts.limiter import Parking, SitePace, StoredHost, Wait
from corral.domain.jobs.job import Strategy
from corral.domain.runs.event import EventKind
from corral.domain.runs.loss import Blame, Loss
from corral.domain.runs.outcome import WaitReason
from corral.domain.runs.run import Lanes, NewRun, RunAction, RunState
from corral.store.open import open_store
from corral.store.store import Store
from tests.store.builders import CREATED, ME, OTHER, a_run, add_many, claim, complete, history, settle
from tests.store.conftest import Sql

SITE = "site.test"


async def list_known(store: Store) -> dict[str, StoredHost]:
    return {host.host_key: host for host in await store.hosts.list_watched()}


async def test_an_open_breaker_is_remembered_and_another_node_that_opens_it_changes_nothing(store: Store) -> None:
    await store.hosts.open_breaker(SITE, 5, 0)
    await asyncio.sleep(0.05)
    await store.hosts.open_breaker(SITE, 6, 30)
    host = (await list_known(store))[SITE]
    assert (host.state, host.failures) == (BreakerState.OPEN, 6)
    assert host.opened_ago_s is not None
    assert host.opened_ago_s >= 0.05
    assert 29 < host.blocked_for_s <= 30


async def test_the_probe_is_for_one_caller_and_only_when_its_time_has_come(store: Store) -> None:
    assert not await store.hosts.take_probe(SITE, 0, 120)  # it is not open
    await store.hosts.open_breaker(SITE, 5, 0)
    assert not await store.hosts.take_probe(SITE, 300, 120)
    taken = await asyncio.gather(*(store.hosts.take_probe(SITE, 0, 120) for _ in range(10)))
    assert taken.count(True) == 1
    assert (await list_known(store))[SITE].state is BreakerState.PROBING
    assert await store.hosts.take_probe(SITE, 0, 0)  # whoever had it has not been heard of


async def test_of_two_nodes_one_takes_the_probe(shared_url: str) -> None:
    one, two = open_store(shared_url), open_store(shared_url)
    await one.hosts.open_breaker(SITE, 5, 0)
    taken = await asyncio.gather(*(store.hosts.take_probe(SITE, 0, 120) for store in (one, two) for _ in range(5)))
    assert taken.count(True) == 1
    await one.close()
    await two.close()


async def test_a_run_that_waits_is_queued_with_a_reason_and_no_attempt_less(store: Store) -> None:
    await add_many(store, [a_page(SITE)])
    lease = await claim(store)
    assert await store.hosts.park([Parking(lease, SITE, WaitReason.BREAKER, 60)]) == 1
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.attempt, run.waiting_reason, run.losses) == (RunState.QUEUED, 1, "breaker", 0)
    last = (await store.events.of_run(run.id, 0, 10))[-1]
    assert (last.kind, last.meta["host"]) == (EventKind.HOST_DEFERRED, SITE)
    assert await store.runs.claim(ME, 10, 10) == []
    assert await store.hosts.count_waiting() == ({SITE: 1}, 1)
    assert await store.maintenance.audit() == []
    # Whoever has lost the run sends it nowhere.
    assert await store.hosts.park([Parking(lease, SITE, WaitReason.PACE, 0)]) == 0

    room = Room({SITE: 1})
    [again] = await store.runs.claim(OTHER, 10, 10, hosts=room)
    assert room.waited_for == [SITE]
    assert (again.run_id, again.run.waiting_reason, again.run.attempt) == (run.id, None, 1)
    await store.runs.claim(OTHER, 10, 10, hosts=room)
    assert room.waited_for == []
    assert await settle(store, complete(again))


async def test_one_is_called_up_for_the_probe_and_the_others_when_it_went_well(store: Store) -> None:
    ids = await add_many(store, [a_page(SITE) for _ in range(5)])
    leases = await store.runs.claim(ME, 5, 10)
    await store.hosts.park([Parking(lease, SITE, WaitReason.BREAKER, 60) for lease in leases])
    await store.hosts.open_breaker(SITE, 5, 0)
    assert await store.hosts.release_probe_page(SITE) == 0, "a run waits to make the probe"
    [first] = await store.runs.claim(ME, 10, 10, hosts=Room({SITE: 1}))
    assert first.run_id == ids[0]

    assert await store.hosts.take_probe(SITE, 0, 120)
    assert await store.hosts.end_probe(SITE, 6, 0.0) == 0  # still ill: everybody waits on
    assert (await list_known(store))[SITE].state is BreakerState.OPEN
    assert await store.runs.claim(ME, 10, 10) == []
    assert await store.hosts.end_probe(SITE, 0, None) == 0
    assert SITE not in await list_known(store)
    assert [lease.run_id for lease in await store.runs.claim(ME, 10, 10, hosts=Room({SITE: 10}))] == ids[1:]


class Room:
    """A `HostRoom` with what a test gives it."""

    def __init__(self, room: dict[str, int], reason: WaitReason = WaitReason.BUSY) -> None:
        self.left = dict(room)
        self.reason = reason
        self.waited_for: list[str] = []

    def find_room(self, waited_for: Sequence[str]) -> dict[str, int]:
        self.waited_for = list(waited_for)
        return {host_key: self.left[host_key] for host_key in waited_for if self.left.get(host_key, 0) > 0}

    def take(self, host_key: str) -> Wait | None:
        self.left[host_key] = self.left.get(host_key, 0) - 1
        return None if self.left[host_key] >= 0 else Wait(self.reason, 5.0)


def a_page(host: str, **changed: Any) -> NewRun:
    return a_run(kind="page", payload={"url": f"http://{host}/"}, **changed)


async def test_runs_of_a_full_host_are_not_claimed_and_keep_their_place(store: Store) -> None:
    ids = await add_many(store, [a_page(SITE) for _ in range(20)])
    [other] = await add_many(store, [a_page("other.test")])
    room = Room({SITE: 2, "other.test": 5})
    assert [lease.run_id for lease in await store.runs.claim(ME, 5, 10, hosts=room)] == [*ids[:2], other]
    waiting = [await store.runs.get(run_id) for run_id in ids[2:]]
    assert {(run.state, run.waiting_reason, run.epoch) for run in waiting} == {(RunState.QUEUED, "busy", 0)}
    assert {len(await store.events.of_run(run_id, 0, 10)) for run_id in ids[2:]} == {1}, "a full host leaves no event"
    assert await store.runs.claim(ME, 5, 10) == [], "they are out of the way of a claim"
    [later] = await add_many(store, [a_page(SITE)])
    room = Room({SITE: 3})
    assert [lease.run_id for lease in await store.runs.claim(ME, 5, 10, hosts=room)] == ids[2:5], "the oldest first"
    assert (await store.runs.get(later)).waiting_reason == "busy"


@pytest.mark.parametrize("lanes", [Lanes(browsers=0), Lanes(light=0, crawls=0)])
async def test_runs_that_a_claim_cannot_take_do_not_use_up_the_room_of_their_host(store: Store, lanes: Lanes) -> None:
    """A node without a browser, or with all of its browser slots in use, wakes only what it can claim."""
    browser = {"resolved_strategy": Strategy.BROWSER}
    older, newer = ({}, browser) if lanes.light == 0 else (browser, {})
    waiting = await add_many(store, [a_page(SITE, **older) for _ in range(5)])
    ids = await add_many(store, [a_page(SITE, **newer) for _ in range(5)])
    assert await store.runs.claim(ME, 20, 10, hosts=Room({SITE: 0})) == []
    for run_id in ids:
        [lease] = await store.runs.claim(ME, 20, 10, lanes, Room({SITE: 1}))
        assert lease.run_id == run_id
    room = Room({SITE: 1})
    assert await store.runs.claim(ME, 20, 10, lanes, room) == []
    assert room.waited_for == [SITE]
    assert {(await store.runs.get(run_id)).waiting_reason for run_id in waiting} == {"busy"}


async def test_a_suspect_waits_for_its_host_until_the_isolation_worker_is_free(store: Store) -> None:
    [suspect] = await add_many(store, [a_page(SITE)])
    [lease] = await store.runs.claim(ME, 1, 10)
    await store.runs.lose([Loss(lease, Blame.SUSPECTED, "exited with 1")])
    [run_id] = await add_many(store, [a_page(SITE)])
    assert await store.runs.claim(ME, 20, 10, hosts=Room({SITE: 0})) == []
    [lease] = await store.runs.claim(ME, 20, 10, Lanes(suspects=0), Room({SITE: 1}))
    assert lease.run_id == run_id
    [lease] = await store.runs.claim(ME, 20, 10, Lanes(suspects=1), Room({SITE: 1}))
    assert lease.run_id == suspect


async def test_a_host_that_is_left_alone_is_on_record_with_its_reason_once(store: Store) -> None:
    [run_id] = await add_many(store, [a_page(SITE)])
    for _ in range(3):
        assert await store.runs.claim(ME, 5, 10, hosts=Room({SITE: 0}, WaitReason.RETRY_AFTER)) == []
    run = await store.runs.get(run_id)
    assert (run.state, run.waiting_reason) == (RunState.QUEUED, "retry_after")
    assert await history(store, run_id) == [EventKind.CREATED, EventKind.HOST_DEFERRED]


async def test_many_runs_of_a_full_host_do_not_hide_those_of_others(store: Store) -> None:
    await add_many(store, [a_page(SITE) for _ in range(1200)])
    [other] = await add_many(store, [a_page("other.test")])
    room = Room({SITE: 0, "other.test": 1})
    claims = [await store.runs.claim(ME, 1, 10, hosts=room) for _ in range(3)]
    assert [lease.run_id for leases in claims for lease in leases] == [other]


async def test_a_paused_run_that_waited_can_be_claimed_when_it_is_resumed(store: Store) -> None:
    [run_id] = await add_many(store, [a_page(SITE)])
    await store.runs.claim(ME, 5, 10, hosts=Room({SITE: 0}))
    await store.runs.apply_action(run_id, RunAction.PAUSE)
    await store.runs.apply_action(run_id, RunAction.RESUME)
    assert (await claim(store)).run_id == run_id


async def test_a_page_of_a_crawl_is_called_up_where_no_run_waits(store: Store) -> None:
    """After a probe that failed they wait for as long as a probe may take, which may be longer than it is open."""
    plan = CrawlPlan.of({"start_urls": [f"http://{SITE}/"]})
    run = a_run(kind="crawl", payload={"crawl": plan.document()})
    found = [DiscoveredLink(f"http://{SITE}/{name}", name, f"www.{SITE}", 0) for name in ("a", "b", "c")]
    await store.crawls.add(run, CREATED, found)
    lease = await claim(store)
    step = await store.crawls.step(lease, BatchReport((), (), 5), Bounds(100))
    assert step is not None
    ended = [
        ItemResult(item.id, item.key, ItemState.PENDING, "waiting:breaker", "it waits", 60.0, counts=False)
        for item in step.items
    ]
    assert await store.crawls.step(lease, BatchReport(tuple(ended), (), 5), Bounds(100)) is not None
    assert await store.hosts.release_probe_page("other.test") == 0
    assert await store.hosts.release_probe_page(SITE) == 1
    step = await store.crawls.step(lease, BatchReport((), (), 5), Bounds(100))
    assert step is not None
    assert len(step.items) == 1


async def test_pages_of_crawls_that_wait_for_a_host_are_due_when_it_is_well_again(store: Store) -> None:
    plan = CrawlPlan.of({"start_urls": [f"http://{SITE}/"]})
    run = a_run(kind="crawl", payload={"crawl": plan.document()})
    await store.crawls.add(run, CREATED, [DiscoveredLink(f"http://{SITE}/", "k", SITE, 0)])
    lease = await claim(store)
    step = await store.crawls.step(lease, BatchReport((), (), 5), Bounds(100))
    assert step is not None
    [item] = step.items
    ended = ItemResult(item.id, item.key, ItemState.PENDING, "waiting:breaker", "it waits", 60.0, counts=False)
    step = await store.crawls.step(lease, BatchReport((ended,), (), 5), Bounds(100))
    assert step is not None
    assert step.items == ()
    assert step.next_due_s is not None
    assert await store.hosts.count_waiting() == ({}, 1)
    await store.hosts.release_pages(SITE)
    step = await store.crawls.step(lease, BatchReport((), (), 5), Bounds(100))
    assert step is not None
    [again] = step.items
    assert (again.id, again.attempt, again.is_back) == (item.id, 1, True)


async def test_what_has_changed_is_told_since_it_was_last_asked_for_and_forgotten_after_a_while(store: Store) -> None:
    await store.hosts.open_breaker(SITE, 5, 0)
    await store.hosts.set_pace("slow.test", SitePace(1))
    changed, since_ms = await store.hosts.changes_since(0, 100)
    assert {host.host_key for host in changed} == {SITE, "slow.test"}
    assert (await store.hosts.changes_since(since_ms + 60_000, 100))[0] == []
    await asyncio.sleep(0.02)
    assert await store.hosts.forget(3600) == 0
    assert await store.hosts.forget(0.01) == 1
    assert set(await list_known(store)) == {"slow.test"}  # a person has said so


async def test_what_a_person_says_stays_and_does_not_touch_the_breaker(store: Store) -> None:
    await store.hosts.open_breaker(SITE, 5, 0)
    await store.hosts.set_pace(SITE, SitePace(2, 1.5))
    await store.hosts.touch([(SITE, 1, 0.0), ("other.test", 2, 10.0)])
    hosts = await list_known(store)
    assert (hosts[SITE].pace_override, hosts[SITE].failures, hosts[SITE].state) == (
        SitePace(2, 1.5),
        5,
        BreakerState.OPEN,
    )
    assert (hosts["other.test"].failures, hosts["other.test"].state) == (2, BreakerState.CLOSED)
    await store.hosts.end_probe(SITE, 0, None)
    assert (await list_known(store))[SITE].pace_override == SitePace(2, 1.5)
    await store.hosts.set_pace(SITE, SitePace())
    await store.hosts.touch([("other.test", 0, 0.0)])
    assert SITE not in await list_known(store)


async def test_a_run_from_before_hosts_were_noted_keeps_to_the_room_of_the_host_it_was_sent_away_from(
    store: Store, sql: Sql
) -> None:
    [run_id] = await add_many(store, [a_page(SITE)])
    sql("UPDATE runs SET host_key = NULL")
    await store.hosts.park([Parking(await claim(store), SITE, WaitReason.PACE, 1)])
    [again] = await store.runs.claim(ME, 5, 10, hosts=Room({SITE: 1}))
    assert (again.run_id, again.run.host_key) == (run_id, SITE)
