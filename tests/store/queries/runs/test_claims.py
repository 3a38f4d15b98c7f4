import pytest

from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.event import EventKind
from corral.domain.runs.run import HoldReason, Lanes, Lease, RunAction, RunState
from corral.domain.runs.settlement import Settlement
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import ME, OTHER, a_run, add, add_many, check_history, claim, claim_new, history
from tests.store.conftest import Sql


async def test_claims_go_by_band_and_then_by_age(store: Store) -> None:
    bands = [Priority.LOW, Priority.HIGH, Priority.CRITICAL, Priority.HIGH, Priority.MEDIUM]
    ids = await add_many(store, [a_run(priority=band) for band in bands])
    order = [ids[2], ids[1], ids[3], ids[4], ids[0]]

    first = await store.runs.claim(ME, 3, 10)
    assert [lease.run_id for lease in first] == order[:3]
    rest = await store.runs.claim(ME, 3, 10)
    assert [lease.run_id for lease in rest] == order[3:]
    assert await store.runs.claim(ME, 3, 10) == []


async def test_a_claim_takes_no_more_than_its_limit(store: Store) -> None:
    await add_many(store, [a_run() for _ in range(20)])
    assert len(await store.runs.claim(ME, 7, 10)) == 7
    assert await store.runs.claim(ME, 0, 10) == []
    assert (await store.runs.count_live())["queued"] == 13


async def test_a_claim_writes_owner_epoch_and_lease_at_once(store: Store) -> None:
    run_id = await add(store)
    lease = await claim(store, ME)
    assert lease.run == await store.runs.get(run_id)
    assert (lease.run.state, lease.run.owner, lease.epoch) == (RunState.RUNNING, ME, 1)
    assert lease.run.lease_until is not None
    assert lease.run.started_at is not None
    events = await store.events.of_run(run_id, 1, 10)
    assert [event.kind for event in events] == [EventKind.STARTED]
    assert events[0].meta == {"attempt": 1, "strategy": "http", "epoch": 1}


async def test_a_run_due_later_is_not_claimed(store: Store, sql: Sql) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.retry(lease, due_in_s=3600))
    assert await store.runs.claim(ME, 10, 10) == []
    assert await store.runs.claim_one(lease.run_id, ME, 10) == []
    sql(f"UPDATE runs SET due_at = due_at - 3600000 WHERE id = '{lease.run_id}'")
    assert [again.epoch for again in await store.runs.claim(ME, 10, 10)] == [2]


async def test_claim_one_takes_just_that_run_once(store: Store) -> None:
    first, second = await add_many(store, [a_run(), a_run()])
    [lease] = await store.runs.claim_one(second, ME, 10)
    assert lease.run_id == second
    assert await store.runs.claim_one(second, OTHER, 10) == []
    assert await store.runs.claim_one(new_id(), ME, 10) == []
    assert (await store.runs.get(first)).state is RunState.QUEUED


async def test_only_the_owner_can_renew(store: Store) -> None:
    mine, theirs = await claim_new(store, ME), await claim_new(store, OTHER)
    wanted = [mine.key, theirs.key, (mine.run_id, mine.epoch + 1), (new_id(), 1)]
    assert store.runs.renew_from_thread(wanted, ME, 60) == {mine.key}
    renewed, before = await store.runs.get(mine.run_id), mine.run.lease_until
    assert renewed.lease_until is not None
    assert before is not None
    assert renewed.lease_until > before
    assert await store.runs.get(theirs.run_id) == theirs.run
    assert store.runs.renew_from_thread([], ME, 60) == set()


async def test_a_settled_run_is_not_renewed(store: Store) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.complete(lease))
    assert store.runs.renew_from_thread([lease.key], ME, 60) == set()


async def test_completing_writes_state_records_and_event_together(store: Store) -> None:
    lease = await claim_new(store)
    assert await builders.settle(store, builders.complete(lease, [{"title": "a"}, {"title": "b"}]))

    run = await store.runs.get(lease.run_id)
    assert (run.state, run.stats, run.failure_code) == (RunState.COMPLETED, {"n": 1}, None)
    assert (run.attempts, run.lease_until) == (({"attempt": 1},), None)
    assert run.finished_at is not None
    records = await store.records.of_run(run.id, "", 10)
    assert [(record.item_key, record.data) for record in records] == [
        ("0", {"title": "a"}),
        ("1", {"title": "b"}),
    ]
    assert (await history(store, run.id))[-1] is EventKind.COMPLETED
    await check_history(store, run.id)


async def test_a_partial_result_keeps_its_records_and_its_reason(store: Store) -> None:
    lease = await claim_new(store)
    assert await builders.settle(store, builders.partial(lease, [{"title": "a", "price": None}]))
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.failure_code, run.failure_detail) == (
        RunState.PARTIAL,
        "extraction",
        "fields_missing",
    )
    assert len(await store.records.of_run(run.id, "", 10)) == 1
    await check_history(store, run.id)


async def test_a_failure_is_written_with_its_reason(store: Store) -> None:
    lease = await claim_new(store)
    assert await builders.settle(store, builders.fail(lease))
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.failure_code, run.failure_detail, run.error_message) == (
        RunState.FAILED,
        "network",
        "connect",
        "connection refused",
    )
    await check_history(store, run.id)


async def test_a_retry_counts_the_attempt_and_may_change_the_strategy(store: Store) -> None:
    lease = await claim_new(store)
    assert await builders.settle(store, builders.retry(lease, due_in_s=30, strategy=Strategy.BROWSER))
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.attempt, run.resolved_strategy) == (RunState.QUEUED, 2, Strategy.BROWSER)
    assert 29 < (run.due_at - run.created_at).total_seconds() < 40
    assert (run.finished_at, run.failure_code) == (None, "network")
    await check_history(store, run.id)


async def test_a_retry_without_a_strategy_keeps_the_one_it_has(store: Store) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.retry(lease))
    assert (await store.runs.get(lease.run_id)).resolved_strategy is Strategy.HTTP
    again = await claim(store)
    await builders.settle(store, builders.complete(again))
    run = await store.runs.get(lease.run_id)
    assert [entry["attempt"] for entry in run.attempts] == [1, 2]
    assert run.epoch == 2


async def test_a_run_can_wait_for_a_person(store: Store) -> None:
    lease = await claim_new(store)
    assert await builders.settle(store, builders.hold(lease))
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.hold_reason) == (RunState.HELD, HoldReason.WAITING_FOR_HUMAN)
    await store.runs.apply_action(run.id, RunAction.RESUME)
    assert (await claim(store)).epoch == 2
    await check_history(store, run.id)


SETTLEMENTS = [builders.complete, builders.partial, builders.fail, builders.hold, builders.retry]


@pytest.mark.parametrize("settlement_of", SETTLEMENTS)
async def test_a_settle_whose_answer_was_lost_recognises_itself(store: Store, settlement_of: object) -> None:
    lease = await claim_new(store)
    settlement: Settlement = settlement_of(lease)  # type: ignore[operator]
    assert await builders.settle(store, settlement)
    before = await store.runs.get(lease.run_id), await history(store, lease.run_id)
    assert await builders.settle(store, settlement)
    assert (await store.runs.get(lease.run_id), await history(store, lease.run_id)) == before


@pytest.mark.parametrize("settlement_of", SETTLEMENTS)
async def test_a_worker_that_lost_its_lease_cannot_settle(store: Store, settlement_of: object) -> None:
    old = await claim_new(store, ME, lease_s=-1)
    await store.runs.reap()
    new = await claim(store, OTHER)
    before = await store.runs.get(old.run_id)

    assert not await builders.settle(store, settlement_of(old))  # type: ignore[operator]
    assert await store.runs.get(old.run_id) == before
    assert await store.records.of_run(old.run_id, "", 10) == []
    await _assert_refused_once(store, old)

    assert await builders.settle(store, builders.complete(new, [{"by": "new"}]))
    assert [record.data for record in await store.records.of_run(old.run_id, "", 10)] == [{"by": "new"}]
    await check_history(store, old.run_id)


async def _assert_refused_once(store: Store, lease: Lease) -> None:
    refusals = [
        event
        for event in await store.events.of_run(lease.run_id, 0, 100)
        if event.kind is EventKind.STALE_WRITE_REFUSED
    ]
    assert [event.meta for event in refusals] == [{"epoch": lease.epoch}]


@pytest.mark.parametrize("move", [RunAction.CANCEL, RunAction.PAUSE])
async def test_a_person_wins_over_the_worker(store: Store, move: RunAction) -> None:
    lease = await claim_new(store)
    moved = await store.runs.apply_action(lease.run_id, move)
    assert not await builders.settle(store, builders.complete(lease, [{"title": "late"}]))
    assert await store.runs.get(lease.run_id) == moved
    assert await store.records.of_run(lease.run_id, "", 10) == []
    await _assert_refused_once(store, lease)
    await check_history(store, lease.run_id)


async def test_the_same_owner_with_an_older_epoch_is_refused(store: Store) -> None:
    old = await claim_new(store, ME, lease_s=-1)
    await store.runs.reap()
    await claim(store, ME)
    assert not await builders.settle(store, builders.complete(old))
    await _assert_refused_once(store, old)


async def test_a_settle_of_a_forgotten_run_is_refused_quietly(store: Store, sql: Sql) -> None:
    lease = await claim_new(store)
    sql(f"DELETE FROM runs WHERE id = '{lease.run_id}'")
    assert not await builders.settle(store, builders.complete(lease))


async def test_many_settle_at_once_each_for_itself(store: Store) -> None:
    leases = [await claim_new(store) for _ in range(6)]
    await store.runs.apply_action(leases[2].run_id, RunAction.CANCEL)
    await builders.settle(store, builders.complete(leases[4], [{"n": 4}]))
    settled = await store.runs.settle_all([builders.complete(lease, [{"n": 1}]) for lease in leases])
    assert settled == [True, True, False, True, True, True]
    for number, lease in enumerate(leases):
        await check_history(store, lease.run_id)
        assert len(await store.records.of_run(lease.run_id, "", 10)) == (0 if number == 2 else 1)
    assert await store.runs.settle_all([]) == []


async def test_a_queue_of_browser_pages_does_not_stand_in_the_way_of_the_others(store: Store) -> None:
    browsers = await add_many(store, [a_run(resolved_strategy=Strategy.BROWSER) for _ in range(5)])
    light = await add_many(store, [a_run() for _ in range(3)])

    first = await store.runs.claim(ME, 10, 10, Lanes(browsers=2))
    assert {lease.run_id for lease in first} == {*browsers[:2], *light}
    assert await store.runs.claim(ME, 10, 10, Lanes(browsers=0)) == []
    assert [lease.run_id for lease in await store.runs.claim(ME, 2, 10)] == browsers[2:4]


async def test_the_browser_limit_does_not_let_a_lower_band_overtake(store: Store) -> None:
    await add_many(store, [a_run(priority=Priority.LOW)])
    critical = await add(store, a_run(priority=Priority.CRITICAL, resolved_strategy=Strategy.BROWSER))
    assert [lease.run_id for lease in await store.runs.claim(ME, 1, 10, Lanes(browsers=1))] == [critical]


async def test_crawls_have_a_lane_of_their_own(store: Store) -> None:
    crawls = await add_many(store, [a_run(kind="crawl") for _ in range(3)])
    page = await add(store)
    assert {lease.run_id for lease in await store.runs.claim(ME, 10, 10, Lanes(crawls=2))} == {page, *crawls[:2]}
    assert await store.runs.claim(ME, 10, 10, Lanes(crawls=0)) == []
    assert [lease.run_id for lease in await store.runs.claim(ME, 10, 10)] == crawls[2:]
