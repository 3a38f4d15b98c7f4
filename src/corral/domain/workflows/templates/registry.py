"""The templates. To add one, write its module in this package and list its `WorkflowTemplate` here."""

from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.workflows.templates.crawl_then_export import CRAWL_THEN_EXPORT
from corral.domain.workflows.templates.dataset_build import DATASET_BUILD
from corral.domain.workflows.templates.many_sites import MANY_SITES
from corral.domain.workflows.templates.reconcile_and_fill import RECONCILE_AND_FILL
from corral.domain.workflows.templates.spec import WorkflowTemplate

_ALL: tuple[WorkflowTemplate, ...] = (
    CRAWL_THEN_EXPORT,
    MANY_SITES,
    DATASET_BUILD,
    RECONCILE_AND_FILL,
)
TEMPLATES: dict[str, WorkflowTemplate] = {template.name: template for template in _ALL}


def fill_template(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of a template with these parameters."""
    template = TEMPLATES.get(name)
    if template is None:
        hint = f"the templates are {', '.join(sorted(TEMPLATES))}"
        raise BadInput(f"there is no template {name[:80]!r}", field="template", hint=hint)
    return template.fill(parameters)
