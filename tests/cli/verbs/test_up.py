import json
import re
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable

import httpx
import psutil
import pytest

from tests import services
from tests.chaos.level import LEVEL
from tests.cli.command import Corral, all_gone, descendants, line_with
from tests.forked.process import start_process
from tests.slack import SLACK

Started = Callable[..., subprocess.Popen[str]]


def address_of(process: subprocess.Popen[str]) -> str:
    return re.sub(r".*(http://\S+)/\s*", r"\1", line_with(process, "dashboard"))


def eventually_executes(api: str, run_id: str) -> None:
    deadline = time.monotonic() + 10
    while httpx.get(f"{api}/jobs/runs/{run_id}").json()["status"] != "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def for_site(site: str) -> dict[str, str]:
    """The demo site may be reached, and its slow pages are not waited for when a job is created."""
    return {"APP_EGRESS_ALLOW": f"127.0.0.1/32:{site.rpartition(':')[2]}", "APP_PROBE_TIMEOUT_SECONDS": "0.2"}


def test_up_serves_stops_in_order_and_goes_on_at_the_next_start(
    corral: Corral, site: str, started: Started, started_forks: Started
) -> None:
    process = started(corral, "up", "--port", "0", **for_site(site))
    api = address_of(process)
    line_with(process, "no token configured: bound to loopback only")
    assert httpx.get(f"{api}/health").json()["status"] == "healthy"
    body = {"target_url": f"{site}/slow?seconds=3", "fields": ["title"], "strategy": "http"}
    job = httpx.post(f"{api}/jobs", json=body, timeout=20).json()
    run = httpx.post(f"{api}/jobs/{job['id']}/runs").json()
    eventually_executes(api, run["id"])
    children = descendants(process)

    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert process.wait(10) == 0

    assert time.monotonic() - began < (1 + 2 + 4) * SLACK  # the grace period, two seconds, and what a busy machine adds
    assert children
    assert all_gone(children)
    assert corral.here("run", "list", "--status", "running", "--json").json == []
    assert [event["message"] for event in corral.here("events", run["id"], "--json").json] == [
        "Run created",
        "Run started",
        "Run released",
    ]

    again = started_forks(corral, "up", "--port", "0", **for_site(site))
    line_with(again, "dashboard")
    assert "← Run completed" in corral("events", "-f", run["id"]).out
    again.send_signal(signal.SIGINT)
    assert again.wait(10) == 130
    assert corral.here("run", "show", run["id"], "--json").json["attempt"] == 1
    assert corral.here("doctor").code == 0


@pytest.mark.parametrize("verb", ["up", "serve", "worker"] if LEVEL else ["serve"])
def test_a_program_is_told_in_one_line_that_it_may_begin(corral: Corral, verb: str) -> None:
    port = () if verb == "worker" else ("--port", "0")
    with (corral.folder / "log").open("wb") as log:
        variables = corral.environment({})
        process = start_process([verb, *port, "--json"], env=variables, cwd=corral.folder, stderr=log)
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert (told["pid"], told["data_dir"]) == (process.pid, str(corral.data))
    assert told["status"] == {"up": "up", "serve": "serves", "worker": "works"}[verb]
    if verb != "worker":
        assert httpx.get(f"{told['url']}/health").status_code == 200
        assert told["needs_token"] is False
    process.send_signal(signal.SIGTERM)
    assert process.wait(10 * SLACK) == 0
    with process.stdout as out:
        assert out.read() == b"", "nothing else that a program would have to read over"


@pytest.mark.long
def test_a_second_signal_does_not_wait_for_the_grace_period(corral: Corral, site: str, started: Started) -> None:
    options = ("--fields", "title", "--strategy", "http")
    job_id = corral.here("job", "add", f"{site}/slow?seconds=30", *options, **for_site(site)).out.strip()
    run_id = corral.here("run", "start", job_id).out.strip()
    process = started(corral, "up", "--port", "0", **for_site(site), APP_SHUTDOWN_GRACE_SECONDS="60")
    eventually_executes(address_of(process), run_id)
    assert process.stderr is not None

    process.send_signal(signal.SIGTERM)
    while "stopping: 1 running" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)

    assert process.wait(5) == 0
    assert corral.here("run", "show", run_id, "--json").json["status"] == "queued"


@pytest.mark.parametrize("verb", ["up", "serve", "demo"])
def test_a_taken_port_is_one_clear_line_and_nothing_is_started(corral: Corral, verb: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = corral.here(verb, "--port", port)

    assert (done.code, done.out) == (78, "")
    assert f"cannot listen on 127.0.0.1:{port}" in done.err
    assert not corral.data.exists()


def test_without_a_token_only_loopback_is_bound(corral: Corral, started_forks: Started) -> None:
    refused = corral.here("up", "--host", "0.0.0.0", "--port", "0")

    assert refused.code == 78
    assert "APP_WRITE_TOKEN" in refused.err
    assert not corral.data.exists()

    allowed = started_forks(
        corral, "serve", "--host", "0.0.0.0", "--port", "0", APP_WRITE_TOKEN="a-token-of-some-length"
    )
    api = address_of(allowed)
    assert httpx.get(f"{api}/jobs").status_code == 401
    allowed.send_signal(signal.SIGTERM)
    assert allowed.wait(10) == 0


# No grace period: then what does not answer is not waited for at all. Without that end, a server that hangs is
# waited for longer than a minute.
AT_ONCE = {"APP_SHUTDOWN_GRACE_SECONDS": "0"}


def stop(process: subprocess.Popen[str]) -> tuple[int, str]:
    children = descendants(process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert all_gone(children)
    assert "Traceback" not in err
    return process.returncode, err


def test_a_closed_terminal_stops_a_worker_in_order(corral: Corral, started_forks: Started) -> None:
    process = started_forks(corral, "worker", "--json", **AT_ONCE)
    children = psutil.Process(json.loads(line_with(process, "works"))["pid"]).children(recursive=True)
    assert children
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=10 * SLACK)
    # On a full machine it may say that its loop stood still, which is true.
    assert (process.returncode, [line for line in err.splitlines() if "loop_stall" not in line]) == (0, [])
    assert all_gone(children)


@pytest.mark.long
@pytest.mark.parametrize("verb", [("up", "--port", "0"), ("worker",)], ids=" ".join)
def test_a_file_locked_by_another_program_does_not_keep_a_stopping_process(
    corral: Corral, started: Started, verb: tuple[str, ...]
) -> None:
    process = started(corral, *verb, **AT_ONCE)
    line_with(process, "Corral works" if verb == ("worker",) else "Ctrl-C")
    other = sqlite3.connect(corral.data / "corral.db", isolation_level=None, timeout=10)
    other.execute("BEGIN IMMEDIATE")
    code, err = stop(process)
    other.close()
    assert (code, "the storage does not answer" in err) == (1, True)


@pytest.mark.long
def test_a_database_server_that_hangs_does_not_keep_a_stopping_process(corral: Corral, started: Started) -> None:
    with services.postgres_cluster() as cluster:
        assert cluster.process is not None
        process = started(corral, "up", "--port", "0", APP_DATABASE_URL=cluster.create_database(), **AT_ONCE)
        line_with(process, "Ctrl-C")
        server = psutil.Process(cluster.process.pid)
        hanging = [server, *server.children(recursive=True)]
        for each in hanging:
            each.suspend()
        try:
            code, err = stop(process)
        finally:
            for each in hanging:
                each.resume()
        assert (code, "the storage does not answer" in err) == (1, True)


@pytest.mark.long
def test_a_stop_without_a_grace_period_still_gives_back_what_runs(corral: Corral, site: str, started: Started) -> None:
    options = ("--fields", "title", "--strategy", "http")
    job_id = corral.here("job", "add", f"{site}/slow?seconds=60", *options, **for_site(site)).out.strip()
    run_id = corral.here("run", "start", job_id).out.strip()
    process = started(corral, "up", "--port", "0", **for_site(site), **AT_ONCE)
    eventually_executes(address_of(process), run_id)
    assert stop(process)[0] == 0
    assert corral.here("run", "show", run_id, "--json").json["status"] == "queued"
