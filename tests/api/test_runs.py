import time
from typing import Any

import pytest

from tests.stack import Stack


def _events(stack: Stack, run: dict[str, Any]) -> list[dict[str, Any]]:
    return list(stack.client.get(f"/jobs/runs/{run['id']}/events").json())


def test_the_way_of_one_run(stack: Stack) -> None:
    job = stack.job("/articles", strategy="auto")
    run = stack.start(job)
    assert (run["status"], run["attempt"], run["requested_strategy"], run["resolved_strategy"]) == (
        "queued",
        1,
        "auto",
        "http",
    )
    assert (run["failure_code"], run["stats"], run["started_at"], run["job_id"]) == (None, {}, None, job["id"])

    ended = stack.wait_for_end(run["id"])
    assert ended["status"] == "completed"
    assert ended["stats"] | {"http_status": 200, "content_type": "text/html"} == ended["stats"]
    assert ended["stats"]["title"].startswith("Articles")
    assert ended["stats"]["content_length"] > 100
    assert ended["started_at"] <= ended["finished_at"]
    assert ended["progress"] == {"total": 1, "done": 1, "failed": 0, "skipped": 0, "percent": 100.0, "eta_s": None}

    events = _events(stack, run)
    assert [event["message"] for event in events] == ["Run created", "Run started", "Run completed"]
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert events[0]["meta"]["resolved_strategy"] == "http"
    assert events[1]["meta"] | {"attempt": 1, "strategy": "http"} == events[1]["meta"]
    assert events[2]["meta"]["stats"] == ended["stats"]
    assert len({event["id"] for event in events}) == 3
    assert stack.client.get(f"/jobs/{job['id']}").json()["status"] == "completed"

    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert record["data"] == {"title": "Articles"}


def test_a_flaky_page_is_retried_until_it_works(stack: Stack) -> None:
    job = stack.job(f"/flaky?key={time.time_ns()}&after=1&fail=1")
    ended = stack.wait_for_end(stack.start(job)["id"])
    assert (ended["status"], ended["attempt"]) == ("completed", 2)
    retry = next(event for event in _events(stack, ended) if event["message"] == "Retry scheduled")
    assert retry["meta"] | {"attempt": 2, "failure_code": "bad_response"} == retry["meta"]
    assert 0.08 <= retry["meta"]["delay_s"] <= 0.12
    assert [attempt["outcome"] for attempt in ended["engine_attempts"]] == ["bad_response", "fetched"]


def test_retry_after_wins_over_the_backoff(stack: Stack) -> None:
    job = stack.job(f"/limited?key={time.time_ns()}&fail=3&retry_after=2")
    run = stack.start(job)
    stack.until(run["id"], "queued")
    deadline = time.monotonic() + 10
    while "Retry scheduled" not in stack.messages(run["id"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    events = _events(stack, run)
    retry = next(event for event in events if event["message"] == "Retry scheduled")
    assert (retry["meta"]["delay_s"], retry["meta"]["failure_code"]) == (2, "rate_limited")
    escalated = next(event for event in events if event["message"] == "Strategy escalated")
    assert escalated["meta"] == {"from": "http", "to": "browser"}
    stack.client.post(f"/jobs/runs/{run['id']}/cancel")


FAILURES = [
    ("/missing", "bad_response", "http_404", 1),
    ("/gone", "bad_response", "http_410", 1),
    ("/reset", "network", "incomplete", 2),
    ("/redirect-loop", "limit", "redirects", 1),
    ("/private/secret", "policy", "robots", 1),
    ("/large?bytes=12000000", "limit", "body_too_large", 1),
]


@pytest.mark.parametrize("path, code, detail, attempts", FAILURES, ids=[row[0] for row in FAILURES])
def test_a_failure_has_its_code_and_is_retried_by_rule(
    stack: Stack, path: str, code: str, detail: str, attempts: int
) -> None:
    ended = stack.wait_for_end(stack.start(stack.job(path), max_attempts=2)["id"])
    assert (ended["status"], ended["failure_code"], ended["failure_detail"]) == ("failed", code, detail)
    assert (ended["attempt"], len(ended["engine_attempts"])) == (attempts, attempts)
    assert ended["error_message"]
    last = _events(stack, ended)[-1]
    assert last["message"] == "Run failed"
    assert last["meta"] | {"failure_code": code, "error_message": ended["error_message"]} == last["meta"]


def test_a_slow_page_times_out(stack: Stack) -> None:
    ended = stack.wait_for_end(stack.start(stack.job("/slow?seconds=30", timeout_s=1), max_attempts=1)["id"])
    assert (ended["status"], ended["failure_code"]) == ("failed", "timeout")


def test_a_blocked_page_is_escalated(stack: Stack) -> None:
    run = stack.start(stack.job("/blocked"), max_attempts=2)
    ended = stack.wait_for_end(run["id"], within_s=60)
    assert ended["status"] == "failed"
    assert ended["resolved_strategy"] == "browser"
    assert "Strategy escalated" in stack.messages(run["id"])


def test_overrides_change_one_run_only(stack: Stack) -> None:
    job = stack.job("/articles")
    run = stack.start(job, priority="critical", max_attempts=1)
    assert (run["priority"], run["max_attempts"]) == ("critical", 1)
    assert stack.start(job)["priority"] == "medium"
    assert stack.client.post(f"/jobs/{job['id']}/runs", json={"colour": "red"}).status_code == 422


def test_requires_auth_resolves_to_the_browser(stack: Stack) -> None:
    run = stack.start(stack.job("/articles", requires_auth=True, strategy="auto"))
    assert run["resolved_strategy"] == "browser"
    stack.client.post(f"/jobs/runs/{run['id']}/cancel")


def test_a_running_run_is_cancelled_within_two_seconds_and_stays_so(stack: Stack) -> None:
    run = stack.start(stack.job("/slow?seconds=1.5", timeout_s=20))
    stack.until(run["id"], "running")
    answer = stack.client.post(f"/jobs/runs/{run['id']}/cancel").json()
    assert (answer["status"], answer["failure_code"]) == ("cancelled", "cancelled")
    time.sleep(2)
    assert stack.run(run["id"])["status"] == "cancelled"
    assert stack.client.get(f"/jobs/runs/{run['id']}/records").json() == []
    assert stack.messages(run["id"])[-1] == "Run cancelled"


def test_what_the_state_forbids_is_409_and_names_the_state(stack: Stack) -> None:
    run = stack.wait_for_end(stack.start(stack.job("/articles"))["id"])
    for verb in ("cancel", "pause", "resume"):
        answer = stack.client.post(f"/jobs/runs/{run['id']}/{verb}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "already_terminal")
        assert "completed" in answer.json()["detail"]
    assert stack.run(run["id"]) == run

    slow = stack.start(stack.job("/slow?seconds=20"))
    answer = stack.client.post(f"/jobs/runs/{slow['id']}/retry")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "wrong_state")
    stack.client.post(f"/jobs/runs/{slow['id']}/cancel")


def test_pause_stops_and_resume_goes_on(stack: Stack) -> None:
    run = stack.start(stack.job("/slow?seconds=1"))
    stack.until(run["id"], "running")
    assert stack.client.post(f"/jobs/runs/{run['id']}/pause").json()["status"] == "paused"
    assert run["id"] in [each["id"] for each in stack.client.get("/jobs/runs?status=paused").json()]
    time.sleep(1.5)
    assert stack.run(run["id"])["status"] == "paused"
    assert stack.client.post(f"/jobs/runs/{run['id']}/resume").json()["status"] == "queued"
    ended = stack.wait_for_end(run["id"])
    assert (ended["status"], ended["attempt"]) == ("completed", 1)


def test_a_paused_run_is_called_paused_whatever_forbids_it(stack: Stack) -> None:
    job = stack.job("/slow?seconds=20")
    run = stack.start(job)
    stack.until(run["id"], "running")
    assert stack.client.post(f"/jobs/runs/{run['id']}/pause").json()["status"] == "paused"
    for method, path in (
        ("POST", f"/jobs/runs/{run['id']}/pause"),
        ("POST", f"/jobs/runs/{run['id']}/retry"),
        ("DELETE", f"/jobs/{job['id']}"),
    ):
        answer = stack.client.request(method, path)
        assert answer.status_code == 409
        assert answer.json()["detail"].endswith("the run is paused"), answer.text
    stack.client.post(f"/jobs/runs/{run['id']}/cancel")


def test_retry_is_a_new_run_linked_to_the_old(stack: Stack) -> None:
    old = stack.wait_for_end(stack.start(stack.job("/missing"))["id"])
    new = stack.client.post(f"/jobs/runs/{old['id']}/retry").json()
    assert (new["retry_of"], new["job_id"], new["attempt"]) == (old["id"], old["job_id"], 1)
    assert stack.wait_for_end(new["id"])["status"] == "failed"
    assert stack.run(old["id"]) == old


def test_runs_are_listed_by_job_and_status(stack: Stack) -> None:
    job = stack.job("/articles")
    runs = [stack.wait_for_end(stack.start(job)["id"])["id"] for _ in range(3)]
    of_job = [run["id"] for run in stack.client.get(f"/jobs/{job['id']}/runs").json()]
    filtered = stack.client.get("/jobs/runs", params={"job_id": job["id"], "status": "completed"}).json()
    assert of_job == [run["id"] for run in filtered] == runs[::-1]
    assert stack.client.get("/jobs/runs", params={"job_id": job["id"], "status": "failed"}).json() == []
    assert stack.client.get("/jobs/runs?status=nonsense").status_code == 422


def test_missing_fields_give_a_partial_run_with_the_problem_listed(stack: Stack) -> None:
    job = stack.job("/articles", fields=["title", "no_such_thing"])
    ended = stack.wait_for_end(stack.start(job, max_attempts=1)["id"])
    assert (ended["status"], ended["failure_code"]) == ("partial", "extraction")
    assert ended["stats"]["problems"]["missing"] == ["no_such_thing"]
    [record] = stack.client.get(f"/jobs/runs/{ended['id']}/records").json()
    assert record["data"]["title"]


def test_auto_asks_the_memory_of_the_site_before_it_probes(stack: Stack) -> None:
    fields = ["title", {"name": f"heading_{time.time_ns()}", "css": "h1"}]
    job = stack.job("/articles", fields=fields, strategy="auto")
    first = stack.start(job)
    assert "probe" in _events(stack, first)[0]["meta"]["reason"]
    for _ in range(3):
        stack.wait_for_end(stack.start(job)["id"])
    deadline = time.monotonic() + 10
    while "probe" in (reason := _events(stack, stack.start(job))[0]["meta"]["reason"]):
        assert time.monotonic() < deadline
        time.sleep(0.3)
    assert "100% of the latest" in reason

    known = stack.client.get("/jobs/intelligence/domain", params={"url": stack.site}).json()
    assert known["domain"] == "127.0.0.1"
    assert known["strategies"]["http"]["attempts"] >= 4
    assert 0 < known["strategies"]["http"]["success_rate"] <= 1
    assert "http" in known["proven"].values()
    assert stack.client.get("/jobs/intelligence/domain", params={"url": "nope"}).status_code == 422
