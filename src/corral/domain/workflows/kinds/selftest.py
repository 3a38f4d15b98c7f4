"""Steps that only exercise a worker, for testing recovery and for measurements."""

from collections.abc import Mapping
from typing import Any

from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.run import SELFTEST
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, output_value


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:  # noqa: ARG001 - the signature of a kind
    return ChildDraft(SELFTEST, SelftestPayload.parse(config))


SELFTEST_STEP = StepKind(
    "selftest", "exercise a worker", _make_child, output_value, options=("do", "seconds", "signal", "record", "echo")
)
