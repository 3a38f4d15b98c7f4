"""The commands of compose.yaml are run as they stand there, with the addresses of this machine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx

from tests import forked
from tests.deploy.files import SECRETS, TOKEN, services
from tests.services import PostgresCluster
from tests.services.ports import free_port
from tests.slack import SLACK
from tests.supervisor.conftest import site
from tests.waiting import block_until

__all__ = ["site"]


class Machine:
    """Where the names inside of the containers lead here."""

    def __init__(self, folder: Path, postgres: PostgresCluster) -> None:
        self.folder = folder
        self._programs = folder / "bin"
        self._programs.mkdir()
        forked.install(self._programs, "celery")
        self.api, redis = free_port(), free_port()
        database = postgres.create_database().rpartition("/")[2]
        self._here = {
            "postgres:5432/corral": f"127.0.0.1:{postgres.port}/{database}",
            "redis:6379": f"127.0.0.1:{redis}",
            "6379": str(redis),
            "/var/lib/corral": str(folder / "data"),
            "/tmp": str(folder),
            "0.0.0.0": "127.0.0.1",
            "8000": str(self.api),
        }

    def translate(self, text: str) -> str:
        for there, here in self._here.items():
            text = text.replace(there, here)
        return text

    def environment(self, name: str) -> dict[str, str]:
        path = f"{self._programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        python = {key: value for key, value in os.environ.items() if key.startswith("PYTHON")}
        settings = {key: self.translate(value) for key, value in services(self.variables)[name]["environment"].items()}
        return {**python, "PATH": path, "TERM": "dumb", "APP_WORKERS": "1", forked.WORKERS: forked.python(), **settings}

    @property
    def variables(self) -> dict[str, str]:
        return {**SECRETS, "APP_EGRESS_ALLOW": "127.0.0.0/8:*"}

    @contextmanager
    def run_in_background(self, name: str) -> Iterator["subprocess.Popen[bytes]"]:
        command = [self.translate(word) for word in services(self.variables)[name]["command"]]
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=self.environment(name), cwd=self.folder, stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield process
        finally:
            # With what it started: a shell does not hand on what it is told.
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(30 * SLACK)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def is_well(self, name: str) -> bool:
        _, *check = map(self.translate, services(self.variables)[name]["healthcheck"]["test"])
        return subprocess.run(check, env=self.environment(name), cwd=self.folder, capture_output=True).returncode == 0

    def read_log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")


def test_the_services_of_compose_work_together(tmp_path: Path, postgres: PostgresCluster, site: str) -> None:
    machine = Machine(tmp_path, postgres)
    address, headers = f"http://127.0.0.1:{machine.api}", {"Authorization": f"Bearer {TOKEN}"}
    with ExitStack() as stack, httpx.Client(base_url=address, headers=headers, timeout=30) as api:
        stack.enter_context(machine.run_in_background("redis"))
        block_until(lambda: machine.is_well("redis"))
        running = [stack.enter_context(machine.run_in_background(name)) for name in ("api", "worker", "beat")]
        block_until(lambda: "dashboard" in machine.read_log("api"), 30)
        block_until(lambda: "Corral works" in machine.read_log("worker"), 30)
        assert machine.is_well("api")
        assert machine.is_well("worker")
        body = {"target_url": f"{site}/articles", "fields": ["title"], "strategy": "http"}
        job = api.post("/jobs", json=body).json()
        run = api.post(f"/jobs/{job['id']}/runs").json()
        block_until(lambda: api.get(f"/jobs/runs/{run['id']}").json()["status"] == "completed", 30)
        assert httpx.get(f"{address}/jobs").status_code == 401
        assert [process.poll() for process in running] == [None] * 3
    broken = [name for name in ("api", "worker", "beat") if "Traceback" in machine.read_log(name)]
    assert not broken, [machine.read_log(name) for name in broken]
