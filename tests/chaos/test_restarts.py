"""A long queue survives a crash in order, and the restart is quick."""

import asyncio
import time

from corral.domain.jobs.job import Priority
from corral.domain.runs.event import EventKind
from corral.domain.runs.run import NewRun
from tests.chaos.client import Client, client_of
from tests.chaos.history import check
from tests.chaos.level import by_level
from tests.chaos.report import report
from tests.chaos.stack import Stack
from tests.engine.builders import drill, states
from tests.slack import SLACK
from tests.waiting import until

QUEUED = by_level(4_000, 100_000)


async def test_a_long_queue_survives_a_crash_in_order(file_stack: Stack) -> None:
    stack = file_stack
    async with client_of(stack.url, stack.folder) as client:
        bands = [Priority.LOW, Priority.HIGH, Priority.MEDIUM]
        runs = [drill(priority=bands[number % 3]) for number in range(QUEUED)]
        for start in range(0, QUEUED, 1000):
            await client.submit(*runs[start : start + 1000])
        first = stack.node(workers=1, runs_per_process=20)
        await until(lambda: is_well_begun(client), within_s=60)
        await asyncio.to_thread(first.kill)
        before = await client.events()
        second = stack.node(workers=2, runs_per_process=50)
        spawned = time.time()
        ready = await asyncio.to_thread(second.wait_for_message, "ready")
        began, ready_s = float(ready["began_at"]), float(ready["took_s"])
        await client.wait_until_drained(by_level(100, 1000))
        after = (await client.events())[len(before) :]
        first_claim = min(event.created_at.timestamp() for event in after if event.kind is EventKind.STARTED)
        report(
            f"{QUEUED} queued, killed: after {began - spawned:.2f} s of imports ready in {ready_s:.2f} s, "
            f"first claim in {first_claim - began:.2f} s"
        )
        assert ready_s < 10 * SLACK
        assert check(stack.url, client.answered) == []
        assert in_order(runs, [event.run_id for event in before + after if is_first_start(event.meta, event.kind)])
        done = {event.run_id for event in before if event.kind is EventKind.COMPLETED}
        again = {event.run_id for event in after if event.kind is EventKind.STARTED}
        assert not done & again, "what was done is not done again"
        assert states(await client.runs()) == {"completed": QUEUED}


async def is_well_begun(client: Client) -> bool:
    return (await client.app.store.runs.count_live())["queued"] < QUEUED * 0.9


def is_first_start(meta: dict[str, object], kind: EventKind) -> bool:
    return kind is EventKind.STARTED and meta["epoch"] == 1


def in_order(runs: list[NewRun], order: list[str]) -> bool:
    return order == [run.id for run in sorted(runs, key=lambda run: (run.priority, run.id))]
