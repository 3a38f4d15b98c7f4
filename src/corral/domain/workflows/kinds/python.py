"""Steps that call a Python function, `module:function`, in a process of their own.

They are runs of kind `script`: the keeper ends the function with everything it started, and the limits are the same.
"""

import re
from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.runs.payload.script import INPUT_FILE, PYTHON, ScriptPayload
from corral.domain.runs.run import SCRIPT
from corral.domain.scripts.records import RecordsFrom, RecordSource
from corral.domain.workflows.kinds.spec import (
    ChildDraft,
    EndedChild,
    StepContext,
    StepKind,
    StepOutput,
    output_value,
    reads_all,
)

_FUNCTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MAX_S = 6 * 3600.0
_RUNNER = "corral.runtime.python_step"


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    function = str(config["function"])
    if _FUNCTION.fullmatch(function) is None:
        raise BadInput(f"{function[:80]!r} is not written as module:function", field="function")
    payload = ScriptPayload(
        argv=(PYTHON, "-m", _RUNNER, function, INPUT_FILE),
        cwd=str(config.get("cwd") or context.setup.get("cwd") or "."),
        name=function,
        input={"inputs": dict(context.inputs), "args": config.get("args") or {}},
        records=RecordSource(RecordsFrom.NONE),
        uses_proxy=bool(config.get("uses_proxy", True)),
        timeout_s=context.timeout_s or _MAX_S,
        trusted_hosts=context.trusted_hosts,
    )
    return ChildDraft(SCRIPT, payload)


def _make_output(ended: EndedChild) -> StepOutput:
    """Return the result of the function. A process that exits with 0 but no result ended before the return."""
    output = output_value(ended)
    return output if ended.records else StepOutput(output.value, "the function ended its process before it returned")


def _check(config: Mapping[str, Any]) -> list[str]:
    problems = []
    if not isinstance(config["function"], str) or _FUNCTION.fullmatch(config["function"]) is None:
        problems.append(f"function {str(config['function'])[:80]!r} is not written as module:function")
    if not isinstance(config.get("args", {}), Mapping):
        problems.append("args is an object: the keyword arguments of the function")
    return problems


PYTHON_STEP = StepKind(
    "python",
    "call a Python function in a process of its own",
    _make_child,
    _make_output,
    required=("function",),
    options=("args", "cwd", "uses_proxy"),
    check=_check,
    reads_inputs=reads_all,
)
