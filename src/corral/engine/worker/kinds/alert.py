"""Runs that deliver an alert. The run id is the delivery id, so that receivers can recognize a retry."""

from corral.domain.ports.execution import AlertSender, FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.payload.alert import AlertPayload
from corral.domain.runs.run import ALERT
from corral.engine.worker.kinds.spec import KindSpec


class AlertKind:
    def __init__(self, sender: AlertSender | None) -> None:
        self._sender = sender

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:  # noqa: ARG002 - an alert has no items
        if self._sender is None:
            return Failed(FailureCode.POLICY, "this worker cannot send alerts", "alerts")
        return await self._sender.send(task)


ALERT_KIND = KindSpec(ALERT, AlertPayload, lambda parts: AlertKind(parts.alerts))
