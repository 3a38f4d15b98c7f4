"""Messages are hints: whatever the broker does with them costs time, and nothing else."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import redis

from tests.chaos.fleet import Answers, Fleet, Liar, create_job, fleet, submit, until_works, wait_until_drained
from tests.chaos.history import check, read
from tests.chaos.level import by_level, make_random
from tests.chaos.report import report
from tests.services import PostgresCluster, RedisServer, redis_server
from tests.slack import SLACK
from tests.stack import demo_site

RUNS = by_level(60, 1_000)
FAULTS = by_level(2, 12)


@pytest.fixture
def broker() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def running(tmp_path: Path, postgres: PostgresCluster, broker: RedisServer) -> Iterator[Fleet]:
    with fleet(tmp_path, postgres.create_database(), broker.url(1)) as made:
        yield made


def all_once(made: Fleet, answers: Answers) -> None:
    """Every run ended once, with what it was to find."""
    assert check(made.database_url, answers.ids) == []
    history = read(made.database_url)
    assert {history.runs[id_].state for id_ in answers.ids} == {"completed"}
    assert all(len(history.records[id_]) == 1 for id_ in answers.ids)


def test_messages_lost_doubled_late_and_flushed_cost_only_time(running: Fleet, broker: RedisServer) -> None:
    """The broker lies while it is emptied again and again."""
    until_works(running.start_worker("--beat", broker=broker.url(2)))
    answers = Answers()
    with demo_site() as site, Liar(broker, 1, 2, make_random()) as liar, redis.from_url(broker.url(2)) as client:
        job = create_job(running.url, f"{site}/articles")
        for _ in range(FAULTS):
            submit(running.url, job, RUNS // FAULTS, answers)
            client.flushall()
        took_s = wait_until_drained(running.url, 60, running.logs)
    all_once(running, answers)
    assert liar.lost
    assert liar.doubled
    report(
        f"broker: {RUNS} runs, of {liar.carried} messages {liar.lost} lost, {liar.doubled} doubled, {liar.delayed} "
        f"delayed, emptied {FAULTS} times: all ended once, {took_s:.1f} s after the last was submitted"
    )


def test_a_broker_that_dies_is_not_missed(running: Fleet, broker: RedisServer) -> None:
    until_works(running.start_worker("--beat"))
    answers, without_s = Answers(), 0.0
    with demo_site() as site:
        job = create_job(running.url, f"{site}/articles")
        for _ in range(FAULTS):
            submit(running.url, job, RUNS // FAULTS // 2, answers)
            broker.kill()
            submit(running.url, job, RUNS // FAULTS // 2, answers)
            deadline = time.monotonic() + 10 * SLACK
            while (health := httpx.get(f"{running.url}/health").json())["status"] == "healthy":
                assert time.monotonic() < deadline, "nobody says that the broker is gone"
                time.sleep(0.1)
            assert health["components"]["broker"]["status"] == "down"
            without_s = wait_until_drained(running.url, 30, running.logs)
            broker.start()
        # And back: what is told now is heard at once, not found by its age.
        _until_heard(running)
        began = time.monotonic()
        submit(running.url, job, 5, answers)
        wait_until_drained(running.url, 30, running.logs)
        with_s = time.monotonic() - began
    all_once(running, answers)
    assert answers.statuses.keys() == {200}, "whoever submits does not notice"
    report(
        f"broker: killed {FAULTS} times under {len(answers.ids)} runs: all ended once, {without_s:.1f} s without it; "
        f"back, 5 runs took {with_s:.2f} s"
    )


def _until_heard(made: Fleet) -> None:
    deadline = time.monotonic() + 20 * SLACK
    while httpx.get(f"{made.url}/health").json()["status"] != "healthy":
        assert time.monotonic() < deadline, "the broker is back and nobody notices"
        time.sleep(0.1)
    time.sleep(2)
