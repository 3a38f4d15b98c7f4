"""Runs that compare expected keys with inventories, and queue tasks for the gaps."""

from corral.domain.ports.execution import FrontierClient, Reconciler, Task
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.domain.runs.run import RECONCILE
from corral.engine.worker.kinds.spec import KindSpec


class ReconcileKind:
    def __init__(self, reconciler: Reconciler | None) -> None:
        self._reconciler = reconciler

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        if self._reconciler is None:
            return Failed(FailureCode.POLICY, "this process cannot reconcile", "kind")
        return await self._reconciler.execute(task, frontier.call, frontier.notify)


RECONCILE_KIND = KindSpec(RECONCILE, ReconcilePayload, lambda parts: ReconcileKind(parts.reconciler))
