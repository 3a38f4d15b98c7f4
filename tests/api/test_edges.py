"""Bodies, keys, records, health: what every client meets."""

import concurrent.futures
import sqlite3
import time
import uuid
from contextlib import closing

import httpx
import psycopg
import pytest

from tests.stack import Stack

_JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [b"{", b"nope", b'{"a": NaN}', b'"\\ud800"', b"[1,2", b"\xff\xfe", b'{"target_url": "x"', b"[" * 33 + b"]" * 33],
    ids=lambda body: body[:12].decode("latin1"),
)
def test_a_malformed_body_is_422(stack: Stack, body: bytes) -> None:
    answer = stack.client.post("/jobs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert "Traceback" not in answer.text


def test_a_deep_body_is_refused_without_recursion(stack: Stack) -> None:
    answer = stack.client.post("/jobs", content=b'{"a":' * 100_000 + b"1" + b"}" * 100_000, headers=_JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "too_deep")


def test_a_large_body_is_413_also_without_a_declared_length(stack: Stack) -> None:
    large = b'{"target_url": "' + b"x" * (1024 * 1024) + b'"}'
    assert stack.client.post("/jobs", content=large).status_code == 413

    def chunks() -> "list[bytes]":
        return [b" " * 65536] * 40

    answer = stack.client.post("/jobs", content=iter(chunks()), headers=_JSON)
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "body_too_large"


def test_paths_are_as_written(stack: Stack) -> None:
    assert stack.client.get("/jobs/").status_code == 404
    assert stack.client.put("/jobs", json={}).status_code == 405
    assert stack.client.get("/nothing-here").json()["error"]["code"] == "not_found"


def test_the_same_key_twice_at_once_makes_one_run(stack: Stack) -> None:
    job = stack.job("/articles")
    key = str(uuid.uuid4())

    def post(_: int) -> httpx.Response:
        return stack.client.post(f"/jobs/{job['id']}/runs", headers={"Idempotency-Key": key})

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(post, range(200)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotent-Replay" not in answer.headers for answer in answers) == 1
    assert len(stack.client.get(f"/jobs/{job['id']}/runs").json()) == 1


def test_a_key_with_another_body_is_refused(stack: Stack) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"], "strategy": "http"}
    first = stack.client.post("/jobs", json=body, headers=headers)
    again = stack.client.post("/jobs", json=body, headers=headers)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    assert again.headers["Idempotent-Replay"] == "true"
    other = stack.client.post("/jobs", json={**body, "fields": ["h1"]}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reuse")


def test_records_are_listed_counted_and_deleted(stack: Stack) -> None:
    job = stack.job("/articles")
    runs = [stack.wait_for_end(stack.start(job)["id"]) for _ in range(3)]
    found = stack.client.get("/jobs/records", params={"job_id": job["id"]}).json()
    assert [record["run_id"] for record in found] == [run["id"] for run in runs][::-1]
    assert set(found[0]) == {"id", "run_id", "data", "created_at", "details", "verdict"}

    stats = stack.client.get("/jobs/records/stats", params={"job_id": job["id"]}).json()
    assert (stats["total"], stats["runs"], stats["jobs"]) == (3, 3, 1)
    middle = found[1]["created_at"]
    later = stack.client.get("/jobs/records", params={"job_id": job["id"], "date_from": middle}).json()
    earlier = stack.client.get("/jobs/records", params={"job_id": job["id"], "date_to": middle}).json()
    assert (len(later), len(earlier)) == (2, 1)

    assert stack.client.delete(f"/jobs/records/{found[0]['id']}").status_code == 200
    assert stack.client.delete(f"/jobs/records/{found[0]['id']}").status_code == 404
    assert len(stack.client.get("/jobs/records", params={"run_id": runs[0]["id"]}).json()) == 1


def test_health_readiness_and_metrics(stack: Stack) -> None:
    health = stack.client.get("/health").json()
    assert health["status"] == "healthy"
    assert health["components"]["database"]["status"] == "up"
    assert health["components"]["workers"]["count"] == 1
    assert stack.client.get("/ready").json() == {"ready": True}
    stack.wait_for_end(stack.start(stack.job("/articles"))["id"])
    metrics = stack.client.get("/metrics").text
    assert 'corral_runs{state="queued"}' in metrics
    if stack.environment.get("APP_TRANSPORT") != "celery":  # there, whoever executes counts
        assert 'corral_settled_total{failure_code="",state="completed"}' in metrics
    assert "corral_database_up 1.0" in metrics


def test_where_nobody_supervises_that_is_said(stack: Stack) -> None:
    answer = stack.client.get("/supervisor")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_supervised"
    assert "corral up --distributed" in answer.json()["error"]["hint"]


def test_the_dashboard_and_the_documentation_are_served(stack: Stack) -> None:
    page = stack.client.get("/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert stack.client.get("/docs").status_code == 200
    schema = stack.client.get("/openapi.json").json()
    assert "/jobs/runs/{run_id}/events/stream" in schema["paths"]


def test_a_schedule_really_starts_runs_once_per_slot(stack: Stack) -> None:
    job = stack.job("/articles", frequency="* * * * *")
    assert stack.client.get(f"/jobs/{job['id']}/runs").json() == []
    _a_minute_later(stack, job["id"])
    deadline = time.monotonic() + 10
    while not (runs := stack.client.get(f"/jobs/{job['id']}/runs").json()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.5)  # for a second one of the same slot
    runs = stack.client.get(f"/jobs/{job['id']}/runs").json()
    stack.client.patch(f"/jobs/{job['id']}", json={"frequency": "on_demand"})
    slots = [stack.client.get(f"/jobs/runs/{run['id']}/events").json()[0]["meta"]["slot"] for run in runs]
    assert len(slots) == len(set(slots)) <= 2, "a minute may have begun meanwhile"
    assert stack.wait_for_end(runs[-1]["id"])["status"] == "completed"


def _a_minute_later(stack: Stack, job_id: str) -> None:
    """The slot that is next is made the one that has just begun."""
    url = stack.environment.get("APP_DATABASE_URL")
    if url is None:
        with closing(sqlite3.connect(stack.data_dir / "corral.db", timeout=10)) as database, database:
            changed = database.execute("UPDATE jobs SET next_slot = next_slot - 60000 WHERE id = ?", (job_id,))
            assert changed.rowcount == 1
    else:
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE jobs SET next_slot = next_slot - 60000 WHERE id = %s", (job_id,))
