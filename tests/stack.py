"""The real thing in its own processes: `corral up` beside the demo site, spoken to over HTTP.

The processes are forks of one that has loaded Corral already, see tests/forked.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests import forked
from tests.forked.process import Process, start_process
from tests.services.ports import free_port
from tests.services.sqlite import migrate
from tests.slack import SLACK
from tests.waiting import pauses

READY_S = 30.0 * SLACK
TERMINAL = {"completed", "partial", "failed", "cancelled"}


@dataclass
class Stack:
    url: str
    site: str
    data_dir: Path
    process: Process
    client: httpx.Client
    log: Path
    environment: dict[str, str] = field(default_factory=dict)

    def job(self, path: str = "/articles", **more: Any) -> dict[str, Any]:
        body = {"target_url": self.site + path, "fields": ["title"], "strategy": "http", **more}
        answer = self.client.post("/jobs", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def start(self, job: dict[str, Any], **overrides: Any) -> dict[str, Any]:
        answer = self.client.post(f"/jobs/{job['id']}/runs", json=overrides or None)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def run(self, run_id: str) -> dict[str, Any]:
        return dict(self.client.get(f"/jobs/runs/{run_id}").json())

    def wait_for_end(self, run_id: str, within_s: float = 30.0) -> dict[str, Any]:
        deadline = time.monotonic() + within_s * SLACK
        looks = pauses()
        while (run := self.run(run_id))["status"] not in TERMINAL:
            assert time.monotonic() < deadline, f"still {run['status']} after {within_s} s: {run}"
            time.sleep(next(looks))
        return run

    def until(self, run_id: str, status: str, within_s: float = 20.0) -> dict[str, Any]:
        deadline = time.monotonic() + within_s * SLACK
        looks = pauses()
        while (run := self.run(run_id))["status"] != status:
            assert time.monotonic() < deadline, f"not {status} but {run['status']} after {within_s} s"
            time.sleep(next(looks))
        return run

    def messages(self, run_id: str) -> list[str]:
        return [event["message"] for event in self.client.get(f"/jobs/runs/{run_id}/events?limit=1000").json()]


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    """This process's environment without any settings of its own, with the given ones."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
    defaults = {
        "APP_DATA_DIR": str(data_dir),
        "APP_EGRESS_ALLOW": "127.0.0.0/8:*",
        "APP_RETRY_BASE_SECONDS": "0.1",
        "APP_WORKERS": "1",
        forked.WORKERS: forked.python(),
    }
    # One site for all tests, with pages that fail on purpose: it is not to be spared for it.
    patient = {"APP_BREAKER_FAILURES": "10000", "APP_HOST_MAX_DELAY_SECONDS": "0"}
    return kept | defaults | patient | settings


@contextmanager
def demo_site() -> Iterator[str]:
    port = free_port()
    with open(os.devnull, "wb") as sink:  # noqa: PTH123
        process = start_process(
            ["--port", str(port)], module="corral.demo", env=os.environ, cwd=Path.cwd(), stdout=sink
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/robots.txt", process)
        yield url
    finally:
        stop(process)


@contextmanager
def corral_up(folder: Path, site: str, verb: str = "up", **settings: str) -> Iterator[Stack]:
    """A running installation in its own folder, stopped gracefully at the end."""
    port = free_port()
    variables = environment(folder / "var", **settings)
    if "APP_DATABASE_URL" not in settings:
        migrate(folder / "var/corral.db")
    log = folder / "corral.log"
    with log.open("ab") as sink:
        process = start_process([verb, "--port", str(port)], env=variables, cwd=folder, stdout=sink, stderr=sink)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/ready", process, log)
        token = settings.get("APP_WRITE_TOKEN")
        headers = {"Authorization": f"Bearer {token}"} if token else None
        with httpx.Client(base_url=url, timeout=30, headers=headers) as client:
            yield Stack(url, site, folder / "var", process, client, log, variables)
    finally:
        stop(process)


@contextmanager
def corral_distributed(folder: Path, site: str, database_url: str, broker_url: str, **settings: str) -> Iterator[Stack]:
    """The same installation as an API and a Celery worker, each a process of its own."""
    told = {"APP_TRANSPORT": "celery", "APP_DATABASE_URL": database_url, "APP_CELERY_BROKER_URL": broker_url}
    variables = environment(folder / "var", **told, **settings)
    with (
        celery_worker(folder, variables, "--beat"),
        serve_api(folder, variables) as (url, process),
        httpx.Client(base_url=url, timeout=30) as client,
    ):
        yield Stack(url, site, folder / "var", process, client, folder / "api.log", variables)


@contextmanager
def celery_worker(folder: Path, variables: dict[str, str], *arguments: str) -> Iterator[Process]:
    """A worker that has said that it works."""
    with (folder / "worker.log").open("ab") as log:
        process = start_process(["worker", "--json", *arguments], env=variables, cwd=folder, stderr=log)
    assert process.stdout is not None
    try:
        said = process.stdout.readline()
        assert b'"works"' in said, f"{said!r}\n{(folder / 'worker.log').read_text(errors='replace')}"
        yield process
    finally:
        stop(process)
        process.stdout.close()


@contextmanager
def serve_api(folder: Path, variables: dict[str, str]) -> Iterator[tuple[str, Process]]:
    """The API alone."""
    port, log = free_port(), folder / "api.log"
    with log.open("ab") as sink:
        process = start_process(["serve", "--port", str(port)], env=variables, cwd=folder, stdout=sink, stderr=sink)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/ready", process, log)
        yield url, process
    finally:
        stop(process)


def stop(process: Process, within_s: float = 20.0) -> int:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def _wait(url: str, process: Process, log: Path | None = None) -> None:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        told = log.read_text(errors="replace") if log else ""
        assert process.poll() is None, f"ended with {process.returncode} before it was ready:\n{told}"
        try:
            if httpx.get(url, timeout=2).status_code < 500:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{url} did not answer within {READY_S} s")
