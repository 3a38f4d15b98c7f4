import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable

import httpx
import pytest

from tests.cli.command import Corral, all_gone, descendants, line_with

Started = Callable[..., subprocess.Popen[str]]


def address_of(process: subprocess.Popen[str]) -> str:
    return re.sub(r".*(http://\S+)/\s*", r"\1", line_with(process, "dashboard"))


def eventually_executes(api: str, run_id: str) -> None:
    deadline = time.monotonic() + 10
    while httpx.get(f"{api}/jobs/runs/{run_id}").json()["status"] != "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_up_serves_stops_in_order_and_goes_on_at_the_next_start(corral: Corral, site: str, started: Started) -> None:
    allowed = f"127.0.0.1/32:{site.rpartition(':')[2]}"
    process = started(corral, "up", "--port", "0", APP_EGRESS_ALLOW=allowed)
    api = address_of(process)
    line_with(process, "no token configured: bound to loopback only")
    assert httpx.get(f"{api}/health").json()["status"] == "healthy"
    body = {"target_url": f"{site}/slow?seconds=4", "fields": ["title"], "strategy": "http"}
    job = httpx.post(f"{api}/jobs", json=body, timeout=20).json()
    run = httpx.post(f"{api}/jobs/{job['id']}/runs").json()
    eventually_executes(api, run["id"])
    children = descendants(process)

    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert process.wait(10) == 0

    assert time.monotonic() - began < 1 + 2  # the grace period, and two seconds
    assert children
    assert all_gone(children)
    assert corral("run", "list", "--status", "running", "--json").json == []
    assert [event["message"] for event in corral("events", run["id"], "--json").json] == [
        "Run created",
        "Run started",
        "Run released",
    ]

    again = started(corral, "up", "--port", "0", APP_EGRESS_ALLOW=allowed)
    line_with(again, "dashboard")
    assert "← Run completed" in corral("events", "-f", run["id"]).out
    again.send_signal(signal.SIGINT)
    assert again.wait(10) == 130
    assert corral("run", "show", run["id"], "--json").json["attempt"] == 1
    assert corral("doctor").code == 0


def test_a_second_signal_does_not_wait_for_the_grace_period(corral: Corral, site: str, started: Started) -> None:
    allowed = f"127.0.0.1/32:{site.rpartition(':')[2]}"
    options = ("--fields", "title", "--strategy", "http")
    job_id = corral("job", "add", f"{site}/slow?seconds=30", *options, APP_EGRESS_ALLOW=allowed).out.strip()
    run_id = corral("run", "start", job_id).out.strip()
    process = started(corral, "up", "--port", "0", APP_EGRESS_ALLOW=allowed, APP_GRACE_SECONDS="60")
    eventually_executes(address_of(process), run_id)
    assert process.stderr is not None

    process.send_signal(signal.SIGTERM)
    while "stopping: 1 under way" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)

    assert process.wait(5) == 0
    assert corral("run", "show", run_id, "--json").json["status"] == "queued"


@pytest.mark.parametrize("verb", ["up", "serve", "demo"])
def test_a_taken_port_is_one_clear_line_and_nothing_is_started(corral: Corral, verb: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = corral(verb, "--port", port)

    assert (done.code, done.out) == (78, "")
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert not corral.data.exists()


def test_without_a_token_only_loopback_is_bound(corral: Corral, started: Started) -> None:
    refused = corral("up", "--host", "0.0.0.0", "--port", "0")

    assert refused.code == 78
    assert "APP_WRITE_TOKEN" in refused.err
    assert not corral.data.exists()

    allowed = started(corral, "serve", "--host", "0.0.0.0", "--port", "0", APP_WRITE_TOKEN="a-token-of-some-length")
    api = address_of(allowed)
    assert httpx.get(f"{api}/jobs").status_code == 401
    allowed.send_signal(signal.SIGTERM)
    assert allowed.wait(10) == 0


@pytest.mark.slow
def test_a_second_demo_goes_on_with_the_jobs_of_the_first(corral: Corral, started: Started) -> None:
    from corral.demo import DEMO_JOBS

    for _ in range(2):
        process = started(corral, "demo", "--port", "0", "--site-port", "0")
        line_with(process, "look around at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130

    jobs = corral("job", "list", "--json").json
    assert len(jobs) == len(DEMO_JOBS)
    assert len(corral("run", "list", "--json").json) >= len(DEMO_JOBS) + 1
    assert {job["status"] for job in jobs} <= {"completed", "failed", "queued", "running"}
