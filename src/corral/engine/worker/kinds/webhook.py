"""Runs that send a JSON document to a URL."""

from corral.domain.ports.execution import Executor, FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Outcome
from corral.domain.runs.payload.steps import WebhookPayload
from corral.domain.runs.run import WEBHOOK
from corral.engine.worker.kinds.spec import KindSpec


class WebhookKind:
    def __init__(self, sender: Executor | None) -> None:
        self._sender = sender

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:  # noqa: ARG002 - a webhook has no items
        if self._sender is None:
            return Failed(FailureCode.POLICY, "this process cannot send requests", "kind")
        return await self._sender.execute(task)


WEBHOOK_KIND = KindSpec(WEBHOOK, WebhookPayload, lambda parts: WebhookKind(parts.webhooks))
