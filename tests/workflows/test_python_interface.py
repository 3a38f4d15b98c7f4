"""`corral.workflows`: the example as a program, killed in the middle; and every method."""

import asyncio
import contextlib
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from corral.domain.errors import BadInput, WrongState
from corral.settings import Settings, Transport
from corral.workflows import InvalidWorkflow, JobOrchestrator, WorkflowDefinition, WorkflowStep, repositories
from tests import services
from tests.forked.process import Process, start_process
from tests.slack import SLACK
from tests.waiting import block_until, until

_EXAMPLE = Path(__file__).parent / "usage_example.py"


def start(folder: Path, **more: str) -> Process:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
    ours = {"APP_DATA_DIR": str(folder / "data"), "CALLS": str(folder / "calls")}
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        variables = {**inherited, **ours, **more}
        return start_process([], module=str(_EXAMPLE), env=variables, cwd=folder, stdout=out, stderr=err)


def calls(folder: Path) -> Counter[str]:
    path = folder / "calls"
    return Counter(line.split()[0] for line in path.read_text().splitlines()) if path.exists() else Counter()


def test_the_example_runs_and_goes_on_after_it_was_killed(tmp_path: Path) -> None:
    wait = tmp_path / "wait"
    wait.touch()
    first = start(tmp_path, WAIT=str(wait))
    block_until(lambda: calls(tmp_path)["validate"], within_s=60)
    first.kill()
    first.wait(20 * SLACK)
    wait.unlink()
    code = start(tmp_path).wait(60 * SLACK)
    out, err = ((tmp_path / name).read_text() for name in ("out", "err"))
    assert (code, out) == (0, "Progress: 100%\n"), err
    assert "'download_images': {'downloaded': 1000}" in err
    assert calls(tmp_path) == {"download": 1, "validate": 2, "deduplicate": 1}, "what completed is not repeated"


@pytest.fixture
async def orchestrator(tmp_path: Path) -> AsyncIterator[JobOrchestrator]:
    settings = Settings(data_dir=tmp_path / "data", workers=1)
    async with JobOrchestrator(settings=settings) as opened:
        yield opened


def a_definition(*steps: WorkflowStep, **more: Any) -> WorkflowDefinition:
    return WorkflowDefinition("test", steps, **more)


async def test_outputs_retries_timeouts_and_failures(orchestrator: JobOrchestrator) -> None:
    tries: list[str] = []

    async def first() -> dict[str, int]:
        return {"n": 1}

    async def flaky(inputs: dict[str, Any]) -> int:
        tries.append("flaky")
        if len(tries) == 1:
            raise ValueError("the first time")
        return int(inputs["first_step"]["n"]) + 1

    def in_a_thread(inputs: dict[str, Any]) -> str:
        return f"{inputs['flaky']['value']}"

    async def slow() -> None:
        await asyncio.sleep(60)

    async def strange() -> object:
        return {"x": object()}

    definition = a_definition(
        WorkflowStep("First Step", "a", first),
        WorkflowStep("Flaky", "b", flaky, dependencies=["First Step"], max_retries=1),
        WorkflowStep("Thread", "c", in_a_thread, dependencies=[1]),
        WorkflowStep("Slow", "d", slow, timeout=0.05, max_retries=0),
        WorkflowStep("Strange", "e", strange),
        WorkflowStep("After", "f", first, dependencies=["Slow"]),
    )
    workflow = await orchestrator.create_workflow(job_id="job", workflow_def=definition)
    assert (workflow.status, workflow.progress, workflow.total_steps) == ("pending", 0, 6)
    result = await orchestrator.execute_workflow(workflow.id, definition)
    assert (result["status"], result["results"]["thread"]) == ("failed", {"value": "2"})
    state = await orchestrator.get_workflow(workflow.id)
    assert state is not None
    tasks = {task.task_name: task for task in state.tasks}
    assert tasks["Flaky"].retry_count == 1
    assert tasks["Slow"].error_message == "not done after 0.05 s"
    assert "not JSON" in str(tasks["Strange"].error_message)
    assert tasks["After"].status == "skipped"
    assert state.metadata["steps"]["failed"] == 2
    assert [each.id for each in await orchestrator.get_failed_workflows()] == [workflow.id]
    assert [each.id for each in await orchestrator.get_recoverable_workflows()] == [workflow.id]


async def test_whatever_a_handler_raises_is_the_failure_of_its_step(orchestrator: JobOrchestrator) -> None:
    async def leave() -> None:
        sys.exit(3)

    def leave_thread() -> None:
        sys.exit(4)

    async def cancel() -> None:
        raise asyncio.CancelledError("by itself")

    def stop() -> None:
        raise StopIteration

    class Odd(BaseException): ...

    async def odd() -> None:
        raise Odd("odd")

    handlers = (leave, leave_thread, cancel, stop, odd)
    definition = a_definition(*(WorkflowStep(each.__name__, "x", each, max_retries=0) for each in handlers))
    workflow = await orchestrator.create_workflow(1, definition)
    result = await asyncio.wait_for(orchestrator.execute_workflow(workflow.id, definition), 20 * SLACK)
    assert [task["error_message"] for task in result["tasks"]] == [
        "SystemExit: 3",
        "SystemExit: 4",
        "CancelledError: by itself",
        "RuntimeError: the handler raised StopIteration",
        "Odd: odd",
    ]


async def test_functions_in_threads_do_not_wait_for_each_other(orchestrator: JobOrchestrator) -> None:
    together = threading.Barrier(40)

    async def numbers() -> list[int]:
        return list(range(40))

    def meet(inputs: dict[str, Any]) -> int:
        together.wait(20 * SLACK)
        return int(inputs["item"])

    fan_out = WorkflowStep("meet", "x", meet, 0, [0], for_each="${steps.numbers.output.value}", timeout=20 * SLACK)
    definition = a_definition(WorkflowStep("numbers", "x", numbers), fan_out)
    workflow = await orchestrator.create_workflow(1, definition)
    both = (orchestrator.execute_workflow(workflow.id, definition) for _ in range(2))
    result, other = await asyncio.gather(*both)  # two callers share the work
    assert [each["value"] for each in result["results"]["meet"]["items"]] == list(range(40))
    assert other["results"] == result["results"]


async def test_a_failed_workflow_is_recovered_without_repeating_what_completed(orchestrator: JobOrchestrator) -> None:
    seen: list[str] = []
    is_broken = True

    async def first() -> None:
        seen.append("first")

    async def second() -> None:
        seen.append("second")
        if is_broken:
            raise RuntimeError("broken")

    definition = a_definition(
        WorkflowStep("first", "x", first),
        WorkflowStep("second", "x", second, dependencies=[0], max_retries=0),
        max_recovery_attempts=1,
    )
    workflow = await orchestrator.create_workflow(1, definition)
    assert (await orchestrator.execute_workflow(workflow.id, definition))["status"] == "failed"
    is_broken = False
    recovered = await orchestrator.recover_workflow(workflow.id, from_step=1)
    assert (recovered.status, recovered.recovery_attempts) == ("recovering", 1)
    assert [each.id for each in await orchestrator.get_active_workflows()] == [workflow.id]
    assert (await orchestrator.execute_workflow(workflow.id, definition))["status"] == "completed"
    assert seen == ["first", "second", "second"]
    with pytest.raises(WrongState):
        await orchestrator.recover_workflow(workflow.id)


async def test_pause_cancel_and_the_workflow_of_a_job(orchestrator: JobOrchestrator) -> None:
    running, release = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        running.set()
        await release.wait()
        return "done"

    definition = a_definition(WorkflowStep("wait", "x", wait), WorkflowStep("after", "x", wait, dependencies=[0]))
    workflow = await orchestrator.create_workflow(42, definition)
    assert (await orchestrator.create_workflow(42, definition)).id == workflow.id, "it has not ended"
    execution = asyncio.ensure_future(orchestrator.execute_workflow(workflow.id, definition))
    await asyncio.wait_for(running.wait(), 10 * SLACK)
    assert (await orchestrator.pause_workflow(workflow.id)).status == "paused"
    release.set()
    paused = await asyncio.wait_for(execution, 10 * SLACK)
    assert (paused["status"], [task["status"] for task in paused["tasks"]]) == ("paused", ["completed", "pending"])

    release.clear()
    running.clear()
    execution = asyncio.ensure_future(orchestrator.execute_workflow(workflow.id, definition))
    await asyncio.wait_for(running.wait(), 10 * SLACK)
    assert (await orchestrator.cancel_workflow(workflow.id)).status == "cancelled"
    ended = await asyncio.wait_for(execution, 5 * SLACK)
    assert ended["status"] == "cancelled"
    found = await orchestrator.get_workflow_by_job(42)
    assert (found is not None and found.id, found and found.job_id) == (workflow.id, 42)
    assert (await orchestrator.create_workflow(42, definition)).id != workflow.id


async def test_a_cancel_does_not_wait_for_a_handler_that_ignores_it(orchestrator: JobOrchestrator) -> None:
    running, release = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        running.set()
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    definition = a_definition(WorkflowStep("stubborn", "x", stubborn))
    workflow = await orchestrator.create_workflow(1, definition)
    execution = asyncio.ensure_future(orchestrator.execute_workflow(workflow.id, definition))
    await asyncio.wait_for(running.wait(), 10 * SLACK)
    assert (await orchestrator.cancel_workflow(workflow.id)).status == "cancelled"
    assert (await asyncio.wait_for(execution, 5 * SLACK))["status"] == "cancelled"
    assert not release.is_set()
    release.set()


@pytest.mark.usefixtures("forked_workers")
async def test_a_function_by_its_name_is_called_by_a_worker(
    orchestrator: JobOrchestrator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far.py").write_text("import os\ndef pid(inputs):\n    return {'pid': os.getpid(), **inputs['near']}\n")
    monkeypatch.chdir(tmp_path)

    async def near() -> dict[str, int]:
        return {"here": os.getpid()}

    definition = a_definition(WorkflowStep("near", "x", near), WorkflowStep("far", "x", "far:pid", dependencies=[0]))
    workflow = await orchestrator.create_workflow(1, definition)
    result = await asyncio.wait_for(orchestrator.execute_workflow(workflow.id, definition), 60 * SLACK)
    assert result["status"] == "completed", result
    assert result["results"]["far"]["here"] == os.getpid() != result["results"]["far"]["pid"]


async def test_definitions_are_validated_and_versions_are_told_apart(orchestrator: JobOrchestrator) -> None:
    async def nothing() -> None: ...

    with pytest.raises(ValueError, match="has no steps"):
        a_definition().validate()
    with pytest.raises(InvalidWorkflow, match="max_retries"):
        a_definition(WorkflowStep("a", "x", nothing, max_retries=99)).validate()

    def greedy(first: int, second: int) -> None: ...

    with pytest.raises(InvalidWorkflow) as refused:
        a_definition(WorkflowStep("a", "x", None), WorkflowStep("b", "x", greedy, dependencies=[7])).validate()  # type: ignore[arg-type]
    assert len(refused.value.problems) == 3, refused.value
    first, other = a_definition(WorkflowStep("a", "x", nothing)), a_definition(WorkflowStep("b", "x", nothing))
    assert first.validate()
    workflow = await orchestrator.create_workflow(1, first)
    with pytest.raises(BadInput, match="another definition"):
        await orchestrator.execute_workflow(workflow.id, other)
    assert await orchestrator.get_workflow("0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b") is None
    started = await orchestrator.start_workflow(workflow.id)
    assert started.status == "running"


def test_a_changed_definition_is_checked_again() -> None:
    async def one() -> None: ...

    async def needs_two(a: int, b: int) -> None: ...

    step = WorkflowStep("Fetch", "fetch", one)
    definition = WorkflowDefinition("changing", [step])
    spec = definition.spec()
    assert definition.spec() is spec

    step.timeout = 5
    assert definition.spec().steps[0].timeout_s == 5
    needs_two.__qualname__ = one.__qualname__
    step.handler = needs_two
    with pytest.raises(InvalidWorkflow, match="a, b"):
        definition.spec()


async def test_the_repositories_read_the_same_installation(tmp_path: Path) -> None:
    states, tasks, jobs = repositories(Settings(data_dir=tmp_path / "data", workers=1))

    async def nothing() -> None: ...

    definition = a_definition(WorkflowStep("a", "x", nothing), WorkflowStep("b", "x", nothing, dependencies=[0]))
    async with JobOrchestrator(states, tasks, jobs) as orchestrator:
        workflow = await orchestrator.create_workflow(5, definition)
        assert [task.task_name for task in await tasks.get_pending_tasks(workflow.id)] == ["a", "b"]
        await orchestrator.execute_workflow(workflow.id, definition)
        assert [task.status for task in await tasks.get_by_workflow(workflow.id)] == ["completed", "completed"]
        assert await tasks.get_failed_tasks(workflow.id) == []
        found = await states.get_by_job_id(5)
        assert found is not None
        assert (found.status, found.current_step, found.progress) == ("completed", 2, 100)
        assert found.last_checkpoint == found.tasks[1].completed_at is not None
        assert (await orchestrator.get_workflow_progress(workflow.id))["job_id"] == found.job_id == 5
        assert (await orchestrator.create_workflow("007", definition)).job_id == "007"
        assert await jobs.get("0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b") is None


async def test_the_celery_task_of_a_step_has_the_id_of_its_run(
    tmp_path: Path, redis_server: services.RedisServer
) -> None:
    broker = redis_server.url(14)
    settings = Settings(data_dir=tmp_path / "data", celery_broker_url=broker, transport=Transport.CELERY)
    states, tasks, jobs = repositories(settings)
    async with JobOrchestrator(states, tasks, jobs) as orchestrator:
        definition = a_definition(WorkflowStep("far", "x", "far:pid"))
        workflow = await orchestrator.create_workflow(1, definition)
        [task] = (await orchestrator.start_workflow(workflow.id)).tasks
        assert task.celery_task_id == task.run_id is not None
        assert await tasks.get_by_celery_task_id(str(task.celery_task_id)) == task
        assert await tasks.get_by_celery_task_id(workflow.id) is None
        progress = await orchestrator.get_workflow_progress(workflow.id)
        assert progress["tasks"][0]["celery_task_id"] == task.celery_task_id
        await until(lambda: list_queued_ids(broker) == [task.celery_task_id])
        await orchestrator.cancel_workflow(workflow.id)


def list_queued_ids(broker: str) -> list[str]:
    with Redis.from_url(broker) as client:
        lists = [key for key in client.scan_iter("*") if client.type(key) == b"list"]
        return [json.loads(message)["headers"]["id"] for key in lists for message in client.lrange(key, 0, -1)]
