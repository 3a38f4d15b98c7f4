"""An installation with something in every table, from its file to PostgreSQL and on."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from corral.domain.crawl.crawl import Bounds, ItemState
from corral.domain.crawl.item import BatchReport, DiscoveredLink, ItemResult
from corral.domain.errors import CorralError, StorageMoved, StorageUnusable
from corral.domain.runs.event import EventKind
from corral.domain.runs.run import RunState
from corral.store.backends import sqlite_file
from corral.store.backends.clock import SystemClock
from corral.store.open import open_for_reading, open_store
from corral.store.store import Store
from corral.store.tables import Document, metadata
from corral.store.to_postgres.migrate import move, plan
from corral.store.to_postgres.rows import STEADY, _canonical, tables_to_copy
from corral.store.to_postgres.target import address_of
from tests import forked, services
from tests.chaos.level import LEVEL
from tests.store.builders import (
    CREATED,
    ME,
    OTHER,
    a_run,
    add,
    add_many,
    check_history,
    claim,
    complete,
    retry,
    settle,
)
from tests.store.fill import fill, rows_of


@pytest.fixture(scope="session")
def with_tables(postgres: services.PostgresCluster) -> str:
    url = postgres.create_database()
    open_store(url)._db.close_now()
    return url


@pytest.fixture
def target(postgres: services.PostgresCluster, with_tables: str) -> Iterator[str]:
    """Tables and nothing in them: making them takes longer than most of what is done with them."""
    url = postgres.create_database(like=with_tables)
    yield url
    postgres.drop_database(url)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "corral.db"


def silent(*_: object) -> None:
    pass


async def open_file(path: Path) -> Store:
    return open_store(f"sqlite:///{path}")


def target_rows(url: str, table: sa.Table) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        names = ", ".join(f'"{each.name}"' + ("::text" if each.type is Document else "") for each in table.columns)
        return connection.execute(f"SELECT {names} FROM {table.name}".encode()).fetchall()


async def test_every_table_arrives_as_it_was(path: Path, target: str) -> None:
    store = await open_file(path)
    await store.close()
    fill(path)
    before = {table.name: rows_of(path, table) for table in tables_to_copy()}
    assert all(before.values()), "something is in every table"

    done = move(path, target, silent)

    assert done.rows == {name: len([row for row in rows if not is_local(name, row)]) for name, rows in before.items()}
    for table in tables_to_copy():
        name = table.name
        sent = sorted(normal(table, row) for row in before[name] if not is_local(name, row))
        arrived = sorted(normal(table, row) for row in target_rows(target, table) if not is_local(name, row))
        assert arrived == sent, name


def is_local(table: str, row: tuple[Any, ...]) -> bool:
    return table == "corral_meta" and row[0] in ("boot_id", "offset_ms", "move")


def normal(table: sa.Table, row: tuple[Any, ...]) -> str:
    """A row without what the other clock changes, and documents by what they say."""
    steady = STEADY.get(table.name, ())
    told = [
        None if column.name in steady else _canonical(value) if column.type is Document and value is not None else value
        for column, value in zip(table.columns, row, strict=True)
    ]
    return repr(told)


async def test_what_was_under_way_is_queued_and_only_the_new_place_can_finish_it(path: Path, target: str) -> None:
    store = await open_file(path)
    ids = await add_many(store, [a_run("job", max_attempts=2) for _ in range(3)])
    ended, delayed, running = [await claim(store, lease_s=60) for _ in ids]
    assert await settle(store, complete(ended, [{"a": 1}]))
    assert await settle(store, retry(delayed, due_in_s=100))

    done = move(path, target, silent)

    assert done.requeued == 1
    # The node that held it is told as if it had lost the lease, and writes nothing.
    assert await store.runs.settle_all([complete(running, [{"b": 1}])]) == [False]
    assert store.runs.renew_from_thread([running.key], ME, 10) == set()
    with pytest.raises(StorageMoved, match=r"was moved to PostgreSQL on .*; set APP_DATABASE_URL"):
        await store.runs.claim(ME, 1, 10)
    with pytest.raises(StorageMoved):
        await add(store)
    await store.close()

    new = open_store(target)
    assert (await new.runs.get(running.run_id)).state is RunState.QUEUED
    events = await new.events.of_run(running.run_id, 0, 100)
    assert [event.kind for event in events] == [EventKind.CREATED, EventKind.STARTED, EventKind.RELEASED]
    assert events[-1].meta == {"reason": "moved"}
    [lease] = await new.runs.claim(OTHER, 10, 10)
    assert (lease.run_id, lease.epoch, lease.run.attempt, lease.run.losses) == (running.run_id, 2, 1, 0)
    assert not await settle(new, complete(running))
    assert await settle(new, complete(lease))
    waits_s = ((await new.runs.get(delayed.run_id)).due_at.timestamp() * 1000 - _now_ms(target)) / 1000
    assert 60 < waits_s <= 100
    for run_id in ids:
        await check_history(new, run_id)
    late = await add(new)
    feed = await new.events.feed(0, 100)
    assert len({event.position for event in feed}) == len(feed)
    assert feed[-1].run_id == late
    assert await new.maintenance.audit() == []
    await new.close()


async def test_pages_of_a_crawl_that_were_being_read_are_read_at_the_new_place(path: Path, target: str) -> None:
    store = await open_file(path)
    seeds = [DiscoveredLink(f"http://a.test/{number}", f"key-{number}", "a.test", 0, None, 0.0) for number in range(4)]
    run_id, _ = await store.crawls.add(a_run(kind="crawl", max_attempts=1), CREATED, seeds)
    old = await claim(store)
    step = await store.crawls.step(old, BatchReport((), (), 3), Bounds())
    assert step is not None
    ended = [ItemResult(item.id, item.key, ItemState.DONE, record={"url": item.url}) for item in step.items]
    await store.crawls.step(old, BatchReport((ended[0],), tuple(item.id for item in step.items[1:]), 0), Bounds())

    move(path, target, silent)

    assert await store.crawls.step(old, BatchReport((ended[1],), (), 1), Bounds()) is None
    await store.close()
    new = open_store(target)
    now = await new.crawls.get(run_id)
    assert (now.counts.pending, now.counts.leased, now.counts.done) == (3, 0, 1)
    lease = await claim(new)
    step = await new.crawls.step(lease, BatchReport((), (), 10), Bounds())
    assert step is not None
    assert len(step.items) == 3
    assert await new.maintenance.audit() == []
    await new.close()


def _now_ms(url: str) -> int:
    with psycopg.connect(url) as connection:
        [(now,)] = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchall()
        return int(now)


class AnHourAhead(SystemClock):
    def wall_ms(self) -> int:
        return super().wall_ms() + 3_600_000


async def test_due_times_are_translated_from_one_clock_to_the_other(path: Path, target: str) -> None:
    clock = AnHourAhead()
    store = open_store(f"sqlite:///{path}", clock=clock)
    await add(store)
    assert await settle(store, retry(await claim(store), due_in_s=50))
    await store.hosts.open_breaker("example.test", 5, 40)
    await store.close()

    move(path, target, silent, clock=clock)

    new = open_store(target)
    [run] = await new.runs.newest(None, None, None, 10)
    assert 30 < run.due_at.timestamp() - _now_ms(target) / 1000 <= 50
    [host] = await new.hosts.list_watched()
    assert 20 < host.blocked_for_s <= 40
    assert host.opened_ago_s is not None
    assert host.opened_ago_s < 60
    await new.close()


def test_every_time_is_known_to_be_of_the_calendar_or_of_the_steady_clock() -> None:
    """Whoever adds one has to say which it is, in move_rows.STEADY or here."""
    calendar = {"created_at", "updated_at", "started_at", "finished_at", "next_slot", "slot", "checked_at"}
    calendar |= {"resolved_at", "fetched_at", "first_at", "last_at", "next_at", "imported_at", "ended_at"}
    calendar |= {"released_at", "cooled_until", "completed_at"}
    unknown = [
        f"{table.name}.{column.name}"
        for table in tables_to_copy()
        for column in table.columns
        if column.name.endswith(("_at", "_until", "slot"))
        and column.name not in STEADY.get(table.name, ())
        and column.name not in calendar
    ]
    assert not unknown


_ALL_POINTS = [f"{side}:{number}" for number in (1, 2, 3, 4) for side in ("before", "after")]
_CODE = (
    "import sys, pathlib; from corral.store.to_postgres.migrate import move;"
    "move(pathlib.Path(sys.argv[1]), sys.argv[2], print)"
)


@pytest.mark.parametrize("point", _ALL_POINTS if LEVEL else ["after:2", "after:3"])
async def test_killed_anywhere_one_place_counts_and_the_next_move_ends_it(path: Path, target: str, point: str) -> None:
    store = await open_file(path)
    await add_many(store, [a_run() for _ in range(5)])
    running = await claim(store)
    await store.close()
    environment = {**os.environ, "CORRAL_CRASH_AT": point}
    command = [*forked.command("-c"), _CODE, str(path), target]
    killed = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)
    assert killed.returncode == -signal.SIGKILL

    live = [url for url in (f"sqlite:///{path}", target) if await has_runs(url)]
    assert len(live) <= 1
    assert len(live) == 1 or point in ("after:3", "before:4")
    if live == [f"sqlite:///{path}"]:
        store = await open_file(path)
        await add(store)  # life goes on there: it has to come along
        await store.close()

    if point != "after:4":
        move(path, target, silent)

    new = open_store(target)
    runs = await new.runs.newest(None, None, None, 100)
    assert len(runs) == (6 if live == [f"sqlite:///{path}"] else 5)
    assert (await new.runs.get(running.run_id)).state is RunState.QUEUED
    assert not await has_runs(f"sqlite:///{path}")
    assert await new.maintenance.audit() == []
    await new.close()
    again = move(path, target, silent)
    assert again.was_done_before


async def has_runs(url: str) -> bool:
    """False also where it cannot be opened for work."""
    try:
        store = open_store(url)
    except StorageUnusable:
        return False
    found = await store.runs.newest(None, None, None, 1)
    await store.close()
    return bool(found)


def interrupt(what: str, *_: object) -> None:
    if what == "checking":
        raise KeyboardInterrupt


async def test_an_interrupted_move_leaves_the_old_place_as_it_was_and_the_new_one_empty(
    path: Path, target: str
) -> None:
    store = await open_file(path)
    run_id = await add(store)

    with pytest.raises(KeyboardInterrupt):
        move(path, target, interrupt)

    assert (await claim(store)).run_id == run_id
    await store.close()
    new = open_store(target)
    assert await new.runs.newest(None, None, None, 10) == []
    await new.close()


async def test_a_value_that_postgresql_cannot_take_is_named_and_nothing_is_moved(path: Path, target: str) -> None:
    store = await open_file(path)
    run_id = await add(store)
    connection = sqlite_file.connect(path)
    connection.execute("UPDATE runs SET error_message = ?", ("a\0b",))
    connection.close()

    with pytest.raises(CorralError, match=r"PostgreSQL cannot take a row of runs: .*NUL") as refused:
        move(path, target, silent)

    assert "nothing was moved" in (refused.value.hint or "")
    assert (await claim(store)).run_id == run_id
    await store.close()


async def test_a_target_that_is_used_is_left_alone_even_by_who_moved_there_before(path: Path, target: str) -> None:
    store = await open_file(path)
    await add(store)
    await store.close()
    backup = path.read_bytes()
    move(path, target, silent)
    for file in path.parent.glob("corral.db*"):
        file.unlink()
    path.write_bytes(backup)  # put back by somebody

    assert "there are rows in" in plan(path, target).faults[0]
    with pytest.raises(StorageUnusable, match="the target is not empty: there are rows in events, runs"):
        move(path, target, silent)

    store = await open_file(path)
    await claim(store)
    await store.close()


async def test_a_target_that_somebody_uses_is_not_waited_for(
    path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.store.to_postgres.migrate._SESSION_SETTINGS", ("SET lock_timeout = '100ms'",))
    store = await open_file(path)
    await add(store)
    with psycopg.connect(target) as other:
        other.execute("SELECT * FROM runs")
        with pytest.raises(StorageUnusable, match="another program is using the target"):
            move(path, target, silent)
    await claim(store)
    await store.close()


async def test_a_file_that_was_moved_is_refused_by_every_program(path: Path, target: str) -> None:
    store = await open_file(path)
    await add(store)
    await store.close()
    move(path, target, silent)

    for use in (open_store, open_for_reading):
        with pytest.raises(StorageMoved, match="was moved to PostgreSQL on"):
            use(f"sqlite:///{path}")
    connection = sqlite_file.connect(path)
    for table in metadata.tables:
        with pytest.raises(Exception, match="moved to PostgreSQL on"):
            connection.execute(f"INSERT INTO {table} DEFAULT VALUES")
    with pytest.raises(Exception, match="moved to PostgreSQL on"):
        connection.execute("UPDATE runs SET priority = 0")
    connection.close()
    assert "password" not in address_of("postgresql://me:password@db.example:6/x")


async def test_a_move_to_a_second_place_is_refused(
    path: Path, target: str, postgres: services.PostgresCluster, with_tables: str
) -> None:
    store = await open_file(path)
    await store.close()
    move(path, target, silent)
    other = postgres.create_database(like=with_tables)
    with pytest.raises(StorageUnusable, match="was moved to PostgreSQL on"):
        move(path, other, silent)
    postgres.drop_database(other)


def test_numbers_and_keys_are_compared_by_what_they_say() -> None:
    assert _canonical('{"b":1e16,"a":[1.50,-0.0,100.0]}') == _canonical(
        '{"a": [1.5, 0.0, 100], "b": 10000000000000000}'
    )
    assert _canonical('{"a":1.5}') != _canonical('{"a":1.6}')
