"""A new run kind needs one module and one line of registration; every state of a run then works for it."""

import os
from pathlib import Path

import pytest

from corral.domain.errors import BadInput
from corral.domain.runs.queues import lane_of
from corral.domain.runs.run import Run, RunAction, RunState
from corral.engine.worker.kinds import registry
from corral.wiring.app import App
from tests.engine.builders import run_node, settings_for, wait_for_runs, wait_for_start
from tests.engine.worker.toy_kind import TOY_KIND
from tests.shape.files import ROOT
from tests.waiting import until

# A worker is a process of its own, so it registers the kind when it starts.
_REGISTER_IN_WORKERS = """
import sys
if "corral.entrypoints.worker_process" in sys.orig_argv:
    from corral.engine.worker.kinds import registry
    from tests.engine.worker.toy_kind import TOY_KIND
    registry.KINDS = (*registry.KINDS, TOY_KIND)
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(_REGISTER_IN_WORKERS)
    path = os.pathsep.join([str(tmp_path), str(ROOT), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setattr(registry, "KINDS", (*registry.KINDS, TOY_KIND))


async def _state(app: App, run: Run) -> RunState:
    return (await app.store.runs.get(run.id)).state


@pytest.mark.usefixtures("toy")
async def test_a_toy_kind_is_submitted_executed_failed_cancelled_and_resumed(tmp_path: Path) -> None:
    limiter = tmp_path / "gate"
    async with run_node(settings_for(tmp_path)) as app:
        done = await app.submitter.submit("toy", {"word": "corral"})
        failing = await app.submitter.submit("toy", {"word": "corral", "fails": True})
        runs = await wait_for_runs(app, [done.id, failing.id])
        assert [(run.kind, run.state) for run in runs] == [("toy", RunState.COMPLETED), ("toy", RunState.FAILED)]
        assert (runs[1].failure_code, runs[1].failure_detail, runs[1].error_message) == (
            "bad_response",
            "toy",
            "corral failed",
        )
        [record] = await app.store.records.of_run(done.id, "", 10)
        assert record.data == {"reversed": "larroc"}

        cancelled = await app.submitter.submit("toy", {"word": "a", "wait_for": str(limiter)})
        resumed = await app.submitter.submit("toy", {"word": "ab", "wait_for": str(limiter)})
        await wait_for_start(app, cancelled.id, resumed.id)
        await app.submitter.apply_action(cancelled.id, RunAction.CANCEL)
        await app.submitter.apply_action(resumed.id, RunAction.PAUSE)
        assert (await _state(app, cancelled), await _state(app, resumed)) == (RunState.CANCELLED, RunState.HELD)
        limiter.touch()
        await app.submitter.apply_action(resumed.id, RunAction.RESUME)
        await wait_for_runs(app, [resumed.id])
        assert await _state(app, resumed) is RunState.COMPLETED

        with pytest.raises(BadInput, match="word"):
            await app.submitter.submit("toy", {})
    with pytest.raises(BadInput, match="unknown run kind"):
        registry.find_kind("toys")


async def test_a_run_stored_under_the_former_name_of_its_kind_is_read_and_executed(tmp_path: Path) -> None:
    async with run_node(settings_for(tmp_path)) as app:
        spec = registry.find_kind("selftest")
        draft = spec.draft_run(spec.payload.parse({"record": True}))._replace(kind="drill")
        [run_id], _ = await app.store.runs.add([(draft, [])])
        await until(lambda: _is_completed(app, run_id))
        assert (await app.store.runs.get(run_id)).kind == "selftest"


async def _is_completed(app: App, run_id: str) -> bool:
    return (await app.store.runs.get(run_id)).state is RunState.COMPLETED


def test_runs_of_a_kind_wait_in_the_lane_that_it_declares() -> None:
    names = [spec.name for spec in registry.KINDS]
    assert len(set(names)) == len(names)
    for spec in registry.KINDS:
        if spec.lane is not None:
            strategy = spec.draft_run(spec.payload.parse({"share": 1, "survey": "page"})).resolved_strategy
            assert lane_of(spec.name, strategy) is spec.lane
