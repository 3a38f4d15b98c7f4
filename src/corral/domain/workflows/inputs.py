"""The inputs that a step receives from the steps it depends on, within limits of size."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import orjson

from corral.domain.workflows.kinds.registry import STEP_KINDS
from corral.domain.workflows.references import parse_reference
from corral.domain.workflows.spec import MAX_FAN_OUT_BYTES, MAX_INPUT_BYTES, StepSpec


class StepResult(NamedTuple):
    """The parts of a step that references can name."""

    status: str
    output: Any = None
    run_id: str | None = None


ReadResult = Callable[[str], StepResult]


def read_inputs(step: StepSpec, read: ReadResult) -> dict[str, Any]:
    """Return the outputs of the steps that a step depends on, by key; raise ValueError if they are too large."""
    if not STEP_KINDS[step.kind].reads_inputs(step.config):
        return {}
    inputs = {key: _drop_some_records(read(key).output) for key in step.depends_on}
    size = size_of(inputs)
    if size > MAX_INPUT_BYTES:
        raise ValueError(
            f"the outputs it depends on have {size:,} bytes together, more than {MAX_INPUT_BYTES:,};"
            " let them be records or files, and pass the run or the path on"
        )
    return inputs


def _drop_some_records(output: Any) -> Any:
    """Return the output without `records` if they are only the first ones: a function would take them for all."""
    if isinstance(output, Mapping) and output.get("is_truncated"):
        return {name: value for name, value in output.items() if name != "records"}
    return output


def size_of(value: Any) -> int:
    try:
        return len(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except TypeError:  # nested too deeply once it is part of another document
        return MAX_FAN_OUT_BYTES + 1


def drop_list(step: StepSpec, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs without the list of the for_each: each child has its own value of it."""
    reference = parse_reference(str(step.for_each)[2:-1])
    path = list(takewhile(lambda part: part != "*" and not part.isdigit(), reference.path[2:]))
    if reference.step not in inputs or not path:
        return inputs
    return {**inputs, reference.step: _without(inputs[reference.step], path)}


def _without(value: Any, path: Sequence[str]) -> Any:
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    rest = {name: each for name, each in value.items() if name != path[0]}
    return rest if len(path) == 1 else {**rest, path[0]: _without(value[path[0]], path[1:])}
