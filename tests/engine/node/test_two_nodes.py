"""Two nodes on one database share the work and do nothing twice."""

import asyncio
from collections import Counter

import pytest

from corral.domain.runs.run import RunState
from corral.settings import Settings
from tests.engine.builders import drill, node_of, put, run_node, sound, wait_for_runs
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")


async def test_two_nodes_execute_each_run_once(shared_settings: Settings) -> None:
    async with run_node(shared_settings) as first, run_node(shared_settings) as second:
        ids = await put(first, *[drill("sleep", seconds=0.02, record=True) for _ in range(300)])
        node_of(second).wake()
        runs = await wait_for_runs(first, ids, timeout_s=60)
        assert {(run.state, run.epoch, run.losses) for run in runs} == {(RunState.COMPLETED, 1, 0)}
        records = Counter([len(await first.store.records.of_run(id_, "", 10)) for id_ in ids])
        assert records == {1: 300}
        nodes = [node_of(app) for app in (first, second)]
        # A node counts when it hears that its write has landed.
        await until(lambda: sum(node.settled.total() for node in nodes) == 300)
        assert min(node.settled.total() for node in nodes) > 0
        await sound(first)


async def test_a_run_of_a_node_that_stops_is_finished_by_the_other(shared_settings: Settings) -> None:
    async with run_node(shared_settings) as first:
        async with run_node(shared_settings) as second:
            ids = await put(second, *[drill("sleep", seconds=1, record=True) for _ in range(40)])
            node_of(first).wake()
            await asyncio.sleep(0.5)
        runs = await wait_for_runs(first, ids, timeout_s=30)
        assert {(run.state, run.attempt, run.losses) for run in runs} == {(RunState.COMPLETED, 1, 0)}
        await sound(first)
