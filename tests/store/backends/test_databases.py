"""What holds below the queries: groups, closing, other loops, stalled loops."""

import asyncio
import contextlib
import sqlite3
import threading
import time
from pathlib import Path

import pysqlite3
import pytest

from corral.domain.errors import RunNotFound, StorageUnavailable, StorageUnusable
from corral.domain.queue.task import parse_queue_file
from corral.domain.runs.run import RunAction
from corral.runtime.new_ids import new_id
from corral.store.backends import postgres_probe, sqlite_file
from corral.store.open import open_store
from corral.store.store import Store
from corral.store.tx import Tx
from tests.chaos.level import by_level
from tests.slack import SLACK
from tests.store import builders
from tests.store.builders import ME, a_run, add, claim_new, history


async def test_one_that_fails_does_not_take_the_others_with_it(store: Store) -> None:
    async def one(number: int) -> str:
        if number % 7 == 3:
            await store.runs.apply_action(new_id(), RunAction.CANCEL)
        return await add(store)

    answers = await asyncio.gather(*(one(number) for number in range(70)), return_exceptions=True)
    assert sum(isinstance(answer, RunNotFound) for answer in answers) == 10
    for answer in answers:
        if isinstance(answer, str):
            assert len(await history(store, answer)) == 1


async def test_a_bug_in_one_write_is_told_to_the_one_who_asked(store: Store) -> None:
    def faulty(_: Tx) -> None:
        raise ZeroDivisionError

    answers = await asyncio.gather(add(store), store._db.write(faulty), add(store), return_exceptions=True)
    assert [type(answer) for answer in answers] == [str, ZeroDivisionError, str]


async def test_what_was_asked_for_before_closing_is_done(shared_url: str) -> None:
    store = open_store(shared_url)
    writes = [asyncio.ensure_future(add(store)) for _ in range(300)]
    await asyncio.sleep(0)
    await store.close()
    ids = [await write for write in writes]
    again = open_store(shared_url)
    for run_id in ids:
        await again.runs.get(run_id)
    await again.close()


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    await store.close()
    for attempt in (store.ping(), store.runs.get(new_id()), store.maintenance.audit()):
        with pytest.raises(StorageUnavailable, match="closed"):
            async with asyncio.timeout(2):
                await attempt
    with pytest.raises(StorageUnavailable, match="closed"):
        store.runs.renew_from_thread([], ME, 1)


def test_a_store_outlives_a_loop_that_was_closed_on_the_way(shared_url: str) -> None:
    store = open_store(shared_url)

    async def leave_behind() -> None:
        asyncio.ensure_future(add(store))  # noqa: RUF006 - cancelled with the loop
        await asyncio.sleep(0)

    for _ in range(5):
        asyncio.run(leave_behind())

    async def go_on() -> None:
        async with asyncio.timeout(5):
            await store.runs.get(await add(store))
            await store.close()

    asyncio.run(go_on())


async def test_leases_are_renewed_while_the_loop_stalls(store: Store) -> None:
    lease = await claim_new(store)
    done = threading.Event()
    answers: list[set[tuple[str, int]]] = []

    def renew() -> None:
        answers.extend(store.runs.renew_from_thread([lease.key], ME, 10) for _ in range(5))
        done.set()

    writes = [asyncio.ensure_future(add(store)) for _ in range(20)]
    await asyncio.sleep(0.001)
    thread = threading.Thread(target=renew)
    thread.start()
    assert done.wait(5), "the renewals waited for the event loop"
    thread.join()
    assert answers == [{lease.key}] * 5
    await asyncio.gather(*writes)


async def test_many_write_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    # Writes wait for each other for more than a second; on a busy machine, the server needs longer than this to show
    # that it does not hang.
    monkeypatch.setattr(postgres_probe, "_ANSWERS_WITHIN_S", 0.7 * SLACK)
    count = by_level(400, 1000)
    await asyncio.gather(*(add(store, a_run()) for _ in range(count)))
    leases = await store.runs.claim(ME, count, 30)
    assert len(leases) == count
    settled = await asyncio.gather(*(builders.settle(store, builders.complete(lease)) for lease in leases))
    assert all(settled)
    assert await store.maintenance.audit() == []


async def test_another_program_that_holds_the_lock_is_waited_for(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/corral.db")
    other = pysqlite3.connect(str(tmp_path / "corral.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writes = [asyncio.ensure_future(add(store)) for _ in range(10)]
    await asyncio.sleep(0.2)
    assert await store.runs.newest(None, None, None, 10) == [], "readers do not wait"
    other.execute("COMMIT")
    other.close()
    await asyncio.gather(*writes)
    await store.close()


async def test_a_lock_that_is_never_given_back_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "OTHERS_WAIT_S", 0.3)
    store = open_store(f"sqlite:///{tmp_path}/corral.db")
    other = pysqlite3.connect(str(tmp_path / "corral.db"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    answers = await asyncio.gather(*(add(store) for _ in range(50)), return_exceptions=True)
    assert time.monotonic() - started < 1.5 * SLACK
    assert {type(answer) for answer in answers} == {sqlite_file.StillLocked}
    other.close()
    await add(store)
    await store.close()


@pytest.mark.parametrize("url", ["mysql://x", "nonsense", ""], indirect=False)
def test_an_unknown_address_is_refused(url: str) -> None:
    with pytest.raises(StorageUnusable, match="APP_DATABASE_URL"):
        open_store(url)


async def test_lists_do_not_depend_on_the_collation_of_the_server(postgres: object) -> None:
    """Many collations sort punctuation before digits."""
    import psycopg
    from psycopg import sql

    from tests import services

    assert isinstance(postgres, services.PostgresCluster)
    name = "collated_" + new_id().replace("-", "")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'").format(
                sql.Identifier(name)
            )
        )
    store = open_store(postgres.url(name))
    job = builders.a_job()
    await store.jobs.add(job, None)
    ids = [await add(store, a_run(job.id)) for _ in range(3)]
    assert [run.id for run in await store.runs.newest(None, None, None, 2)] == ids[:0:-1]
    assert [run.id for run in await store.runs.newest(None, None, ids[1], 2)] == ids[:1]
    assert len(await store.jobs.newest(None, 10)) == 1
    [lease] = await store.runs.claim(ME, 1, 10)
    await builders.settle(store, builders.complete(lease, [{"n": 1}]))
    assert len(await store.records.of_run(lease.run_id, "", 10)) == 1
    given = [{"id": name, "priority": "HIGH", "scraper": "a"} for name in ("B1", "a1", "a-2", "a_1", "Z:9")]
    file = parse_queue_file({"tasks": given}, "gaps.json")
    assert (await store.queue.add(file, "/config.yaml")).imported == 5
    assert (await store.queue.add(file, "/config.yaml")).unchanged == 5
    assert await store.maintenance.audit() == []
    await store.close()


@pytest.mark.parametrize("state", ["queued", "running", "held", "partial", "failed", "cancelled"])
def test_counting_and_listing_a_state_never_walks_the_whole_table(tmp_path: Path, state: str) -> None:
    """A million finished runs must cost those who ask for the few live ones nothing."""
    store = open_store(f"sqlite:///{tmp_path}/corral.db")
    store._db.close_now()
    with contextlib.closing(sqlite3.connect(tmp_path / "corral.db")) as database:
        for question in (
            f"SELECT count(*) FROM runs WHERE state = '{state}'",
            f"SELECT * FROM runs WHERE id < 'x' AND state = '{state}' ORDER BY id DESC LIMIT 5",
        ):
            if state == "running" and "LIMIT" in question:
                continue  # the newest are among the latest ids
            plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {question}"))
            assert f"INDEX runs_{'leased' if state == 'running' else state}" in plan, plan
