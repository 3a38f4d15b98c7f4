"""The loop of several nodes over one database: one of them reconciles, and another goes on where it was killed."""

import asyncio

from corral.domain.errors import BadConfiguration
from corral.domain.ids import Owner
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.domain.runs.run import RECONCILE, RunState
from corral.engine.loop.runner import LoopRunner
from corral.store.store import Store
from tests.store.builders import ME, complete, settle


async def _no_tasks() -> bool:
    return False


def _runner(store: Store, name: str, *, is_broken: bool = False) -> LoopRunner:
    def make_payload() -> ReconcilePayload:
        if is_broken:
            raise BadConfiguration(["the file is broken"])
        return ReconcilePayload()

    return LoopRunner(store.loop, store.runs.get, _no_tasks, make_payload, wake=lambda *_: None, owner=Owner(name))


async def _reconciliations(store: Store) -> list[str]:
    return [run.id for run in await store.runs.newest(None, None, None, 50) if run.kind == RECONCILE]


async def test_the_loop_does_nothing_until_it_is_started(store: Store) -> None:
    await _runner(store, "a").step()
    assert await _reconciliations(store) == []
    assert not (await store.loop.read()).is_on


async def test_of_several_nodes_one_reconciles_at_a_time(store: Store) -> None:
    await store.loop.configure(600, [])
    runners = [_runner(store, name) for name in "abcde"]
    for _ in range(3):
        await asyncio.gather(*(runner.step() for runner in runners))
    [run_id] = await _reconciliations(store)
    state = await store.loop.read()
    assert (state.run_id, state.epoch) == (run_id, 1)


async def test_another_node_goes_on_where_one_was_killed(store: Store) -> None:
    await store.loop.configure(600, [])
    await _runner(store, "killed").step()
    [run_id] = await _reconciliations(store)
    await store.loop.take("killed", -1)  # its lease is over
    other = _runner(store, "other")
    await other.step()
    assert await _reconciliations(store) == [run_id]
    assert (await store.loop.read()).owner == "other"
    [lease] = await store.runs.claim(ME, 1, 10)
    assert await settle(store, complete(lease))
    await other.step()
    state = await store.loop.read()
    assert state.run_id is None
    assert (state.last["run_id"], state.last["state"], state.failures) == (run_id, RunState.COMPLETED, 0)
    await other.step()
    assert await _reconciliations(store) == [run_id], "the next one is due in ten minutes"


async def test_a_node_that_lost_the_lease_starts_nothing(store: Store) -> None:
    await store.loop.configure(600, [])
    old = await store.loop.take("old", -1)
    assert old is not None
    assert await store.loop.take("new", 60) is not None
    assert await store.loop.take("old", 60) is None
    assert not await store.loop.end_run(old)


async def test_a_broken_inventory_backs_off_and_a_stop_stops(store: Store) -> None:
    await store.loop.configure(600, [])
    await _runner(store, "a", is_broken=True).step()
    state = await store.loop.read()
    assert (state.failures, state.last["problem"]) == (1, "the file is broken")
    await store.loop.stop()
    assert await store.loop.take("a", 60) is None
    again = await store.loop.configure(60, ["22:00-06:00"])
    assert (again.failures, again.windows, again.every_s) == (0, ("22:00-06:00",), 60)
