"""Find gaps, let the queue fill them, and check what is still missing."""

from collections.abc import Mapping
from typing import Any

from corral.domain.workflows.templates.spec import Parameter, WorkflowTemplate


def _build(parameters: Mapping[str, Any]) -> dict[str, Any]:
    sources = {"sources": parameters["sources"]} if parameters["sources"] else {}
    return {
        "name": "reconcile-and-fill",
        "steps": [
            {"key": "reconcile", "name": "Find gaps", "kind": "reconcile", "config": {**sources, "import": True}},
            {
                "key": "fill",
                "name": "Wait for the queue",
                "kind": "drain",
                "depends_on": ["reconcile"],
                "when": "${steps.reconcile.output.tasks} > 0",
            },
            {
                "key": "check",
                "name": "Look for what is still missing",
                "kind": "reconcile",
                "depends_on": ["fill"],
                "config": {**sources, "import": False},
            },
        ],
    }


RECONCILE_AND_FILL = WorkflowTemplate(
    "reconcile-and-fill",
    "find gaps, let the queue fill them, and check what is still missing",
    (Parameter("sources", "list", "the names of sources of the data inventory; all without it"),),
    _build,
)
