"""A broker that is stopped (SIGSTOP) keeps its sockets open and answers nothing. It carries hints only."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.services import PostgresCluster, RedisServer
from tests.slack import SLACK
from tests.stack import Stack, celery_worker, environment, serve_api, stop

LOST_MESSAGE_S = 10.0  # after which a run is taken whose message never came


@contextmanager
def frozen(redis: RedisServer) -> Iterator[None]:
    assert redis.process is not None
    os.kill(redis.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(redis.process.pid, signal.SIGCONT)


@pytest.fixture
def variables(tmp_path: Path, postgres: PostgresCluster, redis_server: RedisServer) -> dict[str, str]:
    told = {"APP_DATABASE_URL": postgres.create_migrated(), "APP_CELERY_BROKER_URL": redis_server.url(5)}
    return environment(tmp_path / "var", APP_TRANSPORT="celery", APP_SHUTDOWN_GRACE_SECONDS="2", **told)


def test_runs_start_without_the_broker_and_a_worker_that_stops_takes_no_more(
    tmp_path: Path, site: str, variables: dict[str, str], redis_server: RedisServer
) -> None:
    with (
        serve_api(tmp_path, variables) as (url, api),
        celery_worker(tmp_path, variables, "--beat") as worker,
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        stack = Stack(url, site, tmp_path / "var", api, client, tmp_path / "api.log", variables)
        job = stack.job()
        stack.wait_for_end(stack.start(job)["id"])
        with frozen(redis_server):
            began = time.monotonic()
            stack.until(stack.start(job)["id"], "completed")
            took_s = time.monotonic() - began
            assert took_s < LOST_MESSAGE_S, f"{took_s:.1f} s: it waited for a message"
            deadline = time.monotonic() + 5 * SLACK
            while client.get("/health").json()["components"]["broker"]["status"] != "down":
                assert time.monotonic() < deadline, "nothing says that the broker is gone"
                time.sleep(0.1)

            worker.send_signal(signal.SIGTERM)
            told = time.monotonic()
            late = stack.start(job)["id"]
            stop(worker, within_s=30)
            took_s = time.monotonic() - told
            assert took_s < 4 * SLACK, f"{took_s:.1f} s with nothing to do"
            assert stack.run(late)["status"] == "queued", "it was claimed after the worker was told to stop"
