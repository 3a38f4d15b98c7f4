"""`python -m bench.processor NAME [--count N]`: processor time per unit of Corral's side, by kind of process.

Units per second depend on what else the machine does; processor time depends on it far less, so that versions can be
compared on a busy machine: run it for each several times by turns, and compare the least and the median figures. To
measure another checkout, from its folder:

    PYTHONPATH=$PWD:$PWD/src .venv/bin/python -P /path/to/this/bench/processor.py crawl
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import registry, started
from bench.model import Place

# By a part of the command line; what is none of them is a browser or its driver.
_ROLES = {"parser": ("parser_process", "parse_child"), "worker": ("worker_process", "corral.child")}
Snapshot = dict[int, tuple[float, str]]


def take_snapshot() -> Snapshot:
    """The processor seconds of this process and all its descendants so far, with their command lines."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(folder.name))
    found: Snapshot = {}
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        with contextlib.suppress(OSError):
            tasks = Path(f"/proc/{pid}/task").iterdir()
            seconds = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
            found[pid] = (seconds, Path(f"/proc/{pid}/cmdline").read_text())
    return found


def role_of(pid: int, command: str) -> str:
    if pid == os.getpid():
        return "node"
    return next((role for role, marks in _ROLES.items() if any(mark in command for mark in marks)), "browser")


def time_by_role(before: Snapshot, after: Snapshot, count: int) -> dict[str, float]:
    """Microseconds per unit."""
    spent: dict[str, float] = {}
    for pid, (seconds, command) in after.items():
        role = role_of(pid, command)
        spent[role] = spent.get(role, 0.0) + (seconds - before.get(pid, (0.0, ""))[0]) / count * 1e6
    return {role: round(each, 1) for role, each in sorted(spent.items())}


class _Clock:
    """The `time` of the measured module: it reads `perf_counter` when a measurement begins and when it ends."""

    def __init__(self) -> None:
        self.snapshots: list[Snapshot] = []

    def perf_counter(self) -> float:
        self.snapshots.append(take_snapshot())
        return time.perf_counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def measure(name: str, count: int | None) -> list[dict[str, float]]:
    """One row for each measurement of the benchmark: `runs` has two, runs one by one and runs in batches."""
    entry = next(entry for entry in registry.load(name).entries if entry.role == "corral")
    module_name, _, attribute = entry.target.partition(":")
    module: Any = importlib.import_module(module_name)
    module.time = clock = _Clock()
    folder = Path(tempfile.mkdtemp(prefix="bench-processor-"))
    units = count or entry.quick_count
    try:
        with started.running(entry.services) as services:
            getattr(module, attribute)(Place(folder, services, quick=True)).measure(units)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    pairs = zip(clock.snapshots[::2], clock.snapshots[1::2], strict=False)
    return [time_by_role(before, after, units) for before, after in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.processor", description="Processor time of Corral's side.")
    parser.add_argument("name", choices=("crawl", "docs", "fetch", "runs", "workflow"))
    parser.add_argument("--count", type=int, default=None, help="units of work; the default is that of --quick")
    arguments = parser.parse_args()
    for row in measure(arguments.name, arguments.count):
        print(json.dumps({"bench": arguments.name, "microseconds": row, "total": round(sum(row.values()), 1)}))


if __name__ == "__main__":
    main()
