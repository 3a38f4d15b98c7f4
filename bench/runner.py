"""Run an entry in a subprocess of its own, in a folder of its own, with services of its own."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import services, started
from bench.model import Entry, Outcome, Result

ROOT = Path(__file__).resolve().parent.parent
ERROR_TAIL = 1200


class MeasurementFailed(RuntimeError):
    """The subprocess failed, hung, or answered nothing."""


def available(entry: Entry) -> bool:
    """Whether the entry's module exists."""
    try:
        return importlib.util.find_spec(entry.target.partition(":")[0]) is not None
    except ModuleNotFoundError:
        return False


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    paths = [str(ROOT), str(ROOT / "src"), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def _finish(process: subprocess.Popen[bytes]) -> None:
    """End the child and everything it started: they share the process group it leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ask(spec: dict[str, Any], work: Path, timeout_s: float) -> dict[str, Any]:
    spec_file, answer, log = work / "spec.json", work / "answer.json", work / "log.txt"
    spec_file.write_text(json.dumps({**spec, "answer": str(answer)}))
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.child", str(spec_file)], cwd=spec["folder"], env=_environment(),
            stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise MeasurementFailed(f"no answer after {timeout_s:.0f} s: {_tail(log)}") from None
        finally:
            _finish(process)
    if not answer.exists():
        raise MeasurementFailed(_tail(log) or f"exit status {process.returncode}")
    return dict(json.loads(answer.read_text()))


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-ERROR_TAIL:].strip()


def _once(entry: Entry, method: str, count: int, quick: bool) -> dict[str, Any]:
    work = Path(tempfile.mkdtemp(prefix="bench-run-"))
    folder = work / "place"
    folder.mkdir()
    try:
        with started.running(entry.services) as running:
            spec = {
                "target": entry.target,
                "method": method,
                "count": count,
                "quick": quick,
                "folder": str(folder),
                "services": {name: dataclasses.asdict(service) for name, service in running.items()},
            }
            return _ask(spec, work, entry.timeout_s)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run_entry(entry: Entry, *, quick: bool, has_extras: bool = True) -> Outcome:
    """Measure, then ask for the extras. A failure is an outcome."""
    count = entry.quick_count if quick else entry.count
    try:
        result = Result(**_once(entry, "measure", count, quick))
        extras = _once(entry, "extras", count, quick) if has_extras and _has_extras(entry) else {}
    except (MeasurementFailed, services.ServiceUnavailable) as error:
        return Outcome(entry, None, str(error))
    return Outcome(entry, dataclasses.replace(result, metrics={**result.metrics, **extras}))


def fastest(outcomes: list[Outcome]) -> Outcome:
    """Of one entry; with the extras that were asked for once. One failure is one too many."""
    failed = next((outcome for outcome in outcomes if outcome.result is None), None)
    if failed is not None:
        return failed
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    best = max(results, key=lambda result: result.rate_per_s)
    metrics = {**results[0].metrics, **best.metrics}
    return dataclasses.replace(outcomes[0], result=dataclasses.replace(best, metrics=metrics))


def _has_extras(entry: Entry) -> bool:
    """Corral's own rows may have extras; peers report everything in `measure`."""
    return entry.role != "peer"
