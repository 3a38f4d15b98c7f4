"""Workflows over HTTP, on SQLite and on PostgreSQL with Celery."""

import json
import time
from typing import Any
from uuid import uuid4

import pytest

from tests.slack import SLACK
from tests.stack import Stack
from tests.waiting import block_until


def page(key: str, url: str, *needs: str, **more: Any) -> dict[str, Any]:
    config = {"url": url, "fields": ["title"], "respect_robots": False}
    return {"key": key, "kind": "page", "depends_on": list(needs), "config": config, **more}


def create(stack: Stack, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    definition = {"name": f"api-{uuid4().hex[:8]}", "steps": list(steps)}
    answer = stack.client.post("/workflows", json={"definition": definition, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def wait_for(stack: Stack, workflow_id: str, *statuses: str) -> dict[str, Any]:
    def read() -> dict[str, Any] | None:
        now = stack.client.get(f"/workflows/{workflow_id}").json()
        return dict(now) if now["status"] in statuses else None

    found = block_until(read, within_s=60)
    assert found is not None
    return found


def test_a_workflow_of_pages_runs_to_its_end_and_its_outputs_flow(stack: Stack) -> None:
    report = {
        "key": "report",
        "kind": "export",
        "depends_on": ["each"],
        "config": {"run_ids": ["${steps.first.run_id}"], "output": f"{uuid4().hex}.jsonl"},
    }
    each = page("each", "${item}", "first", for_each="${steps.first.output.records[*].again}", allow_failures=True)
    first = page("first", f"{stack.site}/")
    first["config"]["fields"] = ["title", {"name": "again", "const": f"{stack.site}/slow?seconds=0"}]
    made = create(stack, first, each, report, job_id=7, priority="high")
    assert (made["job_id"], made["priority"], made["version"]) == ("7", "high", 1)

    done = wait_for(stack, made["id"], "completed", "failed")
    assert (done["status"], done["progress"], done["completed_tasks"]) == ("completed", 100, 3), done
    tasks = {task["key"]: task for task in done["tasks"]}
    assert tasks["each"]["items"]["total"] == 1
    assert tasks["report"]["result"]["records"] == 1
    assert tasks["first"]["actual_duration"] > 0
    progress = stack.client.get(f"/workflows/{made['id']}/progress").json()
    assert {"workflow_id", "current_step", "total_steps", "recovery_attempts", "tasks"} <= progress.keys()
    items = stack.client.get(f"/workflows/{made['id']}/steps/each/items").json()
    assert [item["state"] for item in items] == ["completed"]
    graph = stack.client.get(f"/workflows/{made['id']}/mermaid").text
    assert "s0 --> s1" in graph
    assert ":::completed" in graph


def test_a_failed_step_is_recovered_from_where_it_failed(stack: Stack) -> None:
    good = page("good", f"{stack.site}/")
    bad = page("bad", f"{stack.site}/no-such-page-at-all", "good", max_retries=0)
    after = page("after", f"{stack.site}/", "bad")
    made = create(stack, good, bad, after)
    failed = wait_for(stack, made["id"], "completed", "failed")
    assert [task["status"] for task in failed["tasks"]] == ["completed", "failed", "skipped"]
    assert "bad" in failed["error_message"]
    before = failed["tasks"][0]["run_id"]

    refused = stack.client.post(f"/workflows/{made['id']}/recover", json={"from_step": "after"})
    assert (refused.status_code, "recover from there" in refused.text) == (422, True)
    recovering = stack.client.post(f"/workflows/{made['id']}/recover", json={"from_step": "bad"}).json()
    assert recovering["recovery_attempts"] == 1
    again = wait_for(stack, made["id"], "failed")
    assert again["tasks"][0]["run_id"] == before, "what completed was not executed again"
    assert again["tasks"][1]["run_id"] != failed["tasks"][1]["run_id"]


def test_pause_resume_and_cancel(stack: Stack) -> None:
    slow = page("slow", f"{stack.site}/slow?seconds=20", timeout=60)
    made = create(stack, slow, page("after", f"{stack.site}/", "slow"), start=False)
    address = f"/workflows/{made['id']}"
    assert made["status"] == "pending"
    assert stack.client.post(f"{address}/pause").status_code == 409
    assert stack.client.post(f"{address}/start").json()["status"] == "running"
    assert stack.client.post(f"{address}/start").status_code == 409
    block_until(lambda: stack.client.get(address).json()["tasks"][0]["status"] == "running", within_s=30)

    assert stack.client.post(f"{address}/pause").json()["status"] == "paused"
    assert stack.client.get(address).json()["tasks"][0]["status"] == "running", "what runs finishes"
    assert stack.client.post(f"{address}/resume").json()["status"] == "running"

    run_id = stack.client.get(address).json()["tasks"][0]["run_id"]
    began = time.monotonic()
    assert stack.client.post(f"{address}/cancel").json()["status"] == "cancelled"
    block_until(lambda: stack.client.get(f"/jobs/runs/{run_id}").json()["status"] == "cancelled", within_s=2)
    assert time.monotonic() - began < 2 * SLACK
    assert stack.client.post(f"{address}/cancel").status_code == 409
    ended = stack.client.get(address).json()
    assert [task["status"] for task in ended["tasks"]] == ["cancelled", "cancelled"]


def test_the_events_of_a_workflow_are_streamed_to_their_end(stack: Stack) -> None:
    made = create(stack, page("only", f"{stack.site}/"))
    address = f"/jobs/runs/{made['run_id']}/events/stream"
    with stack.client.stream("GET", address, timeout=60 * SLACK) as stream:
        data = [line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: ")]
    messages = [json.loads(line)["message"] for line in data]
    assert messages == ["Run created", "Run started", "Run completed"]


@pytest.mark.parametrize(
    "body, told",
    [
        ({}, "either a definition or a template"),
        ({"template": "nothing"}, "there is no template"),
        ({"template": "crawl-then-export"}, "needs the parameter url"),
        ({"definition": {"name": "x", "steps": []}}, "has no steps"),
        (
            {"definition": {"name": "x", "steps": [{"key": "a", "kind": "python", "config": {"function": "os:x"}}]}},
            "APP_WORKFLOW_MODULES",
        ),
        (
            {
                "definition": {
                    "name": "x",
                    "steps": [{"key": "a", "kind": "crawl", "config": {"url": "http://10.0.0.1"}}],
                }
            },
            "url: ",
        ),
    ],
)
def test_a_bad_workflow_is_refused_and_nothing_is_written(stack: Stack, body: dict[str, Any], told: str) -> None:
    before = len(stack.client.get("/workflows?limit=200").json())
    answer = stack.client.post("/workflows", json=body)
    assert (answer.status_code, told in answer.text) == (422, True), answer.text
    assert len(stack.client.get("/workflows?limit=200").json()) == before


def test_lists_keys_and_unknown_ids(stack: Stack) -> None:
    key, job = uuid4().hex, uuid4().hex
    definition = {"name": "listed", "steps": [page("only", f"{stack.site}/")]}
    body = {"definition": definition, "job_id": job, "start": False}
    first = stack.client.post("/workflows", json=body, headers={"Idempotency-Key": key})
    again = stack.client.post("/workflows", json=body, headers={"Idempotency-Key": key})
    assert (first.json()["id"], again.headers["Idempotent-Replay"]) == (again.json()["id"], "true")
    listed = stack.client.get("/workflows", params={"job_id": job, "status": "pending"}).json()
    assert [each["id"] for each in listed] == [first.json()["id"]]
    assert stack.client.get("/workflows", params={"job_id": job, "status": "paused"}).json() == []
    assert stack.client.get(f"/workflows/{uuid4()}").status_code == 404
    assert stack.client.get("/workflows/x").status_code == 422
    names = [template["name"] for template in stack.client.get("/workflows/templates").json()]
    assert {"crawl-then-export", "many-sites", "reconcile-and-fill"} <= set(names)
    assert "page" in [kind["name"] for kind in stack.client.get("/workflows/step-kinds").json()]
    assert stack.client.post(f"/jobs/runs/{first.json()['run_id']}/cancel").json()["status"] == "cancelled"
    assert stack.client.get(f"/workflows/{first.json()['id']}").json()["status"] == "cancelled"
    refused = stack.client.post(f"/jobs/runs/{first.json()['run_id']}/retry")
    assert (refused.status_code, "workflow recover" in refused.text) == (422, True)
