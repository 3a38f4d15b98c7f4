"""Things that happen at the same time, and things that have changed since: through the HTTP edge."""

import http.server
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Corral
from tests.slack import SLACK
from tests.stack import Stack, corral_up

CHANGES: list[dict[str, Any]] = [
    {"priority": "low"},
    {"max_attempts": 7},
    {"timeout_s": 12.5},
    {"respect_robots": False},
    {"fields": ["h1"]},
    {"frequency": "daily"},
]


def test_changes_of_one_job_at_the_same_time_are_all_kept(stack: Stack) -> None:
    with ThreadPoolExecutor(len(CHANGES)) as pool:
        for _ in range(8):
            path = f"/jobs/{stack.job()['id']}"
            ready = threading.Barrier(len(CHANGES))

            def change(body: dict[str, Any], path: str = path, ready: threading.Barrier = ready) -> int:
                ready.wait(10)
                return stack.client.patch(path, json=body).status_code

            assert set(pool.map(change, CHANGES)) == {200}
            job = stack.client.get(path).json()
            for body in CHANGES:
                assert job | body == job
            stack.client.delete(path)


@dataclass
class Site:
    url: str = ""
    status: int = 200
    asked: list[str] = field(default_factory=list)


@contextmanager
def a_site() -> Iterator[Site]:
    site = Site()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            self.send_response(site.status)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>still here</title>")

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    site.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_repeated_request_is_answered_as_before_although_its_target_has_died(stack: Stack) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    run_headers = {"Idempotency-Key": str(uuid.uuid4())}
    with a_site() as site:
        body = {"target_url": site.url, "fields": ["title"]}
        first = stack.client.post("/jobs", json=body, headers=headers)
        runs = f"/jobs/{first.json()['id']}/runs"
        run = stack.client.post(runs, headers=run_headers).json()
        assert stack.wait_for_end(run["id"])["status"] == "completed"

        site.status, asked_before = 503, len(site.asked)
        fresh = stack.client.post("/jobs", json=body)
        assert (fresh.status_code, fresh.json()["error"]["code"]) == (422, "target_broken")
        asked_by_fresh = len(site.asked)
        assert asked_by_fresh > asked_before

        again = stack.client.post("/jobs", json=body, headers=headers)
        assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
        assert again.headers["Idempotent-Replay"] == "true"
        same = stack.client.post(runs, headers=run_headers)
        assert (same.status_code, same.json()["id"]) == (200, run["id"])
        assert len(site.asked) == asked_by_fresh, "a repeated request asks nobody"


@pytest.fixture
def private(site: str, tmp_path: Path) -> Iterator[Stack]:
    """An installation of its own, which may reach nothing private."""
    with corral_up(tmp_path, site, APP_EGRESS_ALLOW="") as running:
        yield running


def test_another_program_in_the_file_is_answered_503_in_time(private: Stack) -> None:
    path = private.data_dir / "corral.db"
    other = sqlite3.connect(path, isolation_level=None, timeout=10)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    answer = private.client.delete("/jobs/records/01a1de72-ef57-70cc-9efc-dbcdc746657c")
    took_s = time.monotonic() - began
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
    assert answer.headers["Retry-After"]
    assert "another program" in answer.json()["detail"]
    assert took_s < 8 * SLACK
    assert private.client.get("/jobs").status_code == 200, "readers do not wait"
    other.execute("ROLLBACK")
    other.close()
    deadline = time.monotonic() + 20
    while private.client.delete("/jobs/records/01a1de72-ef57-70cc-9efc-dbcdc746657c").status_code != 404:
        assert time.monotonic() < deadline


def test_a_copy_does_not_inherit_the_trust_in_what_a_person_typed(private: Stack, site: str) -> None:
    corral = Corral(private.data_dir.parent)
    corral.data = private.data_dir
    scraped = corral("scrape", f"{site}/articles", "--fields", "title", "--strategy", "http", "--json")
    assert scraped.code == 0, scraped.err
    job = {"id": scraped.json["run"]["job_id"]}
    assert private.wait_for_end(private.start(job)["id"])["status"] == "completed"

    copy = private.client.post(f"/jobs/{job['id']}/clone").json()
    run = private.wait_for_end(private.start(copy)["id"])
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("failed", "policy", "egress")
