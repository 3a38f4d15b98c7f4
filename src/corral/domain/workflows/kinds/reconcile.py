"""Steps that compare what should exist with what exists, and queue tasks for the gaps."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.runs.payload.reconcile import ReconcilePayload
from corral.domain.runs.run import RECONCILE
from corral.domain.workflows.kinds.spec import (
    ChildDraft,
    EndedChild,
    StepContext,
    StepKind,
    StepOutput,
)


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    inventory = context.setup.get("reconcile")
    if inventory is None:
        raise BadInput("there was no data inventory when the workflow was created", field="inventory")
    payload = ReconcilePayload.parse(inventory)
    payload = replace(payload, sources=tuple(config.get("sources") or ()))
    if not config.get("import", True):
        payload = replace(payload, registry=None)
    return ChildDraft(
        RECONCILE, payload if context.timeout_s is None else replace(payload, timeout_s=context.timeout_s)
    )


def _make_output(ended: EndedChild) -> StepOutput:
    return StepOutput(
        {"run_id": ended.run_id, **{name: value for name, value in ended.stats.items() if name != "output"}}
    )


def _check(config: Mapping[str, Any]) -> list[str]:
    problems = [] if isinstance(config.get("sources", []), list) else ["sources is a list of names"]
    return problems + ([] if isinstance(config.get("import", True), bool) else ["import is true or false"])


RECONCILE_STEP = StepKind(
    "reconcile",
    "find gaps and queue tasks for them",
    _make_child,
    _make_output,
    options=("sources", "import"),
    check=_check,
)
