"""Steps of a dataset build: discover, download, validate, deduplicate, label, export, report, clean up."""

from collections.abc import Mapping
from typing import Any

from corral.domain.datasets.config import parse_config
from corral.domain.datasets.payload import DatasetPayload
from corral.domain.datasets.steps import DatasetStep
from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.runs.run import DATASET
from corral.domain.workflows.kinds.spec import ChildDraft, EndedChild, StepContext, StepKind, StepOutput, has_reference

_OUTPUT_KEYS = ("dataset", "folder", "states", "left_out")


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    is_typed = bool(context.setup.get("is_typed"))
    # The references are resolved: anything that still looks like one is text that a step has found.
    problems = _check_resolved(config, is_typed=is_typed)
    if problems:
        raise BadInput("; ".join(problems), field="dataset")
    # A definition sent over HTTP may only write below the folder of exports.
    root = context.setup.get("cwd") if is_typed else context.setup.get("exports")
    payload = DatasetPayload(
        dict(config["dataset"]),
        str(root or "."),
        (str(config["step"]),),
        context.trusted_hosts,
        is_typed,
        **({} if context.timeout_s is None else {"timeout_s": context.timeout_s}),
    )
    return ChildDraft(DATASET, payload, is_retried=False)


def _make_output(ended: EndedChild) -> StepOutput:
    """Return the result of the step, with the counts of the build so far."""
    stats = ended.stats
    results = stats.get("steps") or {}
    value = {"run_id": ended.run_id, **{name: stats[name] for name in _OUTPUT_KEYS if name in stats}}
    for result in results.values():
        value |= {name: each for name, each in result.items() if name != "seconds"}
    left_out = ", ".join(f"{reason} ({count})" for reason, count in sorted((stats.get("left_out") or {}).items()))
    return StepOutput(value, f"images were left out: {left_out}" if left_out else None)


def check_dataset(config: Mapping[str, Any], *, is_typed: bool = True) -> list[str]:
    """Return the problems of the options of a step. A definition sent over HTTP may not read files or execute code."""
    if has_reference(config.get("dataset")) or has_reference(config.get("step")):
        return []
    return _check_resolved(config, is_typed=is_typed)


def _check_resolved(config: Mapping[str, Any], *, is_typed: bool) -> list[str]:
    problems: list[str] = []
    if config["step"] not in set(DatasetStep):
        problems.append(f"step is {config['step']!r}; the steps are {', '.join(DatasetStep)}")
    try:
        parsed = parse_config(config["dataset"], "dataset")
    except BadConfiguration as error:
        return [*problems, *error.problems]
    if is_typed:
        return problems
    folder = parsed.options.output_dir
    if folder.startswith(("/", "~")) or ".." in folder.split("/"):
        problems.append("dataset: options.output_dir is a path below the folder of exports, without ..")
    for index, source in enumerate(parsed.sources):
        if source.executes_code or source.file:
            problems.append(
                f"dataset: sources[{index}] reads a file or executes code, which is not available over HTTP"
            )
    return problems


def dataset_urls(config: Mapping[str, Any]) -> list[str]:
    """Return the URLs that a person wrote into the configuration."""
    document = config.get("dataset")
    sources = document.get("sources") if isinstance(document, Mapping) else None
    urls: list[str] = []
    for source in sources if isinstance(sources, list) else []:
        value = source.get("urls") or source.get("url") if isinstance(source, Mapping) else None
        urls += [value] if isinstance(value, str) else [each for each in value or () if isinstance(each, str)]
    return [url.replace("{keyword}", "x").replace("{page}", "1") for url in urls]


DATASET_STEP = StepKind(
    "dataset",
    "execute one step of a dataset build",
    _make_child,
    _make_output,
    required=("dataset", "step"),
    check=check_dataset,
)
