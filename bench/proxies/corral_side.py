"""`corral proxy check`, with the start of the program taken off: it is measured with one proxy first."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from bench.model import Place, Result

_LOOK_EVERY_S = 0.05


class _Figures(NamedTuple):
    seconds: float
    cpu_s: float
    peak_mib: float


class Corral:
    name = "corral"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder

    def measure(self, count: int) -> Result:
        with subprocess.Popen(
            [sys.executable, "-m", "bench.proxies.server"], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stdout is not None
                return self._measure(count, int(server.stdout.readline()))
            finally:
                server.terminate()

    def _measure(self, count: int, port: int) -> Result:
        first = self._check(self._import(1, port, "one")[0], 1)
        folder, import_s = self._import(count, port, "all")
        all_of_them = self._check(folder, count)
        seconds = all_of_them.seconds - first.seconds
        cpu_ms = 1000 * (all_of_them.cpu_s - first.cpu_s) / count
        idle_mib, peak_mib = first.peak_mib, all_of_them.peak_mib
        metrics = {"cpu_ms": cpu_ms, "import_s": import_s, "peak_mib": peak_mib, "idle_mib": idle_mib}
        return Result(count / seconds, count, seconds, metrics=metrics)

    def _import(self, count: int, port: int, name: str) -> tuple[Path, float]:
        folder = self._folder / name
        folder.mkdir()
        proxies = "".join(f"http://user{number}:password@127.0.0.1:{port}\n" for number in range(count))
        (folder / "list.txt").write_text(proxies)
        (folder / "proxies.yaml").write_text(f"check: {{judge: 'http://127.0.0.1:{port}/proxies/echo'}}\n")
        began = time.perf_counter()
        done = self._start(folder, "import", "list.txt").communicate()[0]
        if json.loads(done)["imported"] != count:
            raise AssertionError(done)
        return folder, time.perf_counter() - began

    def _check(self, folder: Path, count: int) -> _Figures:
        began, cpu_before = time.perf_counter(), _measure_cpu()
        process = self._start(folder, "check")
        peak = 0
        while process.poll() is None:
            peak = max(peak, _measure_memory(process.pid))
            time.sleep(_LOOK_EVERY_S)
        seconds = time.perf_counter() - began
        found = json.loads(process.communicate()[0])
        if found["alive"] != count:
            raise AssertionError(found)
        return _Figures(seconds, _measure_cpu() - cpu_before, peak / 2**20)

    def _start(self, folder: Path, *verb: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "corral", "proxy", *verb, "--json"]
        settings = {
            "APP_DATA_DIR": str(folder / "var"),
            "APP_PROXY_CONFIG": str(folder / "proxies.yaml"),
            "APP_EGRESS_ALLOW": "127.0.0.0/8:*",
        }
        return subprocess.Popen(command, cwd=folder, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True)


def _measure_cpu() -> float:
    """Return the CPU time of the children that have ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _measure_memory(pid: int) -> int:
    """Return the resident bytes of the process and its children."""
    total = 0
    try:
        root = psutil.Process(pid)
        for process in [root, *root.children(recursive=True)]:
            total += process.memory_info().rss
    except psutil.NoSuchProcess:
        pass
    return total
