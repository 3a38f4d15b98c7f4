"""Scripts as runs of a node: records, artifacts, events, limits, and what becomes of them when something dies."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.runs.run import Lanes, NewRun, RunAction, RunState
from corral.engine.worker.kinds.script import SCRIPT_KIND
from corral.files.artifacts import ArtifactFolder
from corral.settings import Settings
from corral.views import runs as views
from corral.wiring.app import App
from tests.engine.builders import events, kinds, node_of, put, run_node, wait_for_runs, wait_for_start
from tests.scripts.builders import processes_of
from tests.waiting import until

PYTHON = sys.executable  # with forked workers, another one in the tests
PRINTS = """
import sys
print('hello')
print('{"a": 1}')
print('{"a": 2}')
print('bad \\x1b[31mnews', file=sys.stderr)
"""
SLEEPS = "import subprocess; subprocess.run(['setsid', 'sleep', '600'])"
PROTOCOL = "import os, json, time\ndef say(**m): os.write(3, (json.dumps(m) + '\\n').encode())\n"


def script(code: str, *, max_attempts: int = 1, timeout_s: float = 30.0, **options: Any) -> NewRun:
    argv = (PYTHON, "-c", code)
    payload = ScriptPayload(argv=argv, name="sample", cwd="/tmp", timeout_s=timeout_s, **options)
    return SCRIPT_KIND.draft_run(payload, max_attempts=max_attempts)


async def execute(app: App, run: NewRun) -> Any:
    [run_id] = await put(app, run)
    [ended] = await wait_for_runs(app, [run_id], 60)
    return ended


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings.model_copy(update={"workers": 1})


@pytest.fixture
async def node(settings: Settings, forked_workers: None) -> AsyncIterator[App]:
    async with run_node(settings) as app:
        yield app


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that scripts see; the data folder is hidden from them."""
    return tmp_path_factory.mktemp("outside")


async def test_records_output_and_artifacts_of_a_script(node: App) -> None:
    run = await execute(node, script(PRINTS))
    assert run.state is RunState.COMPLETED
    assert [record.data for record in await node.store.records.of_run(run.id, "", 10)] == [{"a": 1}, {"a": 2}]
    assert (run.stats["records"], run.stats["exit_code"], run.stats["name"]) == (2, 0, "sample")
    last = (await events(node, run.id))[-1]
    assert last.meta["stats"]["output"]["stderr"] == "bad \\x1b[31mnews\n", "control characters are escaped"
    folder, stored = ArtifactFolder(node.settings.artifacts_dir), await node.store.artifacts.of_run(run.id)
    kept = {each.artifact.kind.value: folder.read(each.artifact) for each in stored}
    assert kept == {"stdout": b'hello\n{"a": 1}\n{"a": 2}\n', "stderr": b"bad \x1b[31mnews\n"}


async def test_a_script_that_fails_is_retried_and_its_last_records_are_kept(node: App, outside: Path) -> None:
    mark = outside / "tries"
    code = f"open({str(mark)!r}, 'a').write('x'); print('{{\"n\": 1}}'); import sys; sys.exit('no luck')"
    run = await execute(node, script(code, max_attempts=3, retry_base_s=0.01, retry_cap_s=0.02))
    assert (run.state, run.attempt, run.failure_code, run.failure_detail) == (
        RunState.FAILED,
        3,
        "bad_response",
        "exit",
    )
    assert run.error_message == "the script exited with 1: no luck"
    assert mark.read_text() == "xxx"
    assert await kinds(node, run.id) == ["created", *["started", "retry_scheduled"] * 2, "started", "failed"]
    assert "no luck" in (await events(node, run.id))[-1].meta["output"]["stderr"]
    assert len(await node.store.records.of_run(run.id, "", 10)) == 1


async def test_a_broken_line_makes_the_run_partial(node: App) -> None:
    run = await execute(node, script("print('{\"a\": 1}'); print('{broken')"))
    assert (run.state, run.failure_code, run.failure_detail) == (RunState.PARTIAL, "bad_response", "records")
    assert run.stats["problems"]["broken_lines"] == 1
    assert len(await node.store.records.of_run(run.id, "", 10)) == 1


async def test_a_time_limit_ends_a_script_that_ignores_it(node: App) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
    run = await execute(node, script(code, timeout_s=1.0))
    assert (run.state, run.failure_code, run.failure_detail) == (RunState.FAILED, "timeout", "script")
    assert processes_of(run.id) == []


async def test_progress_is_visible_while_a_script_runs(node: App, outside: Path) -> None:
    go = outside / "go"
    code = (
        PROTOCOL + "say(progress={'done': 3, 'total': 10})\nsay(record={'a': 1})\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\nsay(progress={{'done': 10, 'total': 10}})\n"
        "say(done={'records': 1})"
    )
    [run_id] = await put(node, script(code))

    async def is_told() -> bool:
        return bool(views.run(await node.store.runs.get(run_id))["progress"]["done"] == 3)

    await until(is_told)
    assert views.run(await node.store.runs.get(run_id))["progress"]["percent"] == 30.0
    go.touch()
    [run] = await wait_for_runs(node, [run_id])
    assert (run.state, views.run(run)["progress"]["done"]) == (RunState.COMPLETED, 10)


@pytest.mark.parametrize("action, state", [(RunAction.CANCEL, "cancelled"), (RunAction.PAUSE, "held")])
async def test_a_run_that_is_stopped_leaves_no_process(node: App, action: RunAction, state: str) -> None:
    [run_id] = await put(node, script(SLEEPS))
    await until(lambda: len(processes_of(run_id)) >= 2)
    await node.submitter.apply_action(run_id, action)
    await until(lambda: processes_of(run_id) == [])
    assert (await node.store.runs.get(run_id)).state == state
    other = await execute(node, script("print('{}')"))
    assert other.state is RunState.COMPLETED, "the worker goes on"


async def test_a_killed_worker_leaves_no_process_and_the_run_is_executed_again(
    settings: Settings, outside: Path
) -> None:
    go = outside / "go"
    code = f"import os, subprocess\nif not os.path.exists({str(go)!r}): subprocess.run(['setsid', 'sleep', '600'])"
    async with run_node(settings) as node:
        [run_id] = await put(node, script(code))
        await until(lambda: len(processes_of(run_id)) >= 2)
        before = set(processes_of(run_id))
        go.touch()
        for pid in node_of(node).worker_pids:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: not before & set(processes_of(run_id)))
        [run] = await wait_for_runs(node, [run_id], 60)
    assert (run.state, run.attempt, run.losses) == (RunState.COMPLETED, 1, 0)


@pytest.mark.usefixtures("forked_workers")
async def test_no_more_scripts_run_at_once_than_allowed(settings: Settings) -> None:
    async with run_node(settings.model_copy(update={"script_concurrency": 2})) as app:
        ids = await put(app, *[script("import time; time.sleep(0.3)") for _ in range(6)])
        most = 0
        while any([not (await app.store.runs.get(each)).state.is_terminal for each in ids]):
            most = max(most, (await app.store.runs.count_live())["running"])
            await asyncio.sleep(0.02)
        assert most == 2


async def test_scripts_have_a_lane_of_their_own(node: App) -> None:
    owner, run = node_of(node).owner, script("")
    await node.stop_work()
    await put(node, run)
    assert await node.store.runs.claim(owner, 5, 10.0, Lanes(scripts=0)) == []
    [lease] = await node.store.runs.claim(owner, 5, 10.0, Lanes(browsers=0, crawls=0, light=0))
    assert lease.run_id == run.id


@pytest.mark.usefixtures("forked_workers")
async def test_a_stopped_node_ends_its_scripts_and_returns_the_runs(settings: Settings) -> None:
    async with run_node(settings) as app:
        [run_id] = await put(app, script(SLEEPS))
        await wait_for_start(app, run_id)
        await until(lambda: len(processes_of(run_id)) >= 2)
    await until(lambda: processes_of(run_id) == [])
    async with run_node(settings.model_copy(update={"script_concurrency": 1})) as app:
        await app.submitter.apply_action(run_id, RunAction.CANCEL)
