import pytest

from corral.domain.errors import RecordNotFound
from corral.domain.runs.record import RecordFilter
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import RunAction, RunState
from corral.runtime.new_ids import new_id
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import a_run, add, claim_new
from tests.store.conftest import Sql
from tests.store.maintenance_helpers import DAY_MS, _old_run


async def _finish_runs(store: Store, count: int) -> list[str]:
    ids: list[str] = []
    for _ in range(count):
        lease = await claim_new(store)
        await builders.settle(store, builders.complete(lease, [{"n": 1}]))
        ids.append(lease.run_id)
    return ids


async def _list_left(store: Store) -> set[str]:
    return {run.id for run in await store.runs.newest(None, None, None, 100)}


async def test_old_runs_are_forgotten(store: Store, sql: Sql) -> None:
    old, recent = _old_run(10), (await _finish_runs(store, 1))[0]
    live = _old_run(11)
    await add(store, a_run(id=old))
    await store.runs.apply_action(old, RunAction.CANCEL)
    await add(store, a_run(id=live))
    assert await store.maintenance.prune(Retention(max_age_days=5)) == 0, "it ended a moment ago"
    sql(f"UPDATE runs SET finished_at = finished_at - {10 * DAY_MS} WHERE id = '{old}'")
    assert await store.maintenance.prune(Retention(max_age_days=5)) == 1
    assert await _list_left(store) == {recent, live}
    assert await store.events.of_run(old, 0, 10) == []


@pytest.mark.parametrize("keep_records", [True, False])
async def test_records_go_with_their_run_only_if_so_wanted(store: Store, keep_records: bool) -> None:
    [run_id] = await _finish_runs(store, 1)
    assert await store.maintenance.prune(Retention(max_finished_runs=0, keep_records=keep_records)) == 1
    assert len(await store.records.of_run(run_id, "", 10)) == (1 if keep_records else 0)


async def test_the_oldest_finished_runs_beyond_the_count_are_forgotten(store: Store) -> None:
    live = [await add(store) for _ in range(5)]
    await store.runs.apply_action(live[0], RunAction.PAUSE)
    [lease] = await store.runs.claim_one(live[1], builders.ME, 60)
    ids = []
    for _ in range(6):
        run_id = await add(store)
        await store.runs.apply_action(run_id, RunAction.CANCEL)
        ids.append(run_id)
    assert await store.maintenance.prune(Retention(max_finished_runs=6)) == 0
    assert await store.maintenance.prune(Retention(max_finished_runs=4)) == 2
    assert await _list_left(store) == {*live, *ids[2:]}
    assert (await store.runs.get(lease.run_id)).state is RunState.RUNNING


async def test_forgetting_goes_on_in_batches(store: Store) -> None:
    await _finish_runs(store, 7)
    policy = Retention(max_finished_runs=1)
    assert [await store.maintenance.prune(policy, batch=4) for _ in range(3)] == [4, 2, 0]
    assert len(await _list_left(store)) == 1


async def test_age_and_count_together_forget_no_more_than_asked(store: Store, sql: Sql) -> None:
    old = _old_run(10)
    await add(store, a_run(id=old))
    await store.runs.apply_action(old, RunAction.CANCEL)
    sql(f"UPDATE runs SET finished_at = finished_at - {10 * DAY_MS} WHERE id = '{old}'")
    await _finish_runs(store, 3)
    assert await store.maintenance.prune(Retention(max_age_days=5, max_finished_runs=2)) == 2
    assert len(await _list_left(store)) == 2


async def test_without_a_policy_nothing_is_forgotten(store: Store) -> None:
    await _finish_runs(store, 2)
    assert await store.maintenance.prune(Retention()) == 0


async def test_records_are_listed_counted_and_deleted(store: Store) -> None:
    for job_id in ("a", "a", "b"):
        [lease] = await store.runs.claim_one(await add(store, a_run(job_id)), builders.ME, 10)
        await builders.settle(store, builders.complete(lease, [{"n": 1}, {"n": 2}]))
    everything = await store.records.newest(RecordFilter(), None, 10)
    assert len(everything) == 6
    assert [record.id for record in everything] == sorted((r.id for r in everything), reverse=True)
    page = await store.records.newest(RecordFilter(job_id="a"), everything[2].id, 10)
    assert {record.job_id for record in page} == {"a"}
    count, runs, jobs, first, last = await store.records.statistics(RecordFilter(job_id="a"))
    assert (count, runs, jobs) == (4, 2, 1)
    assert first is not None
    assert last is not None
    assert await store.records.statistics(RecordFilter(to_ms=first)) == (0, 0, 0, None, None)
    assert len(await store.records.newest(RecordFilter(from_ms=first), None, 10)) == 6
    assert len(await store.records.newest(RecordFilter(run_id=everything[0].run_id), None, 10)) == 2
    await store.records.delete(everything[0].id)
    with pytest.raises(RecordNotFound):
        await store.records.delete(everything[0].id)


# -- findings --------------------------------------------------------------------------------------------


async def test_a_healthy_database_has_no_findings(store: Store) -> None:
    await _finish_runs(store, 3)
    await add(store)
    await claim_new(store)
    await builders.settle(store, builders.retry(await claim_new(store)))
    old = await claim_new(store, lease_s=-1)
    await store.runs.reap()
    await builders.settle(store, builders.complete(old))
    assert await store.maintenance.audit() == []


DEFECTS = {
    "a running run has a live lease": "UPDATE runs SET lease_until = 0 WHERE state = 'running'",
    "event numbers have no gap": "DELETE FROM events WHERE seq = 1",
    "a run knows its last event": "UPDATE runs SET seq = seq + 1 WHERE state = 'running'",
    "the history of a run leads to its state": "UPDATE events SET kind = 'paused' WHERE kind = 'started'",
}


@pytest.mark.parametrize("rule", DEFECTS)
async def test_a_planted_defect_is_found_with_its_run(store: Store, sql: Sql, rule: str) -> None:
    lease = await claim_new(store)
    assert await store.maintenance.audit() == []
    sql(DEFECTS[rule])
    assert {(found.rule, found.subject) for found in await store.maintenance.audit()} == {(rule, lease.run_id)}


async def test_a_run_that_nobody_works_towards_is_found(store: Store, sql: Sql) -> None:
    run_id = await add(store)
    sql("UPDATE runs SET due_at = due_at - 120000")
    [found] = await store.maintenance.audit()
    assert found.subject == run_id
    assert "120 s" in found.what
    await claim_new(store)
    assert await store.maintenance.audit() == [], "a busy worker will come to it"


async def test_a_result_stored_twice_is_found(store: Store, sql: Sql) -> None:
    [run_id] = await _finish_runs(store, 1)
    sql("DROP INDEX records_by_run")
    try:
        sql(
            "INSERT INTO records (id, run_id, item_key, data, created_at)"
            f" SELECT '{new_id()}', run_id, item_key, data, created_at FROM records"
        )
        [found] = await store.maintenance.audit()
        assert (found.rule, found.subject) == ("a result is stored once", run_id)
    finally:
        sql("DELETE FROM records")
        sql("CREATE UNIQUE INDEX records_by_run ON records (run_id, item_key)")
