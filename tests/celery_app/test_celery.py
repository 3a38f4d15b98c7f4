"""Celery's own tools find what they expect, and what they send is obeyed once."""

import json
import os
import signal
import time

import httpx
import pytest

from tests.celery_app.conftest import celery, folder_of
from tests.services import RedisServer
from tests.slack import SLACK
from tests.stack import Stack, celery_worker


def test_celery_knows_the_tasks_and_what_is_executed_now(stack: Stack) -> None:
    registered = celery(stack, "inspect", "registered", "--json")
    [tasks] = json.loads(registered).values()
    assert sorted(tasks) == ["runs.execute", "runs.sweep"]
    slow = stack.start(stack.job("/slow?seconds=8", timeout_s=30))
    stack.until(slow["id"], "running")
    [active] = json.loads(celery(stack, "inspect", "active", "--json")).values()
    assert [task["args"] for task in active if task["name"] == "runs.execute"] == [[slow["id"]]]
    assert stack.wait_for_end(slow["id"])["status"] == "completed"


def test_a_message_sent_by_hand_executes_its_run_once(stack: Stack) -> None:
    done = stack.wait_for_end(stack.start(stack.job())["id"])
    celery(stack, "call", "runs.execute", "--args", json.dumps([done["id"]]))
    celery(stack, "call", "runs.execute", "--kwargs", json.dumps({"run_id": done["id"]}))
    celery(stack, "call", "runs.execute", "--args", json.dumps(["no-such-run"]))
    for nonsense in ("[]", "[7]", '[{"a": 1}]'):
        celery(stack, "call", "runs.execute", "--args", nonsense)
    after = stack.wait_for_end(stack.start(stack.job())["id"])
    assert after["status"] == "completed", "and the worker is well"
    assert stack.messages(done["id"]).count("Run started") == 1


def test_beat_asks_for_a_sweep_each_second(stack: Stack) -> None:
    def sweeps() -> int:
        [stats] = json.loads(celery(stack, "inspect", "stats", "--json")).values()
        return int(stats["total"].get("runs.sweep", 0))

    before = sweeps()
    time.sleep(2)
    assert sweeps() > before
    assert not list(folder_of(stack).glob("celerybeat-schedule*")), "it has nothing to remember"


def test_health_speaks_of_the_broker(stack: Stack) -> None:
    broker = stack.client.get("/health").json()["components"]["broker"]
    assert broker == {"status": "up"}


def test_a_retry_is_told_when_its_time_has_come(stack: Stack) -> None:
    began = time.monotonic()
    run = stack.wait_for_end(stack.start(stack.job("/slow?seconds=2", timeout_s=1), max_attempts=2)["id"])
    assert (run["status"], run["failure_code"], run["attempt"]) == ("failed", "timeout", 2)
    assert "Retry scheduled" in stack.messages(run["id"])
    assert time.monotonic() - began < 8 * SLACK, "it was told, not found by its age"


@pytest.mark.long
def test_a_schedule_fires_through_beat(stack: Stack) -> None:
    job = stack.job(frequency="* * * * *")
    deadline = time.monotonic() + 90
    while not (runs := stack.client.get(f"/jobs/{job['id']}/runs").json()):
        assert time.monotonic() < deadline, "beat is not heard"
        time.sleep(0.5)
    assert stack.wait_for_end(runs[0]["id"])["status"] == "completed"
    stack.client.delete(f"/jobs/{job['id']}")


def test_a_worker_that_is_told_to_stop_gives_back_what_it_cannot_finish(
    stack: Stack, redis_server: RedisServer
) -> None:
    """On a broker of its own, so that it is the only one to hear."""
    broker = {"APP_CELERY_BROKER_URL": redis_server.url(4)}
    variables = {**stack.environment, **broker, "APP_SHUTDOWN_GRACE_SECONDS": "1"}
    with celery_worker(folder_of(stack), variables, "--queues", "http", "--concurrency", "4") as worker:
        run = stack.start(stack.job("/slow?seconds=30", timeout_s=60))
        celery(stack, "call", "runs.execute", "--args", json.dumps([run["id"]]), **broker)
        stack.until(run["id"], "running")
        began = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
        assert time.monotonic() - began < 8 * SLACK
    stack.client.post(f"/jobs/runs/{run['id']}/cancel")
    assert stack.wait_for_end(run["id"])["status"] == "cancelled"


def test_a_consumer_that_stalls_ends_to_be_started_again(stack: Stack, redis_server: RedisServer) -> None:
    """It is told to consume no more, and messages pile up: as after a broker that was away and came back."""
    broker = {"APP_CELERY_BROKER_URL": redis_server.url(7)}
    with celery_worker(folder_of(stack), {**stack.environment, **broker}) as worker:
        name = f"corral-{worker.pid}@{os.uname().nodename}"
        celery(stack, "control", "-d", name, "cancel_consumer", "http", **broker)
        celery(stack, "call", "runs.execute", "--args", '["x"]', **broker)
        assert worker.wait(60) == 75


def test_the_api_answers_at_once_while_nobody_works(stack: Stack) -> None:
    job = stack.job("/slow?seconds=20", timeout_s=30)
    began = time.monotonic()
    run = stack.start(job)
    assert time.monotonic() - began < 1 * SLACK
    assert httpx.get(f"{stack.url}/ready").status_code == 200
    stack.client.post(f"/jobs/runs/{run['id']}/cancel")
    assert stack.wait_for_end(run["id"])["status"] == "cancelled"
