"""A worker that grows is replaced; one that a run blows up is a lost worker."""

from pathlib import Path

import pytest

from corral.domain.runs.run import RunState
from corral.engine.node.memory import default_limit_mib
from corral.wiring.options import node_options
from tests.engine.builders import (
    drill,
    kinds,
    node_of,
    put,
    run_node,
    settings_for,
    wait_for_quarantine,
    wait_for_runs,
    wait_for_start,
)
from tests.waiting import until


async def test_a_worker_past_its_limit_is_replaced_when_it_is_done(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, workers=1, worker_max_memory_mib=200)
    async with run_node(settings) as app:
        node = node_of(app)
        before = node.worker_pids
        [long] = await put(app, drill("sleep", seconds=3))
        await wait_for_start(app, long)
        await put(app, drill("grow", mib=190))
        [after] = await put(app, drill())
        runs = await wait_for_runs(app, [long, after])
        assert {run.state for run in runs} == {RunState.COMPLETED}
        assert {run.losses for run in runs} == {0}, "nobody is to blame"
        assert (await kinds(app, long))[-1] == "completed", "it was not interrupted"
        await until(lambda: node.worker_count == 1 and node.worker_pids != before)


async def test_a_run_that_blows_its_worker_up_is_quarantined(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, workers=1, worker_max_memory_mib=200)
    async with run_node(settings) as app:
        [greedy] = await put(app, drill("grow", mib=400, seconds=60))
        run = await wait_for_quarantine(app, greedy)
        assert (run.state, run.failure_code, run.failure_detail) == (RunState.HELD, "worker_lost", "poison")
        assert "MiB of memory" in (run.error_message or "")


@pytest.mark.parametrize(
    "machine_mib, workers, limit_mib", [(1_000, 2, 512), (4_096, 2, 1_024), (64_000, 4, 2_048), (64_000, 64, 512)]
)
def test_by_default_the_workers_share_half_of_the_memory(machine_mib: int, workers: int, limit_mib: int) -> None:
    assert default_limit_mib(workers, machine_mib) == limit_mib


async def test_there_is_a_limit_unless_it_is_set_to_none(tmp_path: Path) -> None:
    assert 512 <= node_options(settings_for(tmp_path)).max_memory_mib <= 2048
    assert node_options(settings_for(tmp_path, worker_max_memory_mib=0)).max_memory_mib == 0


@pytest.mark.long
async def test_without_a_limit_it_may_grow(tmp_path: Path) -> None:
    async with run_node(settings_for(tmp_path, workers=1, worker_max_memory_mib=0)) as app:
        before = node_of(app).worker_pids
        [run] = await wait_for_runs(app, await put(app, drill("grow", mib=400, seconds=2.5)))
        assert run.state is RunState.COMPLETED
        assert node_of(app).worker_pids == before
