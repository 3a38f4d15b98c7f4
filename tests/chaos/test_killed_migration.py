"""An installation that works is moved, and who moves it is killed: all runs end once, at the new place."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from corral.domain.errors import StorageMoved, StorageUnavailable
from tests import services
from tests.chaos.client import Client, client_of
from tests.chaos.history import check
from tests.chaos.level import LEVEL, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import Stack, stack_on
from tests.engine.builders import drill, states
from tests.shape.files import ROOT

KILLS = by_level(3, 25, 200)
_SLEEPS_S = 0.3


@pytest.mark.skipif(not LEVEL, reason="long")
async def test_a_move_that_is_killed_again_and_again_loses_and_doubles_nothing(
    file_stack: Stack, postgres: services.PostgresCluster
) -> None:
    target, random = postgres.create_database(), make_random()
    file_stack.node(workers=2)
    async with client_of(file_stack.url, file_stack.folder) as client:
        submitting = asyncio.create_task(_submit_until_moved(client))
        killed = 0
        while killed < KILLS and await _migrate(file_stack.folder, target, random.uniform(0.3, 2.5)) < 0:
            killed += 1
        assert await _migrate(file_stack.folder, target, None) == 0
        await submitting
        answered = client.answered
    with stack_on(target, file_stack.folder / "new") as there:
        there.node(workers=2, runs_per_process=50)
        async with client_of(target, there.folder) as client:
            client.answered = answered
            took_s = await client.wait_until_drained(600)
            assert states(await client.runs()) == {"completed": len(answered)}
    assert check(target, answered) == []
    report(f"move: killed {killed} times under {len(answered)} runs: all ended once, {took_s:.1f} s after the move")


async def _submit_until_moved(client: Client) -> None:
    while True:
        try:
            await client.submit(*(drill("sleep", seconds=_SLEEPS_S) for _ in range(3)))
        except StorageMoved:
            return
        except StorageUnavailable:
            pass  # while it is copied
        await asyncio.sleep(0.1)


async def _migrate(folder: Path, target: str, kill_after_s: float | None) -> int:
    """How `corral db migrate-to` ended."""
    environment = {**os.environ, "APP_DATA_DIR": str(folder)}
    command = [sys.executable, "-m", "corral", "db", "migrate-to", target, "--json"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        return await asyncio.to_thread(process.wait, kill_after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return await asyncio.to_thread(process.wait)
