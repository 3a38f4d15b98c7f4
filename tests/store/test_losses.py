from corral.domain.event import EventKind
from corral.domain.ids import Owner
from corral.domain.outcome import Failed, FailureCode
from corral.domain.run import Lease, Move, RunState
from corral.store.store import Store
from tests.store import build
from tests.store.build import ME, OTHER, check_history, claim, claim_new, history, lost


async def test_a_released_run_is_queued_where_it_stood(store: Store) -> None:
    lease = await claim_new(store)
    assert await store.release([lease], "shutdown") == 1
    run = await store.run(lease.run_id)
    assert (run.state, run.attempt, run.losses, run.due_at) == (RunState.QUEUED, 1, 0, lease.run.due_at)
    last = (await store.events_of(run.id, 0, 10))[-1]
    assert (last.kind, last.meta) == (EventKind.RELEASED, {"reason": "shutdown"})
    await check_history(store, run.id)


async def test_a_run_given_back_after_an_attempt_has_it_on_record_and_none_counted(store: Store) -> None:
    lease = await claim_new(store)
    crash = Failed(FailureCode.UNKNOWN, "the browser crashed", "browser_crash")
    given_back = build.settlement(lease, Move.RELEASE, EventKind.RELEASED, failure=crash)
    assert await store.settle(given_back)
    run = await store.run(lease.run_id)
    assert (run.state, run.attempt, run.losses, run.due_at) == (RunState.QUEUED, 1, 0, lease.run.due_at)
    assert (run.failure_detail, run.attempts) == ("browser_crash", ({"attempt": 1},))
    assert await store.settle(given_back), "said twice because the answer was lost"
    again = await claim(store, owner=OTHER)
    assert (again.run_id, again.epoch, again.run.attempts) == (run.id, lease.epoch + 1, run.attempts)
    assert not await store.settle(given_back)
    await check_history(store, run.id)


async def test_only_what_is_still_held_is_released(store: Store) -> None:
    gone, mine = await claim_new(store), await claim_new(store)
    await store.settle(build.completed(gone))
    assert await store.release([gone, mine], "shutdown") == 1
    assert await store.release([mine], "shutdown") == 0
    assert await store.release([], "shutdown") == 0
    assert EventKind.RELEASED not in await history(store, gone.run_id)


async def test_a_lost_worker_counts_no_attempt(store: Store) -> None:
    lease = await claim_new(store)
    assert await store.lose([lost(lease)]) == 1
    run = await store.run(lease.run_id)
    assert (run.state, run.attempt, run.losses, run.suspect) == (RunState.QUEUED, 1, 1, False)
    assert await store.lose([lost(lease)]) == 0
    await check_history(store, run.id)


async def _lose_times(store: Store, times: int) -> Lease:
    lease = await claim_new(store)
    for _ in range(times):
        await store.lose([lost(lease)])
        lease = await claim(store)
    return lease


async def test_before_the_last_try_a_run_becomes_suspect(store: Store) -> None:
    lease = await _lose_times(store, 2)
    assert (lease.run.losses, lease.run.suspect) == (2, True)
    await store.settle(build.retried(lease))
    assert not (await store.run(lease.run_id)).suspect


async def test_a_run_that_kills_three_workers_alone_is_quarantined(store: Store) -> None:
    lease = await _lose_times(store, 2)
    assert await store.lose([lost(lease, stderr_tail="Segmentation fault")]) == 1
    run = await store.run(lease.run_id)
    assert (run.state, run.losses, run.attempt) == (RunState.FAILED, 3, 1)
    assert (run.failure_code, run.failure_detail) == ("worker_lost", "poison")
    quarantined, end = (await store.events_of(run.id, 0, 100))[-2:]
    assert (quarantined.kind, end.kind) == (EventKind.QUARANTINED, EventKind.FAILED)
    assert quarantined.meta["stderr"] == "Segmentation fault"
    assert quarantined.meta["exit"] == "SIGSEGV"
    await check_history(store, run.id)


async def test_a_run_in_company_is_never_quarantined(store: Store) -> None:
    lease = await _lose_times(store, 2)
    await store.lose([lost(lease, alone=False)])
    run = await store.run(lease.run_id)
    assert (run.state, run.losses, run.suspect) == (RunState.QUEUED, 3, True)
    again = await claim(store)
    await store.lose([lost(again)])
    assert (await store.run(lease.run_id)).state is RunState.FAILED


async def test_what_a_dead_worker_wrote_is_kept_in_bounds(store: Store) -> None:
    lease = await _lose_times(store, 2)
    noise = "\0\x1b\ud800é" * 100_000
    await store.lose([lost(lease, stderr_tail=noise + "the end")])
    [quarantined] = [
        event for event in await store.events_of(lease.run_id, 0, 100) if event.kind is EventKind.QUARANTINED
    ]
    tail = quarantined.meta["stderr"]
    assert tail.endswith("the end")
    assert 1000 < len(tail) <= 64 * 1024


async def test_only_expired_leases_are_reaped(store: Store) -> None:
    expired, live = await claim_new(store, ME, lease_s=-1), await claim_new(store, OTHER)
    assert await store.reap() == 1
    assert (await store.run(expired.run_id)).state is RunState.QUEUED
    assert (await store.run(expired.run_id)).losses == 1
    assert await store.run(live.run_id) == live.run
    assert await store.reap() == 0
    await check_history(store, expired.run_id)


async def test_reaping_stops_at_its_limit(store: Store) -> None:
    for _ in range(5):
        await claim_new(store, lease_s=-1)
    assert [await store.reap(limit=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_an_owner_that_renewed_is_not_reaped(store: Store) -> None:
    lease = await claim_new(store, lease_s=-1)
    assert store.renew_from_thread([lease.key], ME, 10) == {lease.key}
    assert await store.reap() == 0
    assert await store.settle(build.completed(lease))


async def test_an_owner_that_finished_is_not_reaped(store: Store) -> None:
    lease = await claim_new(store, lease_s=-1)
    assert await store.settle(build.completed(lease))
    assert await store.reap() == 0
    assert (await store.run(lease.run_id)).state is RunState.COMPLETED


async def test_a_node_that_vanishes_with_many_runs_blames_none_of_them(store: Store) -> None:
    ids = {(await claim_new(store, Owner("node-0"), lease_s=-1)).run_id for _ in range(3)}
    for number in (1, 2):
        assert await store.reap() == 3
        for run_id in ids:
            await store.claim_one(run_id, Owner(f"node-{number}"), -1)
    runs = [await store.run(run_id) for run_id in ids]
    assert {(run.losses, run.suspect, run.state) for run in runs} == {(2, True, RunState.RUNNING)}


async def test_a_suspect_whose_node_vanishes_is_ended(store: Store) -> None:
    lease = await _lose_times(store, 2)
    await store.release([lease], "test")
    [suspect] = await store.claim_one(lease.run_id, OTHER, -1)
    assert suspect.run.suspect
    assert await store.reap() == 1
    run = await store.run(lease.run_id)
    assert (run.state, run.failure_detail) == (RunState.FAILED, "poison")


async def test_suspects_that_waited_on_a_node_that_vanished_are_not_ended_for_it(store: Store) -> None:
    leases = [await _lose_times(store, 2) for _ in range(3)]
    await store.release(leases, "test")
    for number in range(4):
        for lease in leases:
            assert await store.claim_one(lease.run_id, Owner(f"node-{number}"), -1)
        assert await store.reap() == 3
        states = {(await store.run(lease.run_id)).state for lease in leases}
        # In the end they are: something takes the whole node down with it, again and again.
        assert states == {RunState.QUEUED if number < 3 else RunState.FAILED}
