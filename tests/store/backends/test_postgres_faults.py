"""PostgreSQL that stops, crashes, hangs, or loses the answer to a commit."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import psycopg
import pytest
import sqlalchemy as sa

from corral.domain.errors import StorageUnavailable
from corral.domain.runs.event import EventKind
from corral.domain.runs.run import RunAction, RunState
from corral.runtime.new_ids import new_id
from corral.store.open import open_store
from corral.store.store import Store
from corral.store.tables import runs
from corral.store.tx import Tx
from tests import services
from tests.slack import SLACK
from tests.store import builders
from tests.store.builders import CREATED, ME, a_job, a_run, add, check_history, claim_new, history
from tests.store.proxy import Fault, Proxy, proxy_to


@pytest.fixture(scope="module")
def cluster() -> Iterator[services.PostgresCluster]:
    """One of our own: these tests stop and kill it."""
    with services.postgres_cluster() as started:
        yield started


@pytest.fixture
async def store(cluster: services.PostgresCluster) -> AsyncIterator[Store]:
    opened = open_store(cluster.create_database())
    yield opened
    await opened.close()


@pytest.fixture
def proxy(postgres: services.PostgresCluster) -> Iterator[Proxy]:
    with proxy_to(postgres.port) as started:
        yield started


@pytest.fixture
async def via_proxy(proxy: Proxy, postgres_url: str) -> AsyncIterator[Store]:
    direct = postgres_url.rpartition("/")[2]
    opened = open_store(f"postgresql://corral@127.0.0.1:{proxy.port}/{direct}")
    yield opened
    await opened.close()


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_server_that_is_gone_is_told_at_once_and_found_again_when_it_is_back(
    store: Store, cluster: services.PostgresCluster, how: str
) -> None:
    run_id = await add(store)
    lease = await claim_new(store)
    getattr(cluster, how)()
    try:
        started = time.monotonic()
        answers = await asyncio.gather(
            store.runs.get(run_id),
            builders.settle(store, builders.complete(lease)),
            asyncio.to_thread(store.runs.renew_from_thread, [lease.key], ME, 10),
            *(add(store) for _ in range(300)),
            *(store.runs.get(run_id) for _ in range(50)),
            return_exceptions=True,
        )
        assert time.monotonic() - started < 3 * SLACK
        assert all(isinstance(answer, StorageUnavailable) for answer in answers)
    finally:
        cluster.start()
    assert (await store.runs.get(run_id)).state is RunState.QUEUED
    assert store.runs.renew_from_thread([lease.key], ME, 10) == {lease.key}
    assert await builders.settle(store, builders.complete(lease))
    await check_history(store, lease.run_id)


async def test_every_id_that_was_answered_survives_crashes_of_the_server(
    store: Store, cluster: services.PostgresCluster
) -> None:
    answered: list[str] = []
    stop = asyncio.Event()

    async def submit() -> None:
        while not stop.is_set():
            run = a_run()
            while True:
                try:
                    await store.runs.add([(run, CREATED)])
                except StorageUnavailable:
                    await asyncio.sleep(0.02)
                else:
                    answered.append(run.id)
                    break
            await asyncio.sleep(0.01)  # the crashes are what is tried, not how much it can take

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(submit())
        for _ in range(2):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(cluster.kill)
            await asyncio.to_thread(cluster.start)
        await asyncio.sleep(0.3)
        stop.set()
    assert len(answered) == len(set(answered)) > 10
    for run_id in answered:
        assert await history(store, run_id) == [EventKind.CREATED]
    assert await store.maintenance.audit() == []


async def test_a_server_that_says_nothing_is_not_waited_for_long(via_proxy: Store, proxy: Proxy) -> None:
    proxy.fault = Fault.SILENT
    started = time.monotonic()
    answers = await asyncio.gather(*(add(via_proxy) for _ in range(200)), return_exceptions=True)
    assert time.monotonic() - started < 5 * SLACK
    assert all(isinstance(answer, StorageUnavailable) for answer in answers)
    proxy.fault = Fault.NONE
    await add(via_proxy)


async def test_connections_cut_by_the_server_are_replaced(via_proxy: Store, postgres_url: str) -> None:
    run_id = await add(via_proxy)
    for _ in range(3):
        await asyncio.gather(*(via_proxy.runs.get(run_id) for _ in range(8)), *(add(via_proxy) for _ in range(4)))
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await asyncio.gather(*(via_proxy.runs.get(run_id) for _ in range(8)), *(add(via_proxy) for _ in range(4)))


# -- a commit that is never answered ---------------------------------------------------------------------

Check = Callable[[], Awaitable[None]]


async def _settle(store: Store, settlement_of: Callable[..., object]) -> tuple[Check, Check]:
    lease = await claim_new(store)
    settlement = settlement_of(lease)

    async def act() -> None:
        assert await builders.settle(store, settlement)  # type: ignore[arg-type]

    async def check() -> None:
        kinds = await history(store, lease.run_id)
        assert len(kinds) == 3
        await check_history(store, lease.run_id)

    return act, check


async def _add(store: Store) -> tuple[Check, Check]:
    run = a_run()

    async def act() -> None:
        assert await store.runs.add([(run, CREATED)]) == ([run.id], False)

    async def check() -> None:
        assert await history(store, run.id) == [EventKind.CREATED]

    return act, check


async def _claim(store: Store) -> tuple[Check, Check]:
    run_id = await add(store)

    async def act() -> None:
        [lease] = await store.runs.claim(ME, 10, 10)
        assert (lease.run_id, lease.epoch) == (run_id, 1)

    async def check() -> None:
        assert await history(store, run_id) == [EventKind.CREATED, EventKind.STARTED]

    return act, check


def _prepare_action(move: RunAction, state: RunState) -> Callable[[Store], Awaitable[tuple[Check, Check]]]:
    async def prepare(store: Store) -> tuple[Check, Check]:
        run_id = await add(store)
        if move is RunAction.RESUME:
            await store.runs.apply_action(run_id, RunAction.PAUSE)
        before = len(await history(store, run_id))

        async def act() -> None:
            assert (await store.runs.apply_action(run_id, move)).state is state

        async def check() -> None:
            assert len(await history(store, run_id)) == before + 1
            await check_history(store, run_id)

        return act, check

    return prepare


async def _release(store: Store) -> tuple[Check, Check]:
    lease = await claim_new(store)

    async def act() -> None:
        assert await store.runs.release([lease], "shutdown") == 1

    async def check() -> None:
        assert (await history(store, lease.run_id))[2:] == [EventKind.RELEASED]

    return act, check


async def _lose(store: Store) -> tuple[Check, Check]:
    lease = await claim_new(store)

    async def act() -> None:
        assert await store.runs.lose([builders.lose(lease)]) == 1

    async def check() -> None:
        assert (await store.runs.get(lease.run_id)).losses == 1
        assert (await history(store, lease.run_id))[2:] == [EventKind.WORKER_LOST]

    return act, check


async def _fire(store: Store) -> tuple[Check, Check]:
    job = a_job(frequency="hourly")
    await store.jobs.add(job, 1000)
    [due] = await store.jobs.due(1)

    async def act() -> None:
        assert await store.jobs.fire(due, 1000, 2**52, a_run(job.id), CREATED)

    async def check() -> None:
        assert len(await store.runs.newest(job.id, None, None, 10)) == 1

    return act, check


PREPARED: dict[str, Callable[[Store], Awaitable[tuple[Check, Check]]]] = {
    "complete": lambda store: _settle(store, builders.complete),
    "partial": lambda store: _settle(store, builders.partial),
    "fail": lambda store: _settle(store, builders.fail),
    "retry": lambda store: _settle(store, builders.retry),
    "hold": lambda store: _settle(store, builders.hold),
    "add": _add,
    "claim": _claim,
    "cancel": _prepare_action(RunAction.CANCEL, RunState.CANCELLED),
    "pause": _prepare_action(RunAction.PAUSE, RunState.HELD),
    "resume": _prepare_action(RunAction.RESUME, RunState.QUEUED),
    "release": _release,
    "lose": _lose,
    "fire": _fire,
}


@pytest.mark.parametrize("fault", [Fault.COMMIT_UNANSWERED, Fault.COMMIT_UNSENT])
@pytest.mark.parametrize("what", PREPARED)
async def test_a_commit_without_an_answer_counts_exactly_once(
    via_proxy: Store, proxy: Proxy, what: str, fault: Fault
) -> None:
    act, check = await PREPARED[what](via_proxy)
    proxy.fault = fault
    await act()
    assert proxy.broken == 1
    await check()
    assert await via_proxy.maintenance.audit() == []


# -- deadlocks -------------------------------------------------------------------------------------------


async def test_two_that_block_each_other_both_succeed(postgres_url: str) -> None:
    store = open_store(postgres_url)
    first, second = sorted([await add(store), await add(store)])
    both_hold_one = threading.Barrier(2)

    def in_order(*ids: str) -> Callable[[Tx], int]:
        tries: list[int] = []

        def op(tx: Tx) -> int:
            tries.append(1)
            for number, run_id in enumerate(ids):
                tx.run(sa.update(runs).where(runs.c.id == run_id).values(losses=runs.c.losses + 1))
                if number == 0 and len(tries) == 1:
                    both_hold_one.wait(5)
            return len(tries)

        return op

    tries = await asyncio.gather(
        asyncio.to_thread(store._db.write_from_thread, in_order(first, second)),
        asyncio.to_thread(store._db.write_from_thread, in_order(second, first)),
    )
    assert max(tries) > 1
    assert [(await store.runs.get(run_id)).losses for run_id in (first, second)] == [2, 2]
    await store.close()


async def test_a_row_locked_by_somebody_else_is_given_up_in_time(postgres_url: str) -> None:
    store = open_store(postgres_url)
    run_id = await add(store)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT id FROM runs FOR UPDATE")
        started = time.monotonic()
        with pytest.raises(StorageUnavailable):
            await store.runs.apply_action(run_id, RunAction.CANCEL)
        assert 1.5 < time.monotonic() - started < 5 * SLACK
        assert await store.runs.claim(ME, 10, 10) == [], "a claim skips what is locked"
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    await store.close()


def test_a_server_that_is_not_there_is_told_when_opening() -> None:
    with pytest.raises(StorageUnavailable):
        open_store(f"postgresql://corral@127.0.0.1:1/{new_id()}")
