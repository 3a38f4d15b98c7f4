"""Steps that execute a registered scraper."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from corral.domain.errors import BadInput
from corral.domain.runs.payload.script import payload_for
from corral.domain.runs.run import SCRIPT
from corral.domain.scripts.scraper import ScraperSpec
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, output_records


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    name = str(config["scraper"])
    document = context.setup.get("scrapers", {}).get(name)
    if document is None:
        raise BadInput(f"scraper {name!r} was not known when the workflow was created", field="scraper")
    payload = payload_for(msgspec.convert(document, ScraperSpec), config.get("params") or {})
    # The backoff of a step is that of the workflow.
    payload = replace(payload, retry_base_s=None, retry_cap_s=None, trusted_hosts=context.trusted_hosts)
    return ChildDraft(SCRIPT, payload if context.timeout_s is None else replace(payload, timeout_s=context.timeout_s))


def _check(config: Mapping[str, Any]) -> list[str]:
    problems = [] if isinstance(config["scraper"], str) else ["scraper is the name of a scraper"]
    if not isinstance(config.get("params", {}), Mapping):
        problems.append("params is an object")
    return problems


SCRIPT_STEP = StepKind(
    "script",
    "execute a registered scraper",
    _make_child,
    output_records,
    required=("scraper",),
    options=("params",),
    check=_check,
)
