"""Steps that write the records of runs to a file below the folder of exports."""

from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.runs.payload.steps import ExportPayload
from corral.domain.runs.run import EXPORT
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, has_reference, output_value

_FORMATS = ("json", "jsonl", "csv", "parquet", "xlsx")


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    given = config["run_ids"] if "run_ids" in config else [config.get("run_id")]
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise BadInput("run_id is the id of a run, and run_ids a list of them", field="run_id")
    output = _check_path(config["output"])
    return ChildDraft(EXPORT, ExportPayload(tuple(given), output, find_format(config, output), context.timeout_s))


def find_format(config: Mapping[str, Any], output: str) -> str:
    """The format that the configuration names, or the end of the file name."""
    found = config.get("format") or output.rpartition(".")[2].lower()
    if found not in _FORMATS:
        raise BadInput(f"{str(found)[:40]!r} is no format; the formats are {', '.join(_FORMATS)}", field="format")
    return str(found)


def _check_path(given: Any) -> str:
    parts = str(given).split("/")
    if not given or str(given).startswith(("/", "~")) or ".." in parts or "\0" in str(given) or len(str(given)) > 500:
        raise BadInput("output is a path below the folder of exports, without ..", field="output")
    return str(given)


def _check(config: Mapping[str, Any]) -> list[str]:
    if ("run_id" in config) == ("run_ids" in config):
        return ["an export has either run_id or run_ids"]
    if has_reference(config["output"]) or has_reference(config.get("format")):
        return []
    try:
        find_format(config, _check_path(config["output"]))
    except BadInput as error:
        return [error.message]
    return []


EXPORT_STEP = StepKind(
    "export",
    "write the records of runs to a file",
    _make_child,
    output_value,
    required=("output",),
    options=("run_id", "run_ids", "format"),
    check=_check,
)
