import pytest

from corral.domain.hosts.claiming import GROUP_SIZE
from corral.domain.ids import Owner
from corral.domain.runs.event import EventKind
from corral.domain.runs.intervention import InterventionKind, InterventionStatus
from corral.domain.runs.loss import Blame, Suspicion
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.run import HoldReason, Lanes, Lease, RunAction, RunState
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import ME, OTHER, check_history, claim, claim_new, history, lose
from tests.store.conftest import Sql


async def test_a_released_run_is_queued_where_it_stood(store: Store) -> None:
    lease = await claim_new(store)
    assert await store.runs.release([lease], "shutdown") == 1
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.attempt, run.losses, run.due_at) == (RunState.QUEUED, 1, 0, lease.run.due_at)
    last = (await store.events.of_run(run.id, 0, 10))[-1]
    assert (last.kind, last.meta) == (EventKind.RELEASED, {"reason": "shutdown"})
    await check_history(store, run.id)


async def test_a_run_given_back_after_an_attempt_has_it_on_record_and_none_counted(store: Store) -> None:
    lease = await claim_new(store)
    crash = Failed(FailureCode.UNKNOWN, "the browser crashed", "browser_crash")
    given_back = builders.settlement(lease, RunAction.RELEASE, EventKind.RELEASED, failure=crash)
    assert await builders.settle(store, given_back)
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.attempt, run.losses, run.due_at) == (RunState.QUEUED, 1, 0, lease.run.due_at)
    assert (run.failure_detail, run.attempts) == ("browser_crash", ({"attempt": 1},))
    assert await builders.settle(store, given_back), "said twice because the answer was lost"
    again = await claim(store, owner=OTHER)
    assert (again.run_id, again.epoch, again.run.attempts) == (run.id, lease.epoch + 1, run.attempts)
    assert not await builders.settle(store, given_back)
    await check_history(store, run.id)


async def test_only_what_is_still_held_is_released(store: Store) -> None:
    gone, mine = await claim_new(store), await claim_new(store)
    await builders.settle(store, builders.complete(gone))
    assert await store.runs.release([gone, mine], "shutdown") == 1
    assert await store.runs.release([mine], "shutdown") == 0
    assert await store.runs.release([], "shutdown") == 0
    assert EventKind.RELEASED not in await history(store, gone.run_id)


async def test_an_interruption_counts_nothing_and_keeps_the_place_in_the_queue(store: Store) -> None:
    lease = await claim_new(store)
    assert await store.runs.lose([lose(lease, Blame.NONE)]) == 1
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.attempt, run.losses, run.suspect) == (RunState.QUEUED, 1, 0, 0)
    assert (run.interruptions, run.due_at) == (1, lease.run.due_at)
    assert (await history(store, run.id))[-1] is EventKind.INTERRUPTED
    assert await store.runs.lose([lose(lease, Blame.NONE)]) == 0
    await check_history(store, run.id)


async def test_a_run_is_never_quarantined_for_interruptions_and_waits_longer_after_many(store: Store, sql: Sql) -> None:
    lease = await claim_new(store)
    for _ in range(40):
        await store.runs.lose([lose(lease, Blame.NONE)])
        sql(f"UPDATE runs SET due_at = 0 WHERE id = '{lease.run_id}'")
        lease = await claim(store)
    await store.runs.lose([lose(lease, Blame.NONE)])
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.losses, run.interruptions) == (RunState.QUEUED, 0, 41)
    assert await store.runs.claim(ME, 10, 10) == [], "it waits a moment"
    sql(f"UPDATE runs SET due_at = 0 WHERE id = '{lease.run_id}'")
    await builders.settle(store, builders.retry(await claim(store)))
    assert (await store.runs.get(lease.run_id)).interruptions == 0


async def _lose_times(store: Store, times: int) -> Lease:
    lease = await claim_new(store)
    for _ in range(times):
        await store.runs.lose([lose(lease)])
        lease = await claim(store)
    return lease


async def test_after_a_certain_loss_a_run_is_tried_alone(store: Store) -> None:
    lease = await _lose_times(store, 1)
    assert (lease.run.losses, lease.run.suspect) == (1, Suspicion.ALONE)
    await builders.settle(store, builders.retry(lease))
    assert not (await store.runs.get(lease.run_id)).suspect


async def test_suspects_are_tried_in_groups_and_then_alone(store: Store) -> None:
    leases = [await claim_new(store) for _ in range(2 * GROUP_SIZE)]
    await store.runs.lose([lose(lease, Blame.SUSPECTED) for lease in leases])
    [good] = await builders.add_many(store, [builders.a_run()])
    assert [lease.run_id for lease in await store.runs.claim(ME, 10, 10, Lanes(suspects=0))] == [good]
    group = await store.runs.claim(ME, 0, 10)
    assert [lease.run_id for lease in group] == [lease.run_id for lease in leases[:GROUP_SIZE]]
    assert {(lease.run.losses, lease.run.suspect) for lease in group} == {(0, Suspicion.GROUP)}
    await store.runs.lose([lose(lease, Blame.SUSPECTED) for lease in group])
    assert [len(await store.runs.claim(ME, 0, 10)) for _ in range(GROUP_SIZE + 1)] == [1] * GROUP_SIZE + [GROUP_SIZE]


async def test_a_run_that_kills_three_workers_is_held_with_the_evidence(store: Store) -> None:
    lease = await _lose_times(store, 2)
    assert await store.runs.lose([lose(lease, stderr_tail="Segmentation fault")]) == 1
    run = await store.runs.get(lease.run_id)
    assert (run.state, run.hold_reason, run.losses, run.attempt) == (RunState.HELD, HoldReason.QUARANTINED, 3, 1)
    assert (run.failure_code, run.failure_detail) == ("worker_lost", "poison")
    assert "killed by SIGSEGV" in (run.error_message or "")
    quarantined = (await store.events.of_run(run.id, 0, 100))[-1]
    assert quarantined.kind is EventKind.QUARANTINED
    assert (quarantined.meta["stderr"], quarantined.meta["exit"]) == ("Segmentation fault", "killed by SIGSEGV")
    [intervention] = await store.interventions.newest(InterventionStatus.OPEN, None, 10)
    assert (intervention.run_id, intervention.kind) == (run.id, InterventionKind.QUARANTINE)
    await check_history(store, run.id)


@pytest.mark.parametrize("by", ["run", "intervention"])
async def test_a_person_resumes_a_quarantined_run(store: Store, by: str) -> None:
    lease = await _lose_times(store, 2)
    await store.runs.lose([lose(lease)])
    if by == "run":
        await store.runs.apply_action(lease.run_id, RunAction.RESUME)
    else:
        [intervention] = await store.interventions.newest(InterventionStatus.OPEN, None, 10)
        await store.interventions.resolve(intervention.id)
    again = await claim(store)
    assert (again.run_id, again.run.losses, again.run.suspect) == (lease.run_id, 0, Suspicion.ALONE)
    assert await store.interventions.newest(InterventionStatus.OPEN, None, 10) == []
    assert await builders.settle(store, builders.complete(again))
    await check_history(store, lease.run_id)


async def test_suspicion_alone_never_quarantines(store: Store) -> None:
    lease = await claim_new(store)
    for _ in range(6):
        await store.runs.lose([lose(lease, Blame.SUSPECTED)])
        lease = await claim(store)
    assert (lease.run.losses, lease.run.suspect) == (0, Suspicion.ALONE)


async def test_what_a_dead_worker_wrote_is_kept_in_bounds(store: Store) -> None:
    lease = await _lose_times(store, 2)
    noise = "\0\x1b\ud800é" * 100_000
    await store.runs.lose([lose(lease, stderr_tail=noise + "the end")])
    [quarantined] = [
        event for event in await store.events.of_run(lease.run_id, 0, 100) if event.kind is EventKind.QUARANTINED
    ]
    tail = quarantined.meta["stderr"]
    assert tail.endswith("the end")
    assert 1000 < len(tail) <= 64 * 1024


async def test_only_expired_leases_are_reaped(store: Store) -> None:
    expired, live = await claim_new(store, ME, lease_s=-1), await claim_new(store, OTHER)
    assert await store.runs.reap() == 1
    assert (await store.runs.get(expired.run_id)).state is RunState.QUEUED
    assert (await store.runs.get(expired.run_id)).interruptions == 1
    assert await store.runs.get(live.run_id) == live.run
    assert await store.runs.reap() == 0
    await check_history(store, expired.run_id)


async def test_reaping_stops_at_its_limit(store: Store) -> None:
    for _ in range(5):
        await claim_new(store, lease_s=-1)
    assert [await store.runs.reap(limit=2) for _ in range(4)] == [2, 2, 1, 0]


async def test_an_owner_that_renewed_is_not_reaped(store: Store) -> None:
    lease = await claim_new(store, lease_s=-1)
    assert store.runs.renew_from_thread([lease.key], ME, 10) == {lease.key}
    assert await store.runs.reap() == 0
    assert await builders.settle(store, builders.complete(lease))


async def test_an_owner_that_finished_is_not_reaped(store: Store) -> None:
    lease = await claim_new(store, lease_s=-1)
    assert await builders.settle(store, builders.complete(lease))
    assert await store.runs.reap() == 0
    assert (await store.runs.get(lease.run_id)).state is RunState.COMPLETED


@pytest.mark.parametrize("together", [1, 3])
async def test_a_node_that_vanishes_blames_none_of_its_runs(store: Store, sql: Sql, together: int) -> None:
    """Seven times, with one run or with several: the shape of a sweep says nothing about them."""
    ids = [(await claim_new(store, Owner("node-0"), lease_s=-1)).run_id for _ in range(together)]
    for number in range(7):
        assert await store.runs.reap() == together
        sql("UPDATE runs SET due_at = 0")
        for run_id in ids:
            await store.runs.claim_one(run_id, Owner(f"node-{number}"), -1)
    runs = [await store.runs.get(run_id) for run_id in ids]
    assert {(run.losses, run.suspect, run.state) for run in runs} == {(0, 0, RunState.RUNNING)}
    assert {run.interruptions for run in runs} == {7}
