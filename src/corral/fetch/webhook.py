"""Send a JSON document to a URL, through the egress."""

from typing import Any

import orjson

from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.steps import WebhookPayload
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest

_MAX_ANSWER_BYTES = 64 * 1024


class WebhookSender:
    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    async def execute(self, task: Task) -> Outcome:
        payload = task.payload.read(WebhookPayload)
        headers = {"content-type": "application/json", "idempotency-key": task.run_id, **payload.headers}
        body = orjson.dumps(payload.body, option=orjson.OPT_NON_STR_KEYS)
        request = FetchRequest(
            payload.url, task.timeout_s, headers, body, max_redirects=0, max_bytes=_MAX_ANSWER_BYTES, truncate=True
        )
        answer = await self._egress.fetch(request, FetchContext(trusted_hosts=payload.trusted))
        if isinstance(answer, Failed | Deferred):
            return answer
        stats = {"http_status": answer.status, "sent_bytes": len(body)}
        if answer.status >= 300:
            code = FailureCode.RATE_LIMITED if answer.status == 429 else FailureCode.BAD_RESPONSE
            message = f"the webhook answered {answer.status}"
            return Failed(code, message, f"http_{answer.status}", http_status=answer.status, stats=stats)
        return Fetched(stats, ({"status": answer.status, "body": _read_body(answer.body)},))


def _read_body(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
