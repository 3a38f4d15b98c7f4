"""Steps that wait until the queue of scraper tasks has no work left."""

from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.runs.payload.steps import DrainPayload
from corral.domain.runs.run import DRAIN
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, output_value


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:  # noqa: ARG001 - the signature of a kind
    registry = context.setup.get("registry")
    if registry is None:
        raise BadInput("there was no scraper configuration when the workflow was created", field="registry")
    return ChildDraft(DRAIN, DrainPayload(registry, context.timeout_s))


DRAIN_STEP = StepKind("drain", "wait until the queue of scraper tasks is empty", _make_child, output_value)
