"""Steps that send a JSON document to a URL."""

from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target
from corral.domain.runs.payload.steps import WebhookPayload
from corral.domain.runs.run import WEBHOOK
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, has_reference, output_value

_DEFAULT_S = 30.0


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    url = str(config["url"])
    parse_target(url, field="url")
    payload = WebhookPayload(
        url=url,
        trusted_hosts=context.trusted_hosts,
        timeout_s=context.timeout_s or _DEFAULT_S,
        body=config.get("body", {"workflow_id": context.workflow_id, "step": context.key, "inputs": context.inputs}),
        headers={str(name): str(value) for name, value in (config.get("headers") or {}).items()},
    )
    return ChildDraft(WEBHOOK, payload)


def _check(config: Mapping[str, Any]) -> list[str]:
    headers = config.get("headers", {})
    is_flat = isinstance(headers, Mapping) and all(isinstance(value, str) for value in headers.values())
    problems = [] if is_flat else ["headers is an object of texts"]
    if not has_reference(config["url"]):
        try:
            parse_target(str(config["url"]), field="url")
        except BadInput as error:
            problems.append(f"url: {error.message}")
    return problems


WEBHOOK_STEP = StepKind(
    "webhook",
    "send a JSON document to a URL",
    _make_child,
    output_value,
    required=("url",),
    options=("body", "headers"),
    check=_check,
    reads_inputs=lambda config: "body" not in config,
)
