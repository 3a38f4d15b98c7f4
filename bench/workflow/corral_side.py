"""Corral on a SQLite file: handlers in the calling process, and steps executed by worker processes."""

from __future__ import annotations

import asyncio
import time

from bench.model import Place, Result
from corral.domain.workflows.parse import parse_workflow
from corral.runtime.process import serve
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node
from corral.workflows import JobOrchestrator, WorkflowDefinition, WorkflowStep

STEPS = 10
_AT_ONCE = 100
_CONCURRENCY = 150


async def _do_nothing() -> None:
    """Nothing."""


def _make_definition() -> WorkflowDefinition:
    steps = [
        WorkflowStep(f"step {number}", "noop", _do_nothing, dependencies=[number - 1] if number else [])
        for number in range(STEPS)
    ]
    return WorkflowDefinition("bench", steps)


class Corral:
    name = "corral"

    def __init__(self, place: Place) -> None:
        self._data = place.folder / "var"

    def measure(self, count: int) -> Result:
        """On the event loop the command line uses."""
        return serve(self._measure(count))

    async def _measure(self, count: int) -> Result:
        settings = load_settings(data_dir=self._data, runs_per_process=_CONCURRENCY)
        alone_ms, local_s = await _time_handlers(settings, count // STEPS)
        workers_s = await _time_workers(settings, count // STEPS)
        variants = {"handlers in the program": count / local_s, "workers": count / workers_s}
        best = min(local_s, workers_s)
        notes = (
            f"SQLite, synchronous=FULL; best of: {', '.join(f'{name} {rate:.0f}' for name, rate in variants.items())}"
        )
        return Result(count / best, count, best, notes, {"one_workflow_ms": alone_ms}, variants)


async def _time_handlers(settings: Settings, workflows: int) -> tuple[float, float]:
    definition = _make_definition()
    room = asyncio.Semaphore(_AT_ONCE)
    async with JobOrchestrator(settings=settings) as orchestrator:

        async def execute(number: int) -> None:
            async with room:
                workflow = await orchestrator.create_workflow(number, definition)
                result = await orchestrator.execute_workflow(workflow.id, definition)
                assert result["status"] == "completed", result

        await execute(-1)
        began = time.perf_counter()
        await execute(-2)
        alone_s = time.perf_counter() - began
        began = time.perf_counter()
        await asyncio.gather(*(execute(number) for number in range(workflows)))
        return alone_s * 1000, time.perf_counter() - began


async def _time_workers(settings: Settings, workflows: int) -> float:
    chain = [
        {"key": f"s{number}", "kind": "selftest", "depends_on": [f"s{number - 1}"] if number else []}
        for number in range(STEPS)
    ]
    spec = parse_workflow({"name": "bench-workers", "steps": chain})
    async with open_node(settings) as app:
        await app.workflows.create(spec)
        await _drain(app)
        began = time.perf_counter()
        for _ in range(workflows):
            await app.workflows.create(spec)
        await _drain(app)
        return time.perf_counter() - began


async def _drain(app: App) -> None:
    while any((await app.store.runs.count_live()).values()):
        await app.pulse.wait(0.05)
