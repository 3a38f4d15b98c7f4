"""Runs that execute a script of the user."""

from corral.domain.ports.execution import FrontierClient, ScriptRunner, Task
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.runs.queues import Lane
from corral.domain.runs.run import SCRIPT
from corral.engine.worker.kinds.spec import KindSpec


class ScriptKind:
    def __init__(self, scripts: ScriptRunner | None) -> None:
        self._scripts = scripts

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        if self._scripts is None or not task.payload.read(ScriptPayload).argv:
            return Failed(FailureCode.POLICY, "there is no script to execute", "script_missing")
        return await self._scripts.execute(task, frontier.notify)


SCRIPT_KIND = KindSpec(SCRIPT, ScriptPayload, lambda parts: ScriptKind(parts.scripts), lane=Lane.SCRIPT)
