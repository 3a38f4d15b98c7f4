"""A kill under a long queue: what was lost comes first again, and the others go on at the same rate."""

import asyncio
import os
import signal
import time

from corral.domain.runs.event import Event, EventKind
from tests.chaos.claim_order import read_claim_order
from tests.chaos.client import client_of
from tests.chaos.history import check
from tests.chaos.level import by_level
from tests.chaos.report import report
from tests.chaos.stack import Stack, wait_for
from tests.engine.builders import drill
from tests.slack import SLACK

BACKLOG = by_level(600, 10_000)
RUN_S = 0.1


async def test_a_backlog_does_not_delay_what_a_killed_worker_or_node_left(one_stack: Stack) -> None:
    nodes = [one_stack.node(workers=2, runs_per_process=5) for _ in range(2)]
    for node in nodes:
        node.wait_for_message("ready")
    await asyncio.to_thread(wait_for, lambda: all(len(node.worker_pids) == 2 for node in nodes))
    async with client_of(one_stack.url, one_stack.folder) as client:
        for _ in range(BACKLOG // 200):
            await client.submit(*[drill("sleep", seconds=RUN_S, record=True) for _ in range(200)])
        await asyncio.sleep(by_level(1, 10))
        os.kill(nodes[0].worker_pids[0], signal.SIGKILL)
        worker_killed = time.time()
        await asyncio.sleep(by_level(2, 15))
        nodes[1].kill()
        node_killed = time.time()
        await client.wait_until_drained(by_level(90, 900))
        events = await client.events()
    assert check(one_stack.url, client.answered) == []
    order = read_claim_order(one_stack.url)
    assert order.violations == []
    assert order.overtaken == []
    of_worker = reclaims(events, worker_killed, node_killed)
    of_node = reclaims(events, node_killed, float("inf"))
    assert of_worker
    assert of_node
    assert max(of_worker) <= 3 * SLACK
    assert max(of_node) <= 13 * SLACK
    span_s = by_level(1, 10)
    before, after = (rate(events, at, span_s) for at in (worker_killed - span_s, worker_killed + by_level(1, 5)))
    report(
        f"backlog of {BACKLOG}: lost with a worker and claimed again after at most {max(of_worker):.2f} s, with a node "
        f"after {max(of_node):.1f} s; {before:.0f} runs/s before the worker was killed, {after:.0f} afterwards; "
        f"{order.describe()}"
    )


def reclaims(events: list[Event], since: float, until: float) -> list[float]:
    """From the kill to the next start of each run that was interrupted by it."""
    lost: set[str] = set()
    found = []
    for event in events:
        at = event.created_at.timestamp()
        if event.kind is EventKind.INTERRUPTED and since <= at < until:
            lost.add(event.run_id)
        elif event.kind is EventKind.STARTED and event.run_id in lost:
            lost.remove(event.run_id)
            found.append(at - since)
    return found


def rate(events: list[Event], since: float, span_s: float) -> float:
    """Completed runs per second in this span."""
    ends = [event.created_at.timestamp() for event in events if event.kind is EventKind.COMPLETED]
    return sum(since <= at < since + span_s for at in ends) / span_s
