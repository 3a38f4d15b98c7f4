"""The verdict on the data of a run is a part of the transaction that ends it, and its history learns each run once."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from corral.domain.errors import NothingToAccept
from corral.domain.quality.profile import observe
from corral.domain.quality.run_profile import ObservedData, ProfileKey, RunProfile
from corral.domain.runs.event import EventKind
from corral.domain.runs.record import RecordFilter
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import Lease, RunState
from corral.domain.runs.settlement import Settlement
from corral.store.open import open_store
from corral.store.rows import from_json
from corral.store.store import Store
from corral.store.tables import data_profiles
from tests.store import builders
from tests.store.builders import ME, a_job, a_run, history
from tests.store.conftest import Sql

GOOD = {"price": "10 €"}
BROKEN = {"price": "Log in"}
_LEARNED = "SELECT document FROM data_profiles"


async def lease_run(store: Store, job_id: str) -> Lease:
    [lease] = await store.runs.claim_one(await builders.add(store, a_run(job_id)), ME, 30)
    return lease


def with_data(settlement: Settlement, *data: dict[str, Any]) -> Settlement:
    key = ProfileKey(str(settlement.lease.run.job_id), "page")
    return settlement._replace(data=ObservedData(key, RunProfile({"": observe(data, ["price"])})))


async def settle(store: Store, job_id: str, data: dict[str, Any]) -> Settlement:
    lease = await lease_run(store, job_id)
    settlement = with_data(builders.complete(lease, [data]), data)
    assert await builders.settle(store, settlement)
    return settlement


async def add_job(store: Store, *, good_runs: int = 5) -> str:
    job_id, _ = await store.jobs.add(a_job(), None)
    for _ in range(good_runs):
        await settle(store, job_id, GOOD)
    return job_id


def runs_learned(sql: Sql) -> float:
    [(document,)] = sql(_LEARNED)
    return RunProfile.of(from_json(document)).templates[""].runs


async def test_a_run_with_broken_data_is_partial_and_teaches_nothing(store: Store, sql: Sql) -> None:
    job_id = await add_job(store)
    settled = await settle(store, job_id, BROKEN)
    run = await store.runs.get(settled.lease.run_id)
    assert (run.state, run.stats["verdict"], run.failure_detail) == (RunState.PARTIAL, "broken", "data_verdict")
    assert (await history(store, run.id))[-2:] == [EventKind.DATA_VERDICT, EventKind.PARTIAL]
    await builders.check_history(store, run.id)
    assert runs_learned(sql) == 5
    assert len(await store.records.newest(RecordFilter(job_id=job_id), None, 50)) == 5
    both = await store.records.newest(RecordFilter(job_id=job_id, with_withheld=True), None, 50)
    assert [each.verdict for each in both] == ["broken", None, None, None, None, None]


@pytest.mark.parametrize("data, learned", [(GOOD, 6), (BROKEN, 5)])
async def test_a_repeated_settle_is_recognised_and_learns_nothing_more(
    store: Store, sql: Sql, data: dict[str, Any], learned: int
) -> None:
    job_id = await add_job(store)
    settled = await settle(store, job_id, data)
    before = await store.runs.get(settled.lease.run_id), await history(store, settled.lease.run_id)
    assert await builders.settle(store, settled)
    assert (await store.runs.get(settled.lease.run_id), await history(store, settled.lease.run_id)) == before
    assert runs_learned(sql) == learned


async def test_a_repeated_settle_is_recognised_although_it_would_be_judged_differently_now(store: Store) -> None:
    job_id = await add_job(store, good_runs=0)
    odd = await settle(store, job_id, BROKEN)
    for _ in range(60):
        await settle(store, job_id, GOOD)
    assert await builders.settle(store, odd)
    assert (await store.runs.get(odd.lease.run_id)).state is RunState.COMPLETED


async def test_a_lost_lease_teaches_nothing(store: Store, sql: Sql) -> None:
    job_id = await add_job(store)
    lease = await lease_run(store, job_id)
    await store.runs.release([lease], "a test")
    assert not await builders.settle(store, with_data(builders.complete(lease, [GOOD]), GOOD))
    assert runs_learned(sql) == 5


async def test_runs_of_one_job_that_end_at_once_are_all_learned(shared_url: str) -> None:
    """Each of two nodes settles its runs, from the first on: neither may overwrite what the other learned."""
    one, two = open_store(shared_url), open_store(shared_url)
    try:
        for number in range(12):
            job_id = await add_job(one, good_runs=number % 2)
            leases = [await lease_run(one, job_id) for _ in range(6)]
            settlements = [with_data(builders.complete(lease, [GOOD]), GOOD) for lease in leases]
            landed = await asyncio.gather(one.runs.settle_all(settlements[::2]), two.runs.settle_all(settlements[1::2]))
            assert [*landed] == [[True] * 3] * 2
        histories = await one._db.read(lambda tx: tx.all(sa.select(data_profiles.c.document)))
        learned = [RunProfile.of(from_json(document)).templates[""].runs for (document,) in histories]
        assert sorted(learned) == [6] * 6 + [7] * 6
    finally:
        await asyncio.gather(one.close(), two.close())


async def test_data_is_accepted_once(store: Store, sql: Sql) -> None:
    job_id = await add_job(store)
    run_id = (await settle(store, job_id, BROKEN)).lease.run_id
    answers = await asyncio.gather(*(store.runs.accept_data(run_id) for _ in range(3)), return_exceptions=True)
    assert sorted(isinstance(each, NothingToAccept) for each in answers) == [False, True, True]
    assert runs_learned(sql) == 6
    assert (await history(store, run_id)).count(EventKind.DATA_ACCEPTED) == 1
    assert len(await store.records.newest(RecordFilter(job_id=job_id), None, 50)) == 6


async def test_what_was_learned_goes_with_the_job(store: Store, sql: Sql) -> None:
    job_id = await add_job(store)
    await store.jobs.delete(job_id)
    assert sql(_LEARNED) == []


@pytest.mark.parametrize("keeps, marks", [(True, 1), (False, 0)])
async def test_records_that_outlive_their_run_are_still_kept_apart(
    store: Store, sql: Sql, keeps: bool, marks: int
) -> None:
    job_id = await add_job(store)
    await settle(store, job_id, BROKEN)
    await store.maintenance.prune(Retention(max_finished_runs=0, keep_records=keeps))
    assert len(sql("SELECT run_id FROM withheld_runs")) == marks
    left = await store.records.newest(RecordFilter(job_id=job_id), None, 50)
    assert len(left) == (5 if keeps else 0)
