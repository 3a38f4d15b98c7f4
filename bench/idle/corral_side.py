"""`corral up`, as a person starts it, in an empty folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import urllib.request

import psutil

from bench.model import Place, Result
from bench.probe import memory_mb, stop, wait_until
from bench.services import free_port

_SETTLED_S = 5.0  # what is put off until after the start has happened by then
_WITHIN_S = 60.0


class Up:
    name = "up"
    arguments: tuple[str, ...] = ()
    aim_mb = 100.0

    def __init__(self, place: Place) -> None:
        self._place = place

    def measure(self, count: int) -> Result:
        port, folder = free_port(), self._place.folder
        out, began = folder / "out", time.perf_counter()
        with out.open("wb") as sink:
            command = [sys.executable, "-m", "corral", "up", *self.arguments, "--port", str(port), "--json"]
            process = subprocess.Popen(command, cwd=folder, env=self._environment(), stdout=sink)
        try:
            wait_until(lambda: _answers(port), _WITHIN_S, "a first answer")
            first_s, cpu_s = time.perf_counter() - began, sum(map(_cpu_s, _family(process)))
            wait_until(lambda: b'"status": "up"' in out.read_bytes(), _WITHIN_S, "everything up")
            up_s = time.perf_counter() - began
            time.sleep(_SETTLED_S)
            each_mb = [_own_mb(member) for member in _family(process)]
            total_mb = memory_mb([process.pid])
            stopping = time.perf_counter()
        finally:
            stop([process])
        metrics = {"processes": float(len(each_mb)), "largest_mb": max(each_mb), "first_answer_s": first_s}
        metrics |= {"first_answer_cpu_s": cpu_s, "all_up_s": up_s, "stop_s": time.perf_counter() - stopping}
        verdict = "met" if total_mb <= self.aim_mb else f"missed by {total_mb - self.aim_mb:.0f} MB"
        return Result(total_mb, len(each_mb), first_s, f"aim {self.aim_mb:.0f} MB: {verdict}", metrics)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
        given = {"APP_CELERY_BROKER_URL": f"redis://127.0.0.1:{free_port()}/1"}
        if "postgres" in self._place.services:
            given["APP_DATABASE_URL"] = self._place.services["postgres"].url
        return {**kept, "APP_DATA_DIR": str(self._place.folder / "var"), **given}


class UpOnPostgres(Up):
    name = "up, PostgreSQL"


class Distributed(Up):
    name = "up --distributed, 2 workers"
    arguments = ("--distributed", "--workers", "2")
    aim_mb = 300.0


class DistributedOnPostgres(Distributed):
    name = "up --distributed, 2 workers, PostgreSQL"


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except OSError:
        return False


def _family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    root = psutil.Process(process.pid)
    return [root, *root.children(recursive=True)]


def _own_mb(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        return float(process.memory_full_info().pss) / 2**20
    return 0.0


def _cpu_s(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        used = process.cpu_times()
        return float(used.user + used.system + used.children_user + used.children_system)
    return 0.0
