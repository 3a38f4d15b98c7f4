"""Workers and queues over HTTP, in the metrics and in the health of an installation."""

import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from corral.api.app import create_app
from corral.settings import load_settings
from corral.store.open import open_store
from corral.wiring.roles import open_client
from tests.slack import SLACK
from tests.stack import Stack
from tests.store.builders import a_run, add


def node_holding(stack: Stack, run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20 * SLACK
    while time.monotonic() < deadline:
        for worker in stack.client.get("/workers").json():
            for run in worker["runs"]:
                if run["run_id"] == run_id:
                    return {**worker, "run": run}
        time.sleep(0.02)
    raise AssertionError(f"nobody holds {run_id}")


def test_a_worker_is_shown_with_the_run_it_holds(stack: Stack) -> None:
    job = stack.job("/slow?seconds=3")
    run = stack.start(job, priority="critical")

    worker = node_holding(stack, run["id"])
    page = stack.client.get(f"/workers/{worker['owner']}/runs?limit=200")
    queues = {queue["queue"]: queue for queue in stack.client.get("/queues").json()}
    stack.wait_for_end(run["id"])

    is_told = "APP_TRANSPORT" in stack.environment
    assert (worker["state"], worker["role"]) == ("live", "worker" if is_told else "embedded")
    assert worker["transport"] == ("celery" if is_told else "embedded")
    assert (worker["pid"] == stack.process.pid) is not is_told
    assert worker["holding"] >= 1
    held = worker["run"]
    assert (held["job_id"], held["kind"]) == (job["id"], "page")
    assert 0 < held["lease_left_s"] <= 10
    assert run["id"] in [each["run_id"] for each in page.json()]
    assert list(queues) == ["http", "browser", "script"]
    assert queues["http"]["running"] >= 1
    assert isinstance(queues["http"]["messages"], int) is is_told
    assert [band["priority"] for band in queues["http"]["bands"]] == ["critical", "high", "medium", "low"]


def test_workers_are_listed_by_page_and_a_strange_cursor_is_refused(stack: Stack) -> None:
    first = stack.client.get("/workers?limit=1")
    second = stack.client.get("/workers", params={"limit": 1, "cursor": first.headers["X-Next-Cursor"]})
    assert first.json()[0]["owner"] not in [each["owner"] for each in second.json()]
    assert stack.client.get("/workers?cursor=abc").status_code == 422
    assert stack.client.get("/workers/nobody/runs").status_code == 422


def test_the_metrics_tell_of_workers_and_queues(stack: Stack) -> None:
    text = stack.client.get("/metrics").text
    assert 'corral_workers{state="live"} ' in text
    assert 'corral_queue_depth{priority="critical",queue="http"} ' in text
    assert 'corral_queue_oldest_seconds{queue="browser"} ' in text
    is_told = "APP_TRANSPORT" in stack.environment
    assert f"corral_worker_processes {0 if is_told else 1}.0" in text
    assert ('corral_broker_messages{queue="http"} ' in text) is is_told


async def test_due_work_that_nobody_serves_degrades_the_health(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_DATA_DIR", str(tmp_path))
    settings = load_settings()
    store = open_store(settings.store_url)
    await add(store, a_run())
    await store.close()
    async with open_client(settings) as app:
        transport = httpx.ASGITransport(create_app(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            fresh = (await client.get("/health")).json()
            app.store._db.connection.execute("UPDATE runs SET due_at = due_at - 31000")  # type: ignore[attr-defined]
            old = (await client.get("/health")).json()
    assert fresh["status"] == "healthy"
    assert old["status"] == "degraded"
    assert old["components"]["workers"]["status"] == "degraded"
    assert "no node serves it; start one with `corral worker`" in old["components"]["workers"]["reason"]
