"""Steps that write the records of runs to a file below the folder of exports."""

from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.runs.payload.steps import ExportPayload
from corral.domain.runs.run import EXPORT
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, has_reference, output_value

_FORMATS = ("json", "jsonl", "csv", "parquet", "xlsx")


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    run_ids = config["run_ids"] if "run_ids" in config else [config.get("run_id")]
    if not isinstance(run_ids, list) or not all(isinstance(each, str) for each in run_ids):
        raise BadInput("run_id is the id of a run, and run_ids a list of them", field="run_id")
    output = _check_path(config["output"])
    return ChildDraft(EXPORT, ExportPayload(tuple(run_ids), output, find_format(config, output), context.timeout_s))


def find_format(config: Mapping[str, Any], output: str) -> str:
    """Return the format that the configuration names, or else the suffix of the file name."""
    name = config.get("format") or output.rpartition(".")[2].lower()
    if name not in _FORMATS:
        raise BadInput(f"{str(name)[:40]!r} is no format; the formats are {', '.join(_FORMATS)}", field="format")
    return str(name)


def _check_path(path: Any) -> str:
    parts = str(path).split("/")
    if not path or str(path).startswith(("/", "~")) or ".." in parts or "\0" in str(path) or len(str(path)) > 500:
        raise BadInput("output is a path below the folder of exports, without ..", field="output")
    return str(path)


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
