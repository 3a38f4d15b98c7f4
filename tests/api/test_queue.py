"""The queue over HTTP."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.slack import SLACK
from tests.stack import Stack, corral_up
from tests.waiting import block_until

_SCRIPT = """
import argparse, json, time
parser = argparse.ArgumentParser()
parser.add_argument("--word", default="")
parser.add_argument("--seconds", type=float, default=0)
options = parser.parse_args()
time.sleep(options.seconds)
print(json.dumps({"word": options.word}))
"""


@pytest.fixture(scope="module")
def queue(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """An installation whose queue knows one scraper."""
    folder = tmp_path_factory.mktemp("queue")
    scripts = folder / "scripts"
    scripts.mkdir()
    (scripts / "words.py").write_text(_SCRIPT)
    (scripts / "words.py").chmod(0o644)
    data = tmp_path_factory.mktemp("queue-data")
    config = str(folder / "config.yaml")
    with corral_up(data, site, APP_SCRAPER_ROOT=str(folder), APP_SCRAPER_CONFIG=config) as running:
        yield running


def _task(**more: Any) -> dict[str, Any]:
    return {"id": f"t-{uuid4().hex}", "priority": "HIGH", "scraper": "words", **more}


def _import(queue: Stack, *tasks: Any) -> dict[str, Any]:
    answer = queue.client.post("/queue/import", json={"tasks": tasks})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def _wait_for_end(queue: Stack, task_id: str) -> dict[str, Any]:
    def read() -> dict[str, Any] | None:
        task = queue.client.get(f"/queue/tasks/{task_id}").json()
        return dict(task) if task["state"] in {"completed", "partial", "dead", "cancelled"} else None

    found = block_until(read, within_s=30 * SLACK)
    assert found is not None
    return found


def test_imported_tasks_are_executed_and_their_records_can_be_read(queue: Stack) -> None:
    good, bad = _task(word="corral"), _task(scraper="nothing")
    report = _import(queue, good, bad, {"id": 7})
    assert (report["imported"], [each["index"] for each in report["malformed"]]) == (2, [2])
    assert _import(queue, good)["unchanged"] == 1
    task = _wait_for_end(queue, good["id"])
    assert (task["state"], task["starts"], task["reason"]) == ("completed", 1, None)
    records = queue.client.get(f"/jobs/runs/{task['run_id']}/records").json()
    assert [record["data"] for record in records] == [{"word": "corral"}]

    dead = _wait_for_end(queue, bad["id"])
    assert "scraper_not_found" in dead["reason"]
    assert dead["id"] in [each["id"] for each in queue.client.get("/queue/dead").json()]
    block_until(lambda: queue.client.get("/queue/stats").json()["by_scraper"]["words"].get("completed"))
    assert [each["name"] for each in queue.client.get("/queue/scrapers").json()] == ["words"]
    again = queue.client.post(f"/queue/tasks/{dead['id']}/requeue").json()
    assert again["reason"] is None
    assert _wait_for_end(queue, dead["id"])["state"] == "dead"
    assert queue.client.post("/queue/dead/requeue").json()["requeued"] >= 1


def test_a_listing_is_filtered_and_paged(queue: Stack) -> None:
    tasks = [_task(priority="LOW", word=str(number)) for number in range(3)]
    _import(queue, *tasks)
    ids: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": "2", "priority": "LOW", **({"cursor": cursor} if cursor else {})}
        answer = queue.client.get("/queue/tasks", params=query)
        ids += [each["id"] for each in answer.json()]
        cursor = answer.headers.get("x-next-cursor")
        if cursor is None:
            break
    assert ids == [task["id"] for task in reversed(tasks)]


def test_a_running_task_is_cancelled(queue: Stack) -> None:
    task = _task(seconds=60)
    _import(queue, task)
    url = f"/queue/tasks/{task['id']}"
    block_until(lambda: queue.client.get(url).json()["state"] == "running", within_s=20 * SLACK)
    assert queue.client.post(f"{url}/cancel").json()["state"] == "cancelled"
    again = queue.client.post(f"{url}/cancel")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "wrong_state")


@pytest.mark.parametrize(
    "path, body, status",
    [
        ("/queue/import", {}, 422),
        ("/queue/import", {"tasks": {}}, 422),
        ("/queue/tasks/nothing/requeue", None, 404),
        ("/queue/tasks/nothing/cancel", None, 404),
    ],
)
def test_bad_requests_have_the_error_shape(queue: Stack, path: str, body: Any, status: int) -> None:
    answer = queue.client.post(path, json=body)
    assert (answer.status_code, set(answer.json())) == (status, {"error", "detail"})
