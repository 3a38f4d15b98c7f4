"""Runs that wait until the queue of scraper tasks has no work left. Nodes execute the tasks meanwhile.

Without a node, the command that executes the workflow does so (`engine.node.sources.WorkflowSource`).
"""

import asyncio
import time

from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.runs.outcome import Fetched, Outcome
from corral.domain.runs.payload.steps import DrainPayload
from corral.domain.runs.run import DRAIN
from corral.engine.worker.kinds.spec import KindSpec

_EVERY_S = 0.5


class DrainKind:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        registry = task.payload.read(DrainPayload).registry
        began = time.monotonic()
        while await frontier.call("has_queue_work", {"registry": registry}):  # noqa: ASYNC110 - other processes work
            await asyncio.sleep(_EVERY_S)
        waited_s = round(time.monotonic() - began, 3)
        return Fetched({"waited_s": waited_s}, ({"waited_s": waited_s},))


DRAIN_KIND = KindSpec(DRAIN, DrainPayload, lambda _: DrainKind())
