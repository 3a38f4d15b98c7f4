"""The two sides of a gate against each other, without processes: a worker's turns and the node that lends them."""

import asyncio
import time

import pytest

from corral.domain.hosts.breaker import Breaker, BreakerRules
from corral.domain.hosts.limiter import HostRules, SitePace
from corral.domain.hosts.pace import PaceRules
from corral.domain.net.url import Target, parse_target
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, WaitReason
from corral.engine.hosts.limiter import HostLimiter
from corral.engine.hosts.permits import PermitVisit
from tests.engine.hosts.limiter_pair import Notes, Worker, a_limiter

SITE = parse_target("http://site.test/page")
OTHER = parse_target("http://other.test/page")
WELL = Fetched()
ILL = Failed(FailureCode.NETWORK, "nobody there", "refused")


async def fetch_once(worker: Worker, outcome: Fetched | Failed = WELL, target: Target = SITE) -> Deferred | None:
    visit = worker.permits.visit()
    refused = await visit.enter(target)
    if refused is None and outcome is WELL:
        visit.record_answer(target, 200, 0.01, None)
    visit.end(refused or outcome)
    if outcome is not WELL:
        await let_messages_pass()
    return refused


async def let_messages_pass() -> None:
    """What was said has been heard, and answered."""
    for _ in range(10):
        await asyncio.sleep(0)


async def inside(worker: Worker, target: Target = SITE) -> PermitVisit:
    visit = worker.permits.visit()
    assert await visit.enter(target) is None
    return visit


async def test_a_thousand_visits_to_a_host_that_is_well_cost_two_messages() -> None:
    limiter, _ = a_limiter()
    worker = Worker(limiter)
    for _ in range(1000):
        assert await fetch_once(worker) is None
    assert worker.sent == 2  # asked once, and lent


async def test_a_visit_that_learns_of_a_crawl_delay_counts_for_the_next_one() -> None:
    limiter, _ = a_limiter()
    worker = Worker(limiter)
    first = await inside(worker)
    worker.permits.set_delay("site.test", 30)
    await let_messages_pass()
    first.end(WELL)
    refused = await worker.permits.visit().enter(SITE)
    assert refused is not None, "the first page of the crawl was read in a slot that was lent before"
    assert 20 < refused.seconds <= 30


async def test_a_turn_that_was_lent_costs_next_to_nothing() -> None:
    limiter, _ = a_limiter()
    worker = Worker(limiter)
    await fetch_once(worker)
    best_us = min([await _cost_us(worker) for _ in range(5)])
    assert best_us < 50  # usually 5


async def _cost_us(worker: Worker, count: int = 2000) -> float:
    began = time.process_time()
    for _ in range(count):
        await fetch_once(worker)
    return (time.process_time() - began) / count * 1e6


async def test_workers_together_never_have_more_than_the_host_is_given() -> None:
    limiter, _ = a_limiter(concurrency=5)
    workers = [Worker(limiter), Worker(limiter), Worker(limiter)]
    now = most = 0

    async def one(worker: Worker) -> None:
        nonlocal now, most
        visit = await inside(worker)
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        visit.end(WELL)

    await asyncio.gather(*(one(workers[number % 3]) for number in range(60)))
    assert most == 5


async def test_a_crawl_gets_as_many_at_once_as_it_was_promised() -> None:
    limiter, _ = a_limiter(concurrency=4)
    worker = Worker(limiter)
    visits = [worker.permits.visit(at_once=64) for _ in range(64)]
    assert await asyncio.gather(*(visit.enter(SITE) for visit in visits)) == [None] * 64


async def test_what_is_lent_to_one_worker_and_not_used_is_called_back_for_another() -> None:
    limiter, _ = a_limiter(concurrency=2)
    rich, poor = Worker(limiter), Worker(limiter)
    for visit in [await inside(rich), await inside(rich)]:
        visit.end(WELL)
    await inside(poor)


async def test_a_worker_that_dies_gives_back_what_it_had() -> None:
    limiter, _ = a_limiter(concurrency=1)
    dead, alive = Worker(limiter), Worker(limiter)
    await inside(dead)
    limiter.remove_holder(dead)
    await inside(alive)


async def test_who_finds_no_place_is_sent_away_after_a_moment() -> None:
    limiter, _ = a_limiter(concurrency=1)
    worker = Worker(limiter)
    await inside(worker)
    refused = await fetch_once(worker)
    assert refused is not None
    assert refused.reason is WaitReason.PACE


async def test_a_delay_is_kept_between_visits_and_whoever_is_early_is_told_when_to_come_back() -> None:
    limiter, _ = a_limiter(delay_s=20)
    worker = Worker(limiter)
    assert await fetch_once(worker) is None
    refused = await asyncio.gather(*(fetch_once(worker) for _ in range(3)))
    waits = [each.seconds for each in refused if each is not None]
    assert 10 <= waits[0] <= 30
    assert [round(later - waits[0]) for later in waits] == [0, 20, 40]


async def test_five_failures_in_a_row_open_the_breaker_and_one_probe_closes_it() -> None:
    limiter, notes = a_limiter(open_s=0.3)
    first, second = Worker(limiter), Worker(limiter)
    for number in range(5):
        assert await fetch_once((first, second)[number % 2], ILL) is None
    refused = await fetch_once(first)
    assert refused is not None
    assert refused.reason is WaitReason.BREAKER
    await asyncio.sleep(0.31)

    probe = await inside(first)
    others = await asyncio.gather(*(fetch_once(worker) for worker in (first, second) for _ in range(5)))
    assert [each and each.reason for each in others] == [WaitReason.BREAKER] * 10
    probe.end(WELL)
    await let_messages_pass()
    assert await fetch_once(second) is None
    assert notes.said == [
        ("opened", "site.test"),
        ("probe", "site.test"),
        ("closed", "site.test"),
        ("recovered", "site.test"),
    ]


async def test_a_probe_that_fails_leaves_it_open_and_one_that_dies_says_nothing() -> None:
    limiter, notes = a_limiter(open_s=0.3, failures=1)
    worker, dying = Worker(limiter), Worker(limiter)
    await fetch_once(worker, ILL)
    await asyncio.sleep(0.31)
    (await inside(worker)).end(ILL)
    await let_messages_pass()
    assert (await fetch_once(worker)) is not None
    await asyncio.sleep(0.31)
    await inside(dying)
    limiter.remove_holder(dying)
    (await inside(worker)).end(WELL)
    await let_messages_pass()
    assert [what for what, _ in notes.said].count("still open") == 2
    assert ("closed", "site.test") in notes.said


async def test_a_store_whose_clock_is_a_little_behind_is_asked_again_and_not_much_later() -> None:
    limiter, notes = a_limiter(open_s=0.3, failures=1)
    worker = Worker(limiter)
    await fetch_once(worker, ILL)
    await asyncio.sleep(0.31)
    notes.not_yet = [Breaker(1, opened_at=limiter.clock() - 0.25)]
    (await inside(worker)).end(WELL)
    await let_messages_pass()
    assert [what for what, _ in notes.said] == ["opened", "probe", "probe", "closed", "recovered"]


async def test_a_probe_that_is_another_nodes_is_waited_for() -> None:
    limiter, notes = a_limiter(open_s=0.3, failures=1)
    worker = Worker(limiter)
    await fetch_once(worker, ILL)
    await asyncio.sleep(0.31)
    notes.not_yet = [Breaker(1, opened_at=limiter.clock() - 1, probed_at=limiter.clock())]
    refused = await fetch_once(worker)
    assert refused is not None
    assert refused.reason is WaitReason.BREAKER
    assert refused.seconds > 100


async def test_a_success_between_failures_keeps_the_breaker_closed_and_other_hosts_are_not_concerned() -> None:
    limiter, notes = a_limiter(failures=3)
    worker = Worker(limiter)
    for outcome in (ILL, ILL, WELL, ILL, ILL):
        await fetch_once(worker, outcome)
    for _ in range(3):
        await fetch_once(worker, ILL, OTHER)
    assert notes.said == [("opened", "other.test")]


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_closes_the_host_to_everybody(status: int) -> None:
    limiter, _ = a_limiter()
    worker, other = Worker(limiter), Worker(limiter)
    visit = await inside(worker)
    visit.record_answer(SITE, status, 0.01, "30")
    visit.end(Failed(FailureCode.RATE_LIMITED, "slowly", http_status=status))
    await let_messages_pass()
    refused = await fetch_once(other)
    assert refused is not None
    assert refused.reason is WaitReason.RETRY_AFTER
    assert 25 < refused.seconds <= 30


async def test_who_was_sent_to_another_host_takes_a_turn_there_and_its_failure_is_that_hosts() -> None:
    limiter, notes = a_limiter(failures=1)
    worker = Worker(limiter)
    visit = await inside(worker)
    visit.record_answer(SITE, 302, 0.01, None)
    assert await visit.enter(OTHER) is None
    visit.end(ILL)
    await let_messages_pass()
    assert notes.said == [("opened", "other.test")]
    assert await fetch_once(worker) is None


async def test_a_crawl_delay_is_obeyed_from_the_moment_it_is_known() -> None:
    limiter, _ = a_limiter()
    worker = Worker(limiter)
    visit = await inside(worker)
    spare = await inside(worker)
    spare.end(WELL)
    visit.slow_down(SITE, 30)
    assert (await fetch_once(worker)) is not None
    visit.end(WELL)


async def test_a_visit_that_is_broken_off_gives_its_turn_back() -> None:
    limiter, _ = a_limiter(concurrency=1)
    worker = Worker(limiter)
    holding = await inside(worker)
    waiting = asyncio.create_task(fetch_once(worker))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    holding.end(None)
    await inside(worker)


async def test_the_configuration_of_a_site_bounds_what_a_crawl_may_ask_for() -> None:
    notes = Notes()
    rules = HostRules(PaceRules(32, 0.0), BreakerRules(5, 300.0))
    paces = {SITE.authority: SitePace(concurrency=2)}
    notes.limiter = limiter = HostLimiter(rules, notes, pace_of=paces.get)
    assert limiter.run_room(SITE.authority, 0).runs == 2
    worker = Worker(limiter)
    visits = [worker.permits.visit(at_once=20) for _ in range(5)]
    entered = await asyncio.gather(*(visit.enter(SITE) for visit in visits))
    assert [each is None for each in entered].count(True) == 2


@pytest.mark.parametrize("delay_s", [0.0, 0.001])  # lent slots, and slots granted one by one
async def test_a_slot_is_free_while_the_page_is_read_and_its_outcome_counts_at_the_end(delay_s: float) -> None:
    limiter, notes = a_limiter(concurrency=1, delay_s=delay_s, failures=2)
    worker = Worker(limiter)
    reading = []
    for _ in range(2):
        visit = await inside(worker)
        visit.record_answer(SITE, 200, 0.01, None)
        visit.free_slots()
        reading.append(visit)
        await let_messages_pass()
    assert limiter.host("site.test").condition.breaker.failures == 0
    for visit in reading:
        visit.end(ILL)
    await let_messages_pass()
    assert ("opened", "site.test") in notes.said
    assert sum(limiter.host("site.test").lent.values()) <= 1  # none was returned twice


async def test_a_visit_that_freed_its_slot_waits_for_another_one_before_it_requests_again() -> None:
    limiter, _ = a_limiter(concurrency=1)
    worker = Worker(limiter)
    first = await inside(worker)
    first.free_slots()
    second = await inside(worker)
    again = asyncio.create_task(first.enter(SITE))
    await let_messages_pass()
    assert not again.done()
    second.end(WELL)
    assert await again is None
    first.end(WELL)
    await let_messages_pass()
    assert await fetch_once(worker) is None


async def test_a_probe_keeps_its_slot_until_its_verdict() -> None:
    limiter, notes = a_limiter(failures=1, open_s=0.0)
    worker = Worker(limiter)
    await fetch_once(worker, ILL)
    probe = await inside(worker)
    probe.record_answer(SITE, 200, 0.01, None)
    probe.free_slots()
    await let_messages_pass()
    assert limiter.host("site.test").prober is worker
    probe.end(WELL)
    await let_messages_pass()
    assert ("closed", "site.test") in notes.said
