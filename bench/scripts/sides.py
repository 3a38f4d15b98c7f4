"""Both sides execute the same scripts with the same arguments, one after the other."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.model import Place, Result

if TYPE_CHECKING:
    from corral.domain.ports.execution import RunKind

_FOLDER = Path(__file__).parents[2] / "tests/scripts/samples"
SAMPLES = {path.stem.removeprefix("with_"): path for path in sorted(_FOLDER.iterdir()) if path.stem.startswith("with_")}
_RECORDS = 3


@contextmanager
def _site() -> Iterator[str]:
    command = [sys.executable, "-m", "bench.scripts.site"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/games"
        process.stdin.close()


def _command(sample: Path, url: str) -> list[str]:
    program = {".py": [sys.executable], ".mjs": ["node"]}.get(sample.suffix, [])
    return [*program, str(sample), "--url", url]


def _time_by_hand(sample: Path, url: str, folder: Path) -> float:
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    began = time.perf_counter()
    command = _command(sample, url)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    if sum(line.startswith("{") for line in done.stdout.splitlines()) != _RECORDS:
        raise AssertionError(f"{sample.name}: {done.stdout}")
    return seconds


async def _time_as_run(sample: Path, url: str, folder: Path, kinds: dict[str, RunKind]) -> float:
    from corral.domain.ports.execution import Task
    from corral.domain.runs.outcome import Fetched
    from corral.domain.runs.payload.script import ScriptPayload
    from corral.domain.runs.payload.stored import Payload
    from corral.engine.worker.attempt import perform
    from corral.runtime.new_ids import new_id

    payload = ScriptPayload(argv=tuple(_command(sample, url)), cwd=str(folder), name=sample.stem)
    task = Task(new_id(), 1, "script", "http", 1, Payload.of(payload), 120.0)
    began = time.perf_counter()
    outcome = await perform(task, kinds)
    seconds = time.perf_counter() - began
    if not isinstance(outcome, Fetched) or len(outcome.records) != _RECORDS:
        raise AssertionError(f"{sample.name}: {outcome}")
    [tally] = outcome.stats["wire"].values()
    if tally["statuses"].get("200", 0) < _RECORDS:
        raise AssertionError(f"{sample.name} went around the proxy: {tally}")
    return seconds


class ByHand:
    name = "by hand"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder

    def measure(self, count: int) -> Result:
        with _site() as url:
            began = time.perf_counter()
            for _ in range(count):
                for sample in SAMPLES.values():
                    _time_by_hand(sample, url, self._folder)
            seconds = time.perf_counter() - began
        return Result(count * len(SAMPLES) / seconds, count * len(SAMPLES), seconds)


class Corral:
    """The run kind as a worker executes it: script host, keeper, limits, forward proxy, records."""

    name = "corral"

    def __init__(self, place: Place) -> None:
        self._folder = place.folder

    async def measure(self, count: int) -> Result:
        from corral.wiring.worker import worker_kinds
        from corral.wiring.worker_config import WorkerConfig

        by_hand: dict[str, list[float]] = {name: [] for name in SAMPLES}
        as_run: dict[str, list[float]] = {name: [] for name in SAMPLES}
        with _site() as url:
            async with worker_kinds(WorkerConfig(["127.0.0.0/8:*"], "Corral", 2**20, 1)) as kinds:
                # The first script of a worker starts the script host.
                await _time_as_run(SAMPLES["curl"], url, self._folder, kinds)
                for _ in range(count):
                    for name, sample in SAMPLES.items():
                        by_hand[name].append(_time_by_hand(sample, url, self._folder))
                        as_run[name].append(await _time_as_run(sample, url, self._folder, kinds))
        return _compare(by_hand, as_run)


def _compare(by_hand: dict[str, list[float]], as_run: dict[str, list[float]]) -> Result:
    bare = {name: statistics.median(times) for name, times in by_hand.items()}
    run = {name: statistics.median(times) for name, times in as_run.items()}
    metrics = {name: 100 * (run[name] / bare[name] - 1) for name in SAMPLES}
    metrics["overhead_percent"] = 100 * (sum(run.values()) / sum(bare.values()) - 1)
    metrics["overhead_ms"] = 1000 * (sum(run.values()) - sum(bare.values())) / len(SAMPLES)
    count, seconds = sum(map(len, as_run.values())), sum(map(sum, as_run.values()))
    notes = ", ".join(f"{name} {1000 * bare[name]:.0f} → {1000 * run[name]:.0f} ms" for name in SAMPLES)
    return Result(count / seconds, count, seconds, notes=notes, metrics=metrics)
