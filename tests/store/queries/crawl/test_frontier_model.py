"""A million URLs cost a page what a thousand cost it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.chaos.level import by_level

FEW = 1_000
MANY = by_level(10_000, 1_000_000)
MOST_MB = 300


def work_off_in_process(path: Path, urls: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.store.frontier", str(path), str(urls)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return dict(json.loads(ran.stdout))


def test_a_large_frontier_costs_a_page_what_a_small_one_costs_it(tmp_path: Path) -> None:
    few, many = work_off_in_process(tmp_path / "few.db", FEW), work_off_in_process(tmp_path / "many.db", MANY)
    print(f"of {FEW} URLs: {few['cpu_ms']:.3f} ms a page, {few['peak_mb']:.0f} MB at most")  # noqa: T201
    print(f"of {MANY} URLs: {many['cpu_ms']:.3f} ms a page, {many['peak_mb']:.0f} MB at most")  # noqa: T201
    assert max(few["peak_mb"], many["peak_mb"]) <= MOST_MB
    assert len(many["plans"]) >= 8
    for statement, plan in many["plans"].items():
        assert not [each for each in plan if each.startswith("SCAN") and "CONSTANT" not in each], (statement, plan)
    # Counted in time only roughly: the machine has other things to do.
    assert many["cpu_ms"] < 5 * few["cpu_ms"]
