"""Build an image dataset, step by step."""

from collections.abc import Mapping
from typing import Any

from corral.domain.datasets.config import parse_config
from corral.domain.datasets.steps import ALL_STEPS
from corral.domain.errors import BadConfiguration
from corral.domain.workflows.spec import InvalidWorkflow
from corral.domain.workflows.templates.spec import Parameter, WorkflowTemplate


def _build(parameters: Mapping[str, Any]) -> dict[str, Any]:
    try:
        parse_config(parameters["config"], "config")
    except BadConfiguration as error:  # reported once instead of once per step
        raise InvalidWorkflow(list(error.problems)) from None
    steps: list[dict[str, Any]] = []
    for step in ALL_STEPS:
        steps.append(
            {
                "key": step.value,
                "name": step.value.replace("_", " ").capitalize(),
                "kind": "dataset",
                "depends_on": [steps[-1]["key"]] if steps else [],
                "config": {"dataset": parameters["config"], "step": step.value},
            }
        )
    return {"name": "dataset-build", "steps": steps}


DATASET_BUILD = WorkflowTemplate(
    "dataset-build",
    "build an image dataset: discover, download, validate, deduplicate, label, export, report, clean up",
    (Parameter("config", "object", "the configuration of the dataset", is_required=True),),
    _build,
)
