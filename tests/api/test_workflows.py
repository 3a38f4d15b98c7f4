"""Workflows over HTTP, on SQLite and on PostgreSQL with Celery."""

import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.api.workflow_waits import wait_for
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
    is_celery = stack.environment.get("APP_TRANSPORT") == "celery"
    assert tasks["first"]["celery_task_id"] == (tasks["first"]["run_id"] if is_celery else None)
    run = stack.client.get(f"/jobs/runs/{made['run_id']}").json()
    assert (run["progress"]["total"], run["progress"]["done"], run["progress"]["percent"]) == (3, 3, 100.0)
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


def test_a_partial_workflow_is_never_shown_as_a_plain_success(stack: Stack) -> None:
    partial = page("part", f"{stack.site}/")
    partial["config"]["fields"] = ["title", {"name": "absent", "css": ".nowhere"}]
    made = create(stack, partial, page("after", f"{stack.site}/", "part"))
    with stack.client.stream("GET", f"/jobs/runs/{made['run_id']}/events/stream", timeout=60 * SLACK) as stream:
        data = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert (data[-1]["level"], data[-1]["message"]) == ("warn", "Run partially completed")
    done = stack.client.get(f"/workflows/{made['id']}").json()
    assert (done["status"], done["is_partial"], done["progress"]) == ("completed", True, 100)
    assert done["error_message"] == "step part is partial: not found on the page: absent"
    assert [(task["status"], task["is_partial"]) for task in done["tasks"]] == [
        ("completed", True),
        ("completed", False),
    ]
    assert stack.client.get(f"/workflows/{made['id']}/progress").json()["is_partial"]
    [listed] = [each for each in stack.client.get("/workflows?status=completed").json() if each["id"] == made["id"]]
    assert listed["is_partial"]
    run = stack.client.get(f"/jobs/runs/{made['run_id']}").json()
    assert (run["status"], run["failure_code"], run["progress"]["done"]) == ("partial", "extraction", 2)
    refused = stack.client.post(f"/jobs/runs/{done['tasks'][0]['run_id']}/retry")
    assert (refused.status_code, "workflow recover" in refused.text) == (422, True)


def test_a_fan_out_of_slow_pages_is_cancelled_within_two_seconds(stack: Stack) -> None:
    found = page("found", f"{stack.site}/articles")
    found["config"]["fields"] = [{"name": "links", "css": "a", "all": True}]
    each = page(
        "each", f"{stack.site}/slow?seconds=20&n=${{index}}", "found", for_each="${steps.found.output.record.links}"
    )
    made = create(stack, found, each, page("after", f"{stack.site}/", "each"))
    address = f"/workflows/{made['id']}"
    block_until(lambda: (stack.client.get(address).json()["tasks"][1]["items"] or {}).get("running"), within_s=30)
    items = stack.client.get(f"{address}/steps/each/items").json()
    assert len(items) > 5
    began = time.monotonic()
    assert stack.client.post(f"{address}/cancel").json()["status"] == "cancelled"
    runs = [stack.client.get(f"/jobs/runs/{item['run_id']}").json()["status"] for item in items]
    assert set(runs) == {"cancelled"}
    assert time.monotonic() - began < 2 * SLACK


def test_templates_run_to_their_end(stack: Stack) -> None:
    dataset = {
        "dataset_name": f"api-{uuid4().hex[:8]}",
        "categories": {"horses": ["horse"]},
        "sources": [{"type": "pages", "urls": [f"{stack.site}/gallery/horse"]}],
        "options": {"max_images": 4, "image_size": 32, "output_dir": uuid4().hex},
    }
    sites = [f"{stack.site}/articles", f"{stack.site}/shop"]
    given: dict[str, dict[str, Any]] = {
        "crawl-then-export": {"url": sites[0], "max_pages": 2, "output": f"{uuid4().hex}.csv"},
        "many-sites": {"sites": sites, "max_depth": 1, "max_pages": 2, "output": f"{uuid4().hex}.jsonl"},
        "dataset-build": {"config": dataset},
    }
    made = {}
    for name, parameters in given.items():
        answer = stack.client.post("/workflows", json={"template": name, "parameters": parameters})
        assert answer.status_code == 201, answer.text
        made[name] = answer.json()["id"]
    done = {name: wait_for(stack, each, "completed", "failed") for name, each in made.items()}
    assert {each["status"] for each in done.values()} == {"completed"}, done
    exports = {name: each["tasks"][-1]["result"].get("records") for name, each in done.items()}
    assert (exports["crawl-then-export"], exports["many-sites"]) == (2, 4)
    images = {task["key"]: task["result"] for task in done["dataset-build"]["tasks"]}
    assert 0 < images["export"]["images"] <= 4
    assert Path(images["export"]["folder"]).is_relative_to(stack.data_dir / "exports")


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
        (
            {"template": "crawl-then-export", "parameters": {"url": "ftp://x", "max_depth": 1.5}},
            "'ftp' is not fetched; Crawl the site: max_depth: ",
        ),
        ({"template": "many-sites", "parameters": {"sites": [["x"]]}}, "sites is a list"),
        ({"template": "dataset-build", "parameters": {"config": {"dataset_name": "x"}}}, "categories is missing"),
        (
            {"definition": {"name": "x", "steps": [{"key": "a", "kind": "script", "config": {"scraper": "nothing"}}]}},
            "a: no scraper 'nothing'",
        ),
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
