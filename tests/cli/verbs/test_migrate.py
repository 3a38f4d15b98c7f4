"""`corral db migrate-to` at the command line: its output, its refusals, and a running installation that it moves."""

import asyncio
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from corral.domain.runs.event import fold
from corral.store.open import open_store
from tests import services
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.slack import SLACK
from tests.stack import Stack, corral_up, stop
from tests.store.builders import add


@pytest.fixture
def target(postgres: services.PostgresCluster) -> Iterator[str]:
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


def with_runs(corral: Corral, count: int = 1) -> None:
    async def add_runs() -> None:
        store = open_store(f"sqlite:///{corral.data}/corral.db")
        for _ in range(count):
            await add(store)
        await store.close()

    asyncio.run(add_runs())


def test_what_stands_in_the_way_is_said_and_nothing_is_changed(corral: Corral, target: str) -> None:
    def refuse(url: str, **settings: str) -> tuple[int, str]:
        done = corral.here("db", "migrate-to", url, **settings)
        assert done.out == ""
        return done.code, done.err

    assert refuse("mysql://x/y") == (2, refuse("mysql://x/y")[1])
    assert "the target is not the address of a PostgreSQL database" in refuse("postgresql://[")[1]
    code, told = refuse(target)
    assert code == 78
    assert "does not exist: there is nothing to migrate" in told
    with_runs(corral)
    code, told = refuse("postgresql://me:sesame-open@127.0.0.1:1/x")
    assert code == 1
    assert "sesame" not in told
    assert "PostgreSQL does not answer as it should" in told
    assert "fix: check that the server in the target address is up" in told
    code, told = refuse(target, APP_DATABASE_URL=target)
    assert code == 78
    assert "on PostgreSQL already" in told
    with psycopg.connect(target, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE alembic_version (version_num text); INSERT INTO alembic_version VALUES ('9999')"
        )
        code, told = refuse(target)
        connection.execute("DROP TABLE alembic_version")
    assert code == 78
    assert "has schema version 9999" in told
    assert corral.here("status", "--json").json["queues"][0]["due"] == 1


def test_a_dry_run_tells_and_does_nothing(corral: Corral, target: str) -> None:
    with_runs(corral, 3)

    told = corral.here("db", "migrate-to", target, "--dry-run")
    plan = corral.here("db", "migrate-to", target, "--dry-run", "--json").json

    assert told.code == 0
    assert "runs         3" in told.out
    assert "nothing was written" in told.out
    assert (plan["would"], plan["tables"]["runs"], plan["problems"]) == ("move", 3, [])
    with psycopg.connect(target) as connection:
        assert connection.execute("SELECT to_regclass('runs')").fetchone() == (None,)
    asyncio.run(_add_to(target))
    told = corral.here("db", "migrate-to", target, "--dry-run")
    assert told.code == 1
    assert "✗ the target is not empty: there are rows in events, runs" in told.out


async def _add_to(url: str) -> None:
    store = open_store(url)
    await add(store)
    await store.close()


def test_moved_once_the_old_place_says_where_everything_is(corral: Corral, target: str, tmp_path: Path) -> None:
    with_runs(corral, 2)
    address = tmp_path / "address"
    address.write_text(f"{target}\n")

    done = corral.here("db", "migrate-to", f"@{address}")
    again = corral.here("db", "migrate-to", target, "--json")

    assert done.code == again.code == 0
    assert "moved 5 rows of 3 tables to PostgreSQL at 127.0.0.1:" in done.out
    assert "runs: 2 rows copied and compared" in done.err
    assert again.json["was_done_before"] is True
    for verb in (("run", "list"), ("worker",), ("status",)):
        refused = corral.here(*verb)
        assert refused.code == 78
        assert "was moved to PostgreSQL on" in refused.err
        assert "fix: set APP_DATABASE_URL" in refused.err
    assert "was moved to PostgreSQL" in corral.here("doctor").out
    assert corral.here("doctor", APP_DATABASE_URL=target).code == 0
    assert len(corral.here("run", "list", "--json", APP_DATABASE_URL=target).json) == 2


@pytest.mark.skipif(not LEVEL, reason="long")
def test_ctrl_c_moves_nothing(corral: Corral, target: str, started: Callable[..., subprocess.Popen[str]]) -> None:
    with_runs(corral)
    asyncio.run(_add_to(target))
    with psycopg.connect(target) as other:
        other.execute("TRUNCATE runs, events")  # and holds its locks, so that the move waits
        process = started(corral, "db", "migrate-to", target)
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        with psycopg.connect(target, autocommit=True) as looking:
            while looking.execute(waiting).fetchone() == (0,):
                time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 130
    assert "nothing was moved, and the old database stays in use" in told
    assert "was begun on" in corral.here("doctor").out
    assert corral.here("status", "--json").json["queues"][0]["due"] == 1


def in_flight(stack: Stack) -> list[str]:
    """Runs that have ended, that are being executed, that wait and that crawl."""
    slow, quick = stack.job("/slow?seconds=7"), stack.job("/articles")
    ids = [stack.start(quick)["id"] for _ in range(5)]
    for run_id in ids:
        stack.wait_for_end(run_id)
    ids += [stack.start(slow)["id"] for _ in range(4)]
    answer = stack.client.post("/scraping/async-scrape", json={"url": f"{stack.site}/"})
    assert answer.status_code == 200, answer.text
    ids.append(answer.json()["task_id"])
    for run_id in ids[5:]:
        stack.until(run_id, "running")
    return ids


def health_says_moved(stack: Stack) -> dict[str, object]:
    deadline = time.monotonic() + 20 * SLACK
    while True:
        health = stack.client.get("/health").json()
        if "was moved to PostgreSQL on" in str(health):
            return dict(health)
        assert time.monotonic() < deadline, health
        time.sleep(0.1)


def test_runs_in_flight_go_on_at_the_new_place_and_none_is_lost_or_doubled(
    tmp_path: Path, site: str, target: str
) -> None:
    corral = Corral(tmp_path)
    corral.data = tmp_path / "var"
    with corral_up(tmp_path, site) as old:
        ids = in_flight(old)
        done = corral.here("db", "migrate-to", target, "--json")  # soon, while they are executed
        assert done.code == 0, done.err
        health = health_says_moved(old)
        ready, stale = old.client.get("/ready"), old.client.get("/jobs/runs")
        refused = old.client.post("/jobs", json={"target_url": f"{site}/", "fields": ["title"], "strategy": "http"})
        with corral_up(tmp_path, site, APP_DATABASE_URL=target) as new:
            states = {run_id: new.wait_for_end(run_id, 60)["status"] for run_id in ids}
            listed = Counter(run["id"] for run in new.client.get("/jobs/runs?limit=200").json())
        stopped = stop(old.process)
    assert "Traceback" not in old.log.read_text()
    assert health["status"] == "unhealthy"
    assert (ready.status_code, stale.status_code) == (503, 503)
    assert stopped == 0
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "storage_moved"
    assert done.json["requeued"] >= 4, "the slow ones, and the crawl where it was not through"
    assert set(states.values()) <= {"completed", "partial"}
    assert all(listed[run_id] == 1 for run_id in ids)
    asyncio.run(_check(target, ids, done.json["tables"]["events"]))


async def _check(url: str, ids: list[str], moved_events: int) -> None:
    store = open_store(url)
    for run_id in ids:
        run = await store.runs.get(run_id)
        events = await store.events.of_run(run_id, 0, 1000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert fold(event.kind for event in events) is run.state
        assert run.attempt == 1, "no attempt was counted for the move"
        assert run.losses == 0
        records = await store.records.of_run(run_id, "", 1000)
        assert len({record.item_key for record in records}) == len(records) >= 1
        if run.kind == "page":
            assert len(records) == 1
    feed = await store.events.feed(0, 10_000)
    assert [event.position for event in feed] == sorted({event.position for event in feed})
    assert len(feed) > moved_events
    assert await store.maintenance.audit() == []
    await store.close()
