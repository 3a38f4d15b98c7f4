"""Steps that fetch one page and extract fields from it."""

from collections.abc import Mapping
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.parse import check_unique, parse_fields
from corral.domain.jobs.job import Strategy
from corral.domain.net.url import parse_target
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.run import PAGE
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, has_reference, output_records

_STRATEGIES = ("http", "browser")


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    url = str(config["url"])
    parse_target(url, field="url")
    fields = parse_fields(config["fields"])
    check_unique(fields, field="fields")
    payload = PagePayload(
        url=url,
        fields=fields,
        respect_robots=bool(config.get("respect_robots", True)),
        timeout_s=context.timeout_s,
        trusted_hosts=context.trusted_hosts,
    )
    return ChildDraft(PAGE, payload, Strategy(config.get("strategy", "http")))


def _check(config: Mapping[str, Any]) -> list[str]:
    problems = []
    if config.get("strategy", "http") not in _STRATEGIES:
        problems.append("strategy is http or browser")
    for name, parse in (("url", _parse_url), ("fields", parse_fields)):
        if not has_reference(config[name]):
            try:
                parse(config[name])
            except BadInput as error:
                problems.append(f"{name}: {error.message}")
    return problems


def _parse_url(url: Any) -> None:
    parse_target(str(url), field="url")


PAGE_STEP = StepKind(
    "page",
    "fetch one page and extract fields",
    _make_child,
    output_records,
    required=("url", "fields"),
    options=("strategy", "respect_robots"),
    check=_check,
)
