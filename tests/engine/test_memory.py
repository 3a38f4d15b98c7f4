"""A worker that grows is replaced; one that a run blows up is a lost worker."""

from pathlib import Path

import pytest

from corral.domain.run import RunState
from tests.engine.build import drill, ended, kinds, node_of, put, settings_for, started, until, working


async def test_a_worker_past_its_limit_is_replaced_when_it_is_done(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, workers=1, worker_max_memory_mib=200)
    async with working(settings) as app:
        node = node_of(app)
        before = node.worker_pids
        [long] = await put(app, drill("sleep", seconds=3))
        await started(app, long)
        await put(app, drill("grow", mib=190))
        [after] = await put(app, drill())
        runs = await ended(app, [long, after])
        assert {run.state for run in runs} == {RunState.COMPLETED}
        assert {run.losses for run in runs} == {0}, "nobody is to blame"
        assert (await kinds(app, long))[-1] == "completed", "it was not interrupted"
        await until(lambda: node.worker_count == 1 and node.worker_pids != before)


async def test_a_run_that_blows_its_worker_up_is_quarantined(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, workers=1, worker_max_memory_mib=200)
    async with working(settings) as app:
        [greedy] = await put(app, drill("grow", mib=400, seconds=60))
        [run] = await ended(app, [greedy], timeout_s=40)
        assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "worker_lost", "poison")
        assert "MiB of memory" in (run.error_message or "")


@pytest.mark.long
async def test_without_a_limit_it_may_grow(tmp_path: Path) -> None:
    async with working(settings_for(tmp_path, workers=1)) as app:
        before = node_of(app).worker_pids
        [run] = await ended(app, await put(app, drill("grow", mib=400, seconds=2.5)))
        assert run.state is RunState.COMPLETED
        assert node_of(app).worker_pids == before
