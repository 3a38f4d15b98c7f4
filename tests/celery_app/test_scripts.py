"""Script runs on PostgreSQL and Celery: the queue `script`, records and artifacts over HTTP, a killed worker."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.celery_app.conftest import folder_of
from tests.scripts.builders import processes_of
from tests.services import PostgresCluster, RedisServer
from tests.slack import SLACK
from tests.stack import Stack, celery_worker, corral_distributed

SCRIPT = """
import json, os, subprocess, sys, time
print(json.dumps({"season": sys.argv[sys.argv.index("--season") + 1]}))
print("done", file=sys.stderr)
go = "go-" + sys.argv[sys.argv.index("--season") + 1]
while "slow" in go and not os.path.exists(go):
    subprocess.run(["sleep", "0.1"])
"""


@pytest.fixture
def own_stack(site: str, postgres: PostgresCluster, redis_server: RedisServer, tmp_path: Path) -> Iterator[Stack]:
    with corral_distributed(tmp_path, site, postgres.create_migrated(), redis_server.url(4)) as running:
        yield running


def import_task(stack: Stack, task_id: str, season: str) -> str:
    """Import a task and return the id of its run."""
    task = {"id": task_id, "priority": "HIGH", "scraper": "sample", "season": season, "estimated_time_minutes": 2}
    answer = stack.client.post("/queue/import", json={"tasks": [task]})
    assert answer.status_code == 200, answer.text
    deadline = time.monotonic() + 30 * SLACK
    while not (run_id := stack.client.get(f"/queue/tasks/{task_id}").json().get("run_id")):
        assert time.monotonic() < deadline, stack.client.get(f"/queue/tasks/{task_id}").text
        time.sleep(0.05)
    return str(run_id)


def write_script(stack: Stack) -> None:
    folder = folder_of(stack) / "scripts"
    folder.mkdir(exist_ok=True)
    (folder / "sample.py").write_text(SCRIPT)
    (folder / "sample.py").chmod(0o644)


def test_a_script_run_has_records_events_and_artifacts_over_http(stack: Stack) -> None:
    write_script(stack)
    run = stack.wait_for_end(import_task(stack, "task_000001", "2024-25"))
    assert (run["status"], run["kind"]) == ("completed", "script"), run
    records = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert [record["data"] for record in records] == [{"season": "2024-25"}]
    last = stack.client.get(f"/jobs/runs/{run['id']}/events").json()[-1]
    assert last["meta"]["stats"]["output"]["stderr"] == "done\n"
    artifacts = stack.client.get(f"/jobs/runs/{run['id']}/artifacts").json()
    kept = {each["kind"]: each for each in artifacts}
    assert sorted(kept) == ["stderr", "stdout"]
    whole = stack.client.get(f"/jobs/runs/{run['id']}/artifacts/{kept['stdout']['id']}")
    assert whole.text == '{"season": "2024-25"}\n'
    assert whole.headers["content-type"].startswith("text/plain")


def test_a_node_killed_with_its_workers_leaves_no_process_and_another_one_executes_the_run(own_stack: Stack) -> None:
    stack = own_stack
    write_script(stack)
    variables = {**stack.environment, "APP_WORKERS": "1"}
    run_id = import_task(stack, "task_000002", "slow")
    stack.until(run_id, "running")
    deadline = time.monotonic() + 20 * SLACK
    while not processes_of(run_id):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    [node] = [psutil.Process(int(each["pid"])) for each in stack.client.get("/workers").json()]
    victims = [node, *node.children()]
    with celery_worker(folder_of(stack), variables, "--queues", "script"):
        for victim in victims:
            os.kill(victim.pid, signal.SIGKILL)
        (folder_of(stack) / "go-slow").touch()
        run = stack.wait_for_end(run_id, 60)
    assert run["status"] == "completed"
    assert processes_of(run_id) == []
