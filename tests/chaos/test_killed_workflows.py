"""Workers, nodes and installations are killed under workflows: no completed step is repeated, and none is lost."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from corral.domain.runs.event import EventKind
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.parse import parse_workflow
from corral.store.open import open_store
from tests.chaos.client import Client, client_of
from tests.chaos.fleet import fleet, until_works
from tests.chaos.history import check, query
from tests.chaos.kills import hurt_fleet, kill, start
from tests.chaos.level import SEED, by_level, make_random
from tests.chaos.report import report
from tests.chaos.stack import Stack
from tests.services import PostgresCluster, RedisServer
from tests.stack import demo_site

KILLS = by_level(4, 500)
FLEET_KILLS = by_level(1, 500)
_LIVE = by_level(4, 20)
# What each step of the graph below appends to what its dependencies returned.
_GRAPH = {"a": (), "b": ("a",), "c": ("a",), "d": ("b",), "e": ("c",), "f": ("d", "e")}
EXPECTED = {"a": "a", "b": "ab", "c": "ac", "d": "abd", "e": "ace", "f": "abdacef"}


def a_graph(kind: str, config: dict[str, Any], echo: str) -> dict[str, Any]:
    """Six steps with two parallel branches. `echo` is the path of the text in an output."""
    steps = []
    for key, needs in _GRAPH.items():
        text = "".join(f"${{steps.{need}.output.{echo}}}" for need in needs) + key
        filled = {name: _fill(value, text) for name, value in config.items()}
        steps.append({"key": key, "kind": kind, "depends_on": list(needs), "config": filled})
    return {"name": f"six-{kind}", "steps": steps}


def _fill(value: Any, text: str) -> Any:
    if isinstance(value, list):
        return [_fill(each, text) for each in value]
    if isinstance(value, dict):
        return {name: _fill(each, text) for name, each in value.items()}
    return text if value == "ECHO" else value


async def test_killed_nodes_repeat_no_completed_step_and_lose_none(file_stack: Stack) -> None:
    rng = make_random()
    nodes = [start(file_stack), start(file_stack)]
    spec = parse_workflow(a_graph("selftest", {"do": "sleep", "seconds": 0.05, "record": True, "echo": "ECHO"}, "echo"))
    made: list[str] = []
    async with client_of(file_stack.url, file_stack.folder) as client:
        killed: Counter[str] = Counter()
        while killed.total() < KILLS:
            live = (await client.app.store.runs.count_live())["running"]
            for _ in range(max(0, _LIVE - live)):
                created, _ = await client.app.workflows.create(spec)
                made.append(created.id)
            await asyncio.sleep(rng.uniform(0.05, 0.3))
            what = rng.choices(["worker", "node", "installation"], weights=[8, 3, 1])[0]
            killed[what] += await asyncio.to_thread(kill, what, nodes, file_stack, rng.random())
        ended = await _wait_for_all(client, made)
    outputs = [{step.spec.key: step.output["echo"] for step in now.steps} for now in ended]
    _check(file_stack.url, ended, outputs)
    report(
        f"killed {dict(killed)} under {len(ended)} workflows of six steps: no step repeated, none lost (seed {SEED})"
    )


async def _wait_for_all(client: Client, made: list[str]) -> list[WorkflowNow]:
    async with asyncio.timeout(by_level(90, 900)):
        for workflow_id in made:
            while not (await client.app.workflows.get(workflow_id)).is_over:  # noqa: ASYNC110 - nodes are processes
                await asyncio.sleep(0.05)
    return [await client.app.workflows.get(workflow_id) for workflow_id in made]


def _check(url: str, ended: list[WorkflowNow], outputs: list[dict[str, str]]) -> None:
    assert {now.status for now in ended} == {"completed"}
    assert all(each == EXPECTED for each in outputs), "the outputs are those of an unbroken run"
    assert check(url, [now.id for now in ended]) == []
    assert {step.runs for now in ended for step in now.steps} == {1}, "each step has had one run"
    histories: dict[str, list[str]] = {}
    for run_id, kind in query(url, "SELECT run_id, kind FROM events ORDER BY run_id, seq"):
        histories.setdefault(run_id, []).append(kind)
    for now in ended:
        for step in now.steps:
            kinds = histories[str(step.run_id)]
            assert kinds.count(EventKind.COMPLETED) == 1
            assert EventKind.STARTED not in kinds[kinds.index(EventKind.COMPLETED) :]


@pytest.mark.long
def test_a_killed_fleet_repeats_no_completed_step_and_loses_none(
    tmp_path: Path, postgres: PostgresCluster, redis_server: RedisServer
) -> None:
    """The same on PostgreSQL and Celery, over HTTP."""
    url, rng = postgres.create_database(), make_random()
    made: list[str] = []
    killed: Counter[str] = Counter()
    with fleet(tmp_path, url, redis_server.url(9)) as running, demo_site() as site:
        fields = [{"name": "echo", "const": "ECHO"}]
        config = {"url": f"{site}/slow?seconds=0.1", "fields": fields, "respect_robots": False}
        body = {"definition": a_graph("page", config, "record.echo")}
        for _ in range(2):
            until_works(running.start_worker("--concurrency", "10", "--beat"))
        with httpx.Client(base_url=running.url, timeout=30) as client:
            while killed.total() < FLEET_KILLS:
                live = len(client.get("/workflows?status=running&limit=200").json())
                made += [client.post("/workflows", json=body).json()["id"] for _ in range(max(0, _LIVE - live))]
                time.sleep(rng.uniform(0.1, 0.6))
                what = rng.choices(["child", "worker", "fleet"], weights=[8, 3, 1])[0]
                killed[what] += hurt_fleet(running, what, rng.random())
            deadline = time.monotonic() + by_level(120, 900)
            while client.get("/workflows?status=running&limit=1").json():
                assert time.monotonic() < deadline
                time.sleep(0.2)
    ended = asyncio.run(_read_all(url, made))
    outputs = [{step.spec.key: step.output["record"]["echo"] for step in now.steps} for now in ended]
    _check(url, ended, outputs)
    report(f"fleet: killed {dict(killed)} under {len(ended)} workflows: no step repeated, none lost (seed {SEED})")


async def _read_all(url: str, made: list[str]) -> list[WorkflowNow]:
    store = open_store(url)
    try:
        return [await store.workflows.get(workflow_id) for workflow_id in made]
    finally:
        await store.close()
