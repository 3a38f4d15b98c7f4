"""Steps of the Python interface whose handler is a coroutine of the calling process."""

from collections.abc import Mapping
from typing import Any

from corral.domain.runs.payload.steps import LocalStepPayload
from corral.domain.runs.run import LOCAL
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, output_value, reads_all


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    handler = str(config["handler"])
    return ChildDraft(
        LOCAL, LocalStepPayload(context.workflow_id, context.key, handler, dict(context.inputs), context.timeout_s)
    )


LOCAL_STEP_KIND = StepKind(
    "local",
    "a coroutine of the process that executes the workflow",
    _make_child,
    output_value,
    required=("handler",),
    reads_inputs=reads_all,
)
