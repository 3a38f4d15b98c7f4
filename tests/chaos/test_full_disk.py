"""A full disk stops the claiming and nothing else; space back, it goes on by itself."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.domain.errors import StorageFull
from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.chaos.history import check
from tests.engine.builders import drill, node_of, put, run_node, settings_for, wait_for_runs, wait_for_start
from tests.slack import SLACK
from tests.waiting import until

SIZE_MIB = 64


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path) -> Path:
    """Write until nothing more fits, not a byte."""
    filler = place / "filler"
    file = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        for size in (1 << 20, 1 << 12, 1):
            while True:
                try:
                    os.write(file, b"x" * size)
                except OSError:
                    break
    finally:
        os.close(file)
    return filler


async def test_a_full_disk_pauses_the_node_and_loses_nothing(small_disk: Path) -> None:
    async with run_node(settings_for(small_disk, workers=1, runs_per_process=10)) as app:
        ids = await put(app, *[drill("sleep", seconds=1, record=True) for _ in range(5)])
        await wait_for_start(app, *ids)
        waiting = await put(app, *[drill("sleep", seconds=0.1, record=True, pad="x" * 1000) for _ in range(200)])
        filler = fill(small_disk)
        await until(lambda: refuses(app, ids, waiting), within_s=40)
        await until(lambda: str(small_disk) in (node_of(app).storage_problem or ""), within_s=15)
        told = node_of(app).storage_problem or ""
        assert "10 MiB are needed to go on" in told
        assert f"more on the disk of {small_disk}" in told
        assert all([(await app.store.runs.get(id_)).id == id_ for id_ in ids]), "reading goes on"
        await asyncio.sleep(1)
        filler.unlink()
        took_s = await until(lambda: node_of(app).storage_problem is None, within_s=15)
        assert took_s < 5 * SLACK
        runs = await wait_for_runs(app, ids + waiting, timeout_s=60)
        assert {run.state for run in runs} == {RunState.COMPLETED}
        assert {run.losses for run in runs} == {0}
        assert all([len(await app.store.records.of_run(id_, "", 10)) == 1 for id_ in ids + waiting])
        assert check(app.settings.store_url, ids + waiting) == []


async def refuses(app: App, ids: list[str], waiting: list[str]) -> bool:
    """Take what room is left until a new run is refused. What was taken is counted too: it was answered."""
    try:
        waiting += await put(app, *[drill("sleep", seconds=0.01, record=True, pad="x" * 20_000) for _ in range(50)])
    except StorageFull:
        return True
    return False
