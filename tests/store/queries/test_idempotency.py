import asyncio

import pytest

from corral.domain.errors import IdempotencyKeyReuse
from corral.domain.runs.event import EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.store.store import Store
from tests.store.builders import CREATED, a_job, a_run, history
from tests.store.conftest import Sql

KEY = IdempotencyKey("key", "fingerprint")


async def test_a_key_used_again_brings_the_same_run(store: Store) -> None:
    first = a_run()
    assert await store.runs.add([(first, CREATED)], KEY) == ([first.id], False)
    assert await store.runs.add([(a_run(), CREATED)], KEY) == ([first.id], True)
    assert [run.id for run in await store.runs.newest(None, None, None, 10)] == [first.id]


async def test_a_key_that_made_several_runs_brings_them_all(store: Store) -> None:
    runs = [(a_run(), CREATED), (a_run(), CREATED)]
    ids, _ = await store.runs.add(runs, KEY)
    assert await store.runs.add([(a_run(), CREATED), (a_run(), CREATED)], KEY) == (ids, True)


async def test_a_create_whose_answer_was_lost_is_no_replay(store: Store) -> None:
    run, job = a_run(), a_job()
    other = IdempotencyKey("other", "fingerprint")
    for _ in range(2):
        assert await store.runs.add([(run, CREATED)], KEY) == ([run.id], False)
        assert await store.jobs.add(job, None, other) == (job.id, False)
    assert await history(store, run.id) == [EventKind.CREATED]


async def test_a_key_with_another_request_is_refused(store: Store) -> None:
    await store.runs.add([(a_run(), CREATED)], KEY)
    for attempt in (
        store.runs.add([(a_run(), CREATED)], IdempotencyKey("key", "another")),
        store.jobs.add(a_job(), None, IdempotencyKey("key", "another")),
    ):
        with pytest.raises(IdempotencyKeyReuse):
            await attempt
    assert len(await store.runs.newest(None, None, None, 10)) == 1
    assert await store.jobs.newest(None, 10) == []


async def test_a_key_used_again_brings_the_same_job(store: Store) -> None:
    first = a_job()
    assert await store.jobs.add(first, None, KEY) == (first.id, False)
    assert await store.jobs.add(a_job(), None, KEY) == (first.id, True)
    assert len(await store.jobs.newest(None, 10)) == 1


async def test_two_hundred_at_once_make_one_run(two_stores: tuple[Store, Store]) -> None:
    answers = await asyncio.gather(
        *(two_stores[number % 2].runs.add([(a_run(), CREATED)], KEY) for number in range(200))
    )
    assert len({ids[0] for ids, _ in answers}) == 1
    assert sum(not replayed for _, replayed in answers) == 1
    assert len(await two_stores[0].runs.newest(None, None, None, 10)) == 1


async def test_a_refused_key_does_not_disturb_who_is_written_with_it(store: Store) -> None:
    await store.runs.add([(a_run(), CREATED)], KEY)
    bad = IdempotencyKey("key", "another")
    answers = await asyncio.gather(
        *(store.runs.add([(a_run(), CREATED)], bad if number % 10 == 5 else None) for number in range(50)),
        return_exceptions=True,
    )
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert [type(error) for error in refused] == [IdempotencyKeyReuse] * 5
    assert len(await store.runs.newest(None, None, None, 100)) == 46


async def test_a_key_is_remembered_for_a_day(store: Store, sql: Sql) -> None:
    from corral.domain.runs.retention import Retention

    await store.runs.add([(a_run(), CREATED)], KEY)
    await store.maintenance.prune(Retention())
    assert (await store.runs.add([(a_run(), CREATED)], KEY))[1]
    sql("UPDATE idempotency_keys SET created_at = created_at - 86400001")
    await store.maintenance.prune(Retention())
    assert not (await store.runs.add([(a_run(), CREATED)], KEY))[1]
