"""Both sides execute the same script with the same arguments, four at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

from bench.model import Place, Result

_SLOTS = 4
_SCRIPT = '#!/bin/sh\necho "{\\"number\\": \\"$2\\"}"\n'
_MANY = 100_000


def _write_script(folder: Path) -> Path:
    (folder / "scripts").mkdir(exist_ok=True)
    script = folder / "scripts/echo_scraper.sh"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    return script


def _time_xargs(folder: Path, script: Path, count: int) -> float:
    numbers = "".join(f"{number}\n" for number in range(count))
    began = time.perf_counter()
    done = subprocess.run(
        ["xargs", "-P", str(_SLOTS), "-I", "{}", str(script), "--number", "{}"],
        input=numbers, text=True, stdout=subprocess.PIPE, check=True, cwd=folder,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    if done.stdout.count("\n") != count:
        raise AssertionError("xargs lost a line")
    return seconds


class Xargs:
    name = "xargs -P"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder

    def measure(self, count: int) -> Result:
        seconds = _time_xargs(self._folder, _write_script(self._folder), count)
        return Result(count / seconds, count, seconds)


class Corral:
    """`corral queue run`, with the start of the program taken off: it is measured on an empty file first."""

    name = "corral"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder

    def measure(self, count: int) -> Result:
        script = _write_script(self._folder)
        xargs_s = _time_xargs(self._folder, script, count)
        self._drain(0, "empty")
        empty_s = self._drain(0, "empty")
        seconds = self._drain(count, "full") - empty_s
        metrics = {"overhead_ms": 1000 * (seconds - xargs_s) * _SLOTS / count, "import_s": asyncio.run(self._import())}
        return Result(count / seconds, count, seconds, metrics=metrics)

    def _drain(self, count: int, name: str) -> float:
        queue = self._folder / f"{name}.json"
        queue.write_text(json.dumps({"tasks": [_task(number) for number in range(count)]}))
        began = time.perf_counter()
        command = [sys.executable, "-m", "corral", "queue", "run", "--json", "--no-reconciliation"]
        done = subprocess.run(
            [*command, "--max-concurrent", str(_SLOTS), "--task-queue", str(queue)],
            cwd=self._folder, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        if json.loads(done.stdout)["completed"] != count:
            raise AssertionError(done.stdout)
        return seconds

    async def _import(self) -> float:
        from corral.settings import load_settings
        from corral.store.open import open_store
        from corral.wiring.queue import read_queue_file

        queue = self._folder / "many.json"
        queue.write_text(json.dumps({"tasks": [_task(number) for number in range(_MANY)]}))
        store = open_store(f"sqlite:///{self._folder}/import.db")
        load_settings()
        began = time.perf_counter()
        report = await store.queue.add(read_queue_file(queue), "bench")
        seconds = time.perf_counter() - began
        await store.close()
        if report.imported != _MANY:
            raise AssertionError(report)
        return seconds


def _task(number: int) -> dict[str, object]:
    about = {"priority": ("CRITICAL", "HIGH", "MEDIUM", "LOW")[number % 4], "source": "bench"}
    return {"id": f"task_{number:06}", "scraper": "echo_scraper", "number": number, **about}
