"""What a person asks for while a run is executed: cancel, pause, resume."""

import asyncio
import time

import pytest

from corral.domain.errors import WrongState
from corral.domain.runs.run import RunAction, RunState
from corral.settings import Settings
from corral.wiring.app import App
from corral.wiring.roles import open_client
from tests.engine.builders import drill, kinds, node_of, put, run_node, sound, wait_for_runs, wait_for_start
from tests.slack import SLACK
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")

# What is promised on an idle machine, and a run that takes several times as long as a busy one may take to stop it.
STOP_S = 2 * SLACK
LONG_S = 4 * STOP_S


@pytest.mark.parametrize("move", [RunAction.CANCEL, RunAction.PAUSE])
async def test_a_run_stops_within_two_seconds_and_writes_no_record(app: App, move: RunAction) -> None:
    [run_id] = await put(app, drill("sleep", seconds=LONG_S, record=True))
    await wait_for_start(app, run_id)
    await app.submitter.apply_action(run_id, move)
    # It counts as executing until its worker has confirmed that it ended.
    assert await until(lambda: node_of(app).executing == 0) < STOP_S
    assert await app.store.records.of_run(run_id, "", 10) == []
    assert (await kinds(app, run_id))[-1] in ("cancelled", "paused")
    await sound(app)


@pytest.mark.parametrize("move", [RunAction.CANCEL, RunAction.PAUSE])
async def test_another_process_stops_a_run_within_two_seconds(app: App, settings: Settings, move: RunAction) -> None:
    [run_id] = await put(app, drill("sleep", seconds=LONG_S, record=True))
    await wait_for_start(app, run_id)
    async with open_client(settings) as other:
        await other.submitter.apply_action(run_id, move)
    assert await until(lambda: node_of(app).executing == 0) < STOP_S
    assert await app.store.records.of_run(run_id, "", 10) == []


async def test_a_stalled_run_that_is_cancelled_loses_its_worker_and_hurts_nobody(settings: Settings) -> None:
    async with run_node(settings.model_copy(update={"workers": 1})) as app:
        [neighbour] = await put(app, drill("sleep", seconds=1, record=True))
        await wait_for_start(app, neighbour)
        [stalled] = await put(app, drill("stall", seconds=30))
        await wait_for_start(app, stalled)
        await asyncio.sleep(0.2)
        await app.submitter.apply_action(stalled, RunAction.CANCEL)
        [run] = await wait_for_runs(app, [neighbour])
        assert (run.state, run.attempt, run.losses) == (RunState.COMPLETED, 1, 0)
        assert (await kinds(app, stalled)) == ["created", "started", "cancelled"]


async def test_a_resumed_run_goes_on_with_a_higher_epoch_and_the_same_attempt(app: App) -> None:
    [run_id] = await put(app, drill("sleep", seconds=0.5, record=True))
    await wait_for_start(app, run_id)
    held = await app.submitter.apply_action(run_id, RunAction.PAUSE)
    assert (held.state, held.hold_reason) == (RunState.HELD, "paused")
    await app.submitter.apply_action(run_id, RunAction.RESUME)
    [run] = await wait_for_runs(app, [run_id])
    assert (run.state, run.attempt, run.epoch) == (RunState.COMPLETED, 1, 2)
    assert len(await app.store.records.of_run(run_id, "", 10)) == 1
    assert (await kinds(app, run_id)) == ["created", "started", "paused", "resumed", "started", "completed"]


async def test_a_late_stop_does_not_touch_the_execution_after_a_resume(app: App) -> None:
    """Between a pause and the word to the workers, the run may have been resumed and claimed anew."""
    [run_id] = await put(app, drill("sleep", seconds=9, record=True))
    await wait_for_start(app, run_id)
    await app.store.runs.apply_action(run_id, RunAction.PAUSE)
    await app.store.runs.apply_action(run_id, RunAction.RESUME)
    node_of(app).wake()
    await until(lambda: len(node_of(app)._assignment.keys_of(run_id)) == 2)
    began = time.monotonic()
    node_of(app).abort(run_id)
    [run] = await wait_for_runs(app, [run_id])
    assert (run.state, run.epoch, run.losses) == (RunState.COMPLETED, 2, 0)
    assert run.attempts[-1]["epoch"] == 2
    assert time.monotonic() - began < 12 * SLACK


async def test_the_end_of_a_run_is_final(app: App) -> None:
    [run_id] = await put(app, drill())
    await wait_for_runs(app, [run_id])
    for move in (RunAction.CANCEL, RunAction.PAUSE, RunAction.RESUME):
        with pytest.raises(WrongState) as refused:
            await app.submitter.apply_action(run_id, move)
        assert (refused.value.code, refused.value.state) == ("already_terminal", "completed")
    assert (await kinds(app, run_id)) == ["created", "started", "completed"]
