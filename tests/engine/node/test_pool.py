"""Worker processes that cannot start hurt no run."""

import asyncio
import sys
from pathlib import Path

import pytest

from corral.domain.runs.run import RunState
from corral.engine.node.pool import WorkerProcess
from corral.engine.worker import messages
from corral.settings import Settings
from corral.wiring.app import App
from corral.wiring.roles import open_node
from tests.engine.builders import drill, kinds, node_of, put, wait_for_runs, wait_for_start
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")


async def test_workers_that_die_while_starting_cost_no_run_anything(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken installation must not quarantine the queue; mended, it is worked off."""
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nsleep 0.2\necho 'no module named anything' >&2\nexit 1\n")
    broken.chmod(0o755)
    whole = sys.executable
    monkeypatch.setattr(sys, "executable", str(broken))
    async with open_node(settings) as app:
        ids = await put(app, *[drill(record=True) for _ in range(10)])
        await asyncio.sleep(2.5)
        assert node_of(app).worker_count == 0
        assert {(await app.store.runs.get(id_)).losses for id_ in ids} == {0}
        monkeypatch.setattr(sys, "executable", whole)
        runs = await wait_for_runs(app, ids)
        assert {(run.state, run.losses) for run in runs} == {(RunState.COMPLETED, 0)}
        assert await kinds(app, ids[0]) == ["created", "started", "completed"]


async def test_a_worker_that_cannot_be_started_at_all_is_tried_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = sys.executable
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    async with open_node(settings) as app:
        [run_id] = await put(app, drill(record=True))
        await asyncio.sleep(0.5)
        monkeypatch.setattr(sys, "executable", whole)
        [run] = await wait_for_runs(app, [run_id])
        assert run.state is RunState.COMPLETED


async def test_words_of_a_worker_that_make_no_sense_cost_that_worker_only(app: App) -> None:
    node = node_of(app)
    [run_id] = await put(app, drill("sleep", seconds=0.5, record=True))
    await wait_for_start(app, run_id)
    real = node._pool._dispatch
    heard: list[list[messages.FromWorker]] = []

    def fail_once(worker: WorkerProcess, frame: list[messages.FromWorker]) -> None:
        heard.append(frame)
        if len(heard) == 1:
            raise KeyError("what?")
        real(worker, frame)

    node._pool._dispatch = fail_once  # type: ignore[method-assign]
    [run] = await wait_for_runs(app, [run_id])
    assert (run.state, run.losses) == (RunState.COMPLETED, 1)
    await until(lambda: node.worker_count == 2)
