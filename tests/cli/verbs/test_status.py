"""`corral status`: who works and what waits, and an exit code for those who only ask whether it is well."""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
import redis

from corral.domain.ids import Owner
from corral.domain.runs.node import NodeInfo, NodeRole
from corral.runtime.new_ids import new_owner
from corral.store.open import open_store
from tests.chaos.level import LEVEL
from tests.cli.command import Corral, line_with
from tests.services import PostgresCluster, RedisServer
from tests.slack import SLACK
from tests.store.builders import a_run, add, add_many


def add_run(corral: Corral) -> str:
    async def insert_run() -> str:
        store = open_store(f"sqlite:///{corral.data}/corral.db")
        try:
            return await add(store)
        finally:
            await store.close()

    return asyncio.run(insert_run())


def test_nothing_there_is_well_and_stays_so(corral: Corral) -> None:
    done = corral.here("status")

    assert done.code == 0
    assert "no node is running" in done.out
    assert "not there yet" in done.out
    assert not corral.data.exists()


def test_due_work_without_a_worker_is_wrong_and_says_what_to_do(corral: Corral) -> None:
    add_run(corral)

    done = corral.here("status")
    told = corral.here("status", "--json")

    assert done.code == told.code == 1
    assert "✗ 1 run is due in the queue http and no node serves it; start one with `corral worker`" in done.out
    assert told.json["ok"] is False
    assert [queue["due"] for queue in told.json["queues"]] == [1, 0, 0]
    assert told.json["broker"] is None


def test_a_worker_is_on_record_until_it_stops_and_one_that_was_killed_until_the_next_start(
    corral: Corral, started_forks: Callable[..., subprocess.Popen[str]]
) -> None:
    killed = started_forks(corral, "worker", "--json")
    killed_pid = json.loads(line_with(killed, "works"))["pid"]
    os.kill(killed_pid, signal.SIGKILL)
    killed.wait()
    assert [each["pid"] for each in corral.here("status", "--json").json["workers"]] == [killed_pid]
    process = started_forks(corral, "worker", "--json")
    pid = json.loads(line_with(process, "works"))["pid"]
    deadline = time.monotonic() + 20 * SLACK
    while not (workers := corral.here("status", "--json").json["workers"]) or workers[0]["processes"] != 1:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    [worker] = workers
    table = corral.here("status")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30 * SLACK) == 0

    assert (worker["state"], worker["role"], worker["pid"]) == ("live", "worker", pid)
    assert (worker["transport"], worker["queues"]) == ("embedded", ["http", "browser", "script"])
    assert worker["concurrency"] == 50
    assert table.code == 0
    assert f"live   worker  {worker['host']}" in table.out
    assert corral.here("status", "--json").json["workers"] == []


@pytest.mark.skipif(not LEVEL, reason="long")
def test_watching_goes_on_until_it_is_interrupted(
    corral: Corral, started: Callable[..., subprocess.Popen[str]]
) -> None:
    corral.create()
    process = started(corral, "status", "--watch", "--json")
    for _ in range(2):
        assert '"ok":true' in line_with(process, "storage")
    process.send_signal(signal.SIGINT)
    assert process.wait(20 * SLACK) == 130


def test_a_storage_that_does_not_answer_is_wrong(corral: Corral, postgres: PostgresCluster) -> None:
    url = postgres.create_database().replace(f":{postgres.port}/", ":1/")
    done = corral.here("status", "--json", APP_DATABASE_URL=url)
    assert done.code == 1
    assert done.json["storage"]["status"] == "down"
    assert done.json["problems"]


def test_the_broker_is_shown_with_its_messages_and_missed_when_it_is_away(
    corral: Corral, redis_server: RedisServer
) -> None:
    corral.create()
    settings = {"APP_TRANSPORT": "celery", "APP_CELERY_BROKER_URL": redis_server.url(7)}
    with redis.from_url(redis_server.url(7)) as client:
        client.lpush("browser", "a message")
        there = corral.here("status", "--json", **settings)
        told = corral.here("status", **settings)
        client.delete("browser")
    away = corral.here("status", "--json", **{**settings, "APP_CELERY_BROKER_URL": "redis://127.0.0.1:1/0"})

    assert there.code == told.code == 0
    assert there.json["broker"] == {
        "status": "up",
        "reason": None,
        "messages": {"http": 0, "browser": 1, "script": 0},
    }
    assert "broker   up, messages: http 0, browser 1, script 0" in told.out
    assert [queue["messages"] for queue in there.json["queues"]] == [0, 1, 0]
    assert away.code == 1
    assert away.json["broker"]["status"] == "down"
    assert "the broker does not answer" in away.json["problems"][0]


async def _hold_runs(corral: Corral, owner: Owner, count: int) -> list[str]:
    store = open_store(f"sqlite:///{corral.data}/corral.db")
    info = NodeInfo(owner, "box", 77, NodeRole.WORKER, "embedded", ("http",), 50, "1.2.3")
    await store.nodes.heartbeat(info, 4, is_stopping=False)
    ids = await add_many(store, [a_run() for _ in range(count)])
    await store.runs.claim(owner, count, 10)
    await store.close()
    return ids


def test_what_a_worker_holds_is_listed_and_the_rest_counted(corral: Corral) -> None:
    ids = asyncio.run(_hold_runs(corral, new_owner(), 22))

    done = corral.here("status")

    assert done.code == 0
    assert "live   worker  box   77   http    4          22" in done.out
    assert "http     0    0      0     22       -" in done.out
    assert sum(run_id in done.out for run_id in ids) == 20
    assert "… and 2 more" in done.out
