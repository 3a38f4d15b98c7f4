import asyncio

import psycopg

from corral.domain.runs.event import Event, EventKind
from corral.domain.runs.run import RunAction
from corral.store.open import open_store
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import a_run, add, add_many, claim_new


async def test_the_feed_tells_everything_in_order_page_by_page(store: Store) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.complete(lease))
    other = await add(store)
    told: list[Event] = []
    after = 0
    while len(told) < 4:
        page = await store.events.feed(after, 2)
        told += page
        after = page[-1].position if page else after
    assert [(event.run_id, event.kind) for event in told] == [
        (lease.run_id, EventKind.CREATED),
        (lease.run_id, EventKind.STARTED),
        (lease.run_id, EventKind.COMPLETED),
        (other, EventKind.CREATED),
    ]
    assert await store.events.last_position() == after


async def test_who_goes_on_from_the_last_position_hears_what_comes_next(store: Store) -> None:
    assert await store.events.last_position() == 0
    run_id = await add(store)
    position = await store.events.last_position()
    assert await store.events.feed(position, 10) == []
    await store.runs.apply_action(run_id, RunAction.CANCEL)
    assert [event.kind for event in await store.events.feed(position, 10)] == [EventKind.CANCELLED]


async def test_events_of_a_run_are_read_from_a_number_on(store: Store) -> None:
    lease = await claim_new(store)
    await builders.settle(store, builders.complete(lease))
    assert [event.seq for event in await store.events.of_run(lease.run_id, 1, 10)] == [2, 3]
    assert [event.seq for event in await store.events.of_run(lease.run_id, 0, 1)] == [1]


async def test_a_position_is_not_used_again(store: Store) -> None:
    from corral.domain.runs.retention import Retention

    lease = await claim_new(store)
    await builders.settle(store, builders.complete(lease))
    position = await store.events.last_position()
    assert await store.maintenance.prune(Retention(max_finished_runs=0)) == 1
    await add(store)
    assert [event.kind for event in await store.events.feed(position, 10)] == [EventKind.CREATED]


_INSERT = "INSERT INTO events (run_id, seq, kind, meta, created_at) VALUES (%s, 1, 'created', '{}', 0)"


async def test_positions_of_an_open_transaction_are_waited_for(postgres_url: str) -> None:
    store = open_store(postgres_url)
    await add(store)
    start = await store.events.last_position()
    with psycopg.connect(postgres_url) as slow:
        slow.execute("SELECT pg_current_xact_id()")
        slow.execute(_INSERT, ("slow",))
        quick = await add(store)
        assert await store.events.feed(start, 10) == []
        assert await store.events.last_position() == start
        slow.commit()
    assert [event.run_id for event in await store.events.feed(start, 10)] == ["slow", quick]
    await store.close()


async def test_a_younger_transaction_with_an_earlier_position_is_waited_for(postgres_url: str) -> None:
    """Transactions and positions are not numbered in the same order."""
    store = open_store(postgres_url)
    await add(store)
    start = await store.events.last_position()
    with psycopg.connect(postgres_url) as older, psycopg.connect(postgres_url) as younger:
        older.execute("SELECT pg_current_xact_id()")
        younger.execute("SELECT pg_current_xact_id()")
        younger.execute(_INSERT, ("first",))
        older.execute(_INSERT, ("second",))
        older.commit()
        assert await store.events.feed(start, 10) == []
        assert await store.events.last_position() == start
        younger.commit()
    assert [event.run_id for event in await store.events.feed(start, 10)] == ["first", "second"]
    await store.close()


async def test_a_position_that_was_rolled_back_holds_nothing_up(postgres_url: str) -> None:
    store = open_store(postgres_url)
    await add(store)
    with psycopg.connect(postgres_url) as undone:
        undone.execute("SELECT pg_current_xact_id()")
        undone.execute(_INSERT, ("undone",))
        run_id = await add(store)
        after = await store.events.last_position()
        assert [event.run_id for event in await store.events.feed(after, 10)] == []
        undone.rollback()
    await store.events.feed(after, 10)
    assert [event.run_id for event in await store.events.feed(after, 10)] == [run_id]
    assert await store.events.feed(await store.events.last_position(), 10) == []
    await store.close()


async def test_a_reader_misses_nothing_while_many_write(two_stores: tuple[Store, Store]) -> None:
    first, second = two_stores
    total = 300
    heard: list[int] = []
    after = await first.events.last_position()

    async def write(store: Store) -> None:
        for _ in range(total // 20):
            await asyncio.gather(*(add_many(store, [a_run()]) for _ in range(10)))

    async def listen() -> None:
        nonlocal after
        while len(heard) < total:
            for event in await second.events.feed(after, 7):
                heard.append(event.position)
                after = event.position
            await asyncio.sleep(0)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(listen())
        group.create_task(write(first))
        group.create_task(write(second))
    assert heard == sorted(set(heard))
    assert len(heard) == total
