"""The queue over HTTP, and the interface of scrapyd with a real client of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from scrapyd_api import ScrapydAPI
from scrapyd_api.exceptions import ScrapydResponseError

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


def _ended(queue: Stack, task_id: str) -> dict[str, Any]:
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
    task = _ended(queue, good["id"])
    assert (task["state"], task["starts"], task["reason"]) == ("completed", 1, None)
    records = queue.client.get(f"/jobs/runs/{task['run_id']}/records").json()
    assert [record["data"] for record in records] == [{"word": "corral"}]

    dead = _ended(queue, bad["id"])
    assert "scraper_not_found" in dead["reason"]
    assert dead["id"] in [each["id"] for each in queue.client.get("/queue/dead").json()]
    stats = queue.client.get("/queue/stats").json()
    assert stats["by_scraper"]["words"]["completed"] >= 1
    assert [each["name"] for each in queue.client.get("/queue/scrapers").json()] == ["words"]
    again = queue.client.post(f"/queue/tasks/{dead['id']}/requeue").json()
    assert again["reason"] is None
    assert _ended(queue, dead["id"])["state"] == "dead"
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


def test_a_client_of_scrapyd_schedules_lists_and_cancels(queue: Stack) -> None:
    scrapyd = ScrapydAPI(queue.url)
    assert scrapyd.list_projects() == ["default"]
    assert scrapyd.list_spiders("default") == ["words"]
    job = scrapyd.schedule("default", "words", word="from scrapyd", seconds="0.01")
    block_until(lambda: scrapyd.job_status("default", job) == "finished", within_s=30 * SLACK)
    task = queue.client.get(f"/queue/tasks/{job}").json()
    records = queue.client.get(f"/jobs/runs/{task['run_id']}/records").json()
    assert [record["data"] for record in records] == [{"word": "from scrapyd"}]

    long_job = scrapyd.schedule("default", "words", seconds="60")
    block_until(lambda: scrapyd.job_status("default", long_job) == "running", within_s=30 * SLACK)
    assert scrapyd.cancel("default", long_job) == "running"
    assert scrapyd.job_status("default", long_job) == "finished"
    assert scrapyd.cancel("default", long_job) is None
    status = httpx.get(f"{queue.url}/daemonstatus.json").json()
    assert (status["status"], status["running"], status["pending"]) == ("ok", 0, 0)
    with pytest.raises(ScrapydResponseError, match="other"):
        scrapyd.schedule("other", "words")
    with pytest.raises(ScrapydResponseError, match="unknown"):
        scrapyd.schedule("default", "unknown")
    with pytest.raises(ScrapydResponseError, match="exists already"):
        scrapyd.schedule("default", "words", jobid=job, word="another")
    assert queue.client.get(f"/queue/tasks/{job}").json()["task"] == task["task"]
    for name in ("id", "scraper", "source"):
        with pytest.raises(ScrapydResponseError, match=f"argument '{name}' is a property of the task"):
            scrapyd.schedule("default", "words", **{name: "words"})
    with pytest.raises(ScrapydResponseError, match="begins with"):
        scrapyd.schedule("default", "words", word="--output=/etc/passwd")
    with pytest.raises(ScrapydResponseError, match="no task"):
        scrapyd.cancel("default", "unknown")


def test_a_client_of_scrapyd_sends_the_token_as_password(site: str, tmp_path: Path) -> None:
    token = "a-token-of-twenty-chars"
    with corral_up(tmp_path, site, APP_WRITE_TOKEN=token, APP_SCRAPER_ROOT=str(tmp_path)) as running:
        assert ScrapydAPI(running.url, auth=("user", token)).list_projects() == ["default"]
        assert httpx.get(f"{running.url}/listprojects.json", auth=("user", "wrong")).status_code == 401


def test_forms_are_accepted_by_the_paths_of_scrapyd_only(queue: Stack) -> None:
    answer = queue.client.post(
        "/queue/import", content=b"tasks=1", headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert answer.status_code == 415
