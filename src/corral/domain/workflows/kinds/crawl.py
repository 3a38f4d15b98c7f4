"""Steps that crawl a site."""

from collections.abc import Mapping
from typing import Any

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.payload import crawl_payload, seeds_of
from corral.domain.errors import BadInput
from corral.domain.fields.parse import parse_fields
from corral.domain.jobs.job import Strategy
from corral.domain.net.url import parse_target
from corral.domain.runs.run import CRAWL
from corral.domain.workflows.kinds.spec import ChildDraft, StepContext, StepKind, has_reference, output_records

_ANY_TARGET = {"url": "http://example.com/"}


def _make_plan(config: Mapping[str, Any], timeout_s: float | None = None) -> CrawlPlan:
    options = {name: value for name, value in config.items() if name not in ("url", "urls")}
    urls = config["urls"] if "urls" in config else [config.get("url")]
    if "fields" in options:  # bare names or recipes, as in jobs
        options["fields"] = [spec.document() for spec in parse_fields(options["fields"])]
    if timeout_s is not None:
        options.setdefault("max_seconds", timeout_s)
    return CrawlPlan.of({**options, "start_urls": urls})


def _make_child(config: Mapping[str, Any], context: StepContext) -> ChildDraft:
    plan = _make_plan(config, context.timeout_s)
    for url in plan.start_urls:
        parse_target(url, field="url")
    about: dict[str, object] = {"workflow_id": context.workflow_id, "step": context.key}
    payload = crawl_payload(plan, context.trusted_hosts, about=about)
    strategy = Strategy.BROWSER if plan.strategy == Strategy.BROWSER else Strategy.HTTP
    return ChildDraft(CRAWL, payload, strategy, is_retried=False, seeds=tuple(seeds_of(plan)))


def _check(config: Mapping[str, Any]) -> list[str]:
    if ("url" in config) == ("urls" in config):
        return ["a crawl has either url or urls"]
    literal = {name: value for name, value in config.items() if not has_reference(value)}
    options = {name: value for name, value in literal.items() if name not in ("url", "urls")}
    targets = {name: value for name, value in literal.items() if name not in options} or _ANY_TARGET
    # Check each option alone, because a plan reports only its first problem; then all together.
    problems = [*_check_plan(targets)]
    problems += [problem for name, value in options.items() for problem in _check_plan({**_ANY_TARGET, name: value})]
    return problems or _check_plan({**targets, **options})


def _check_plan(config: Mapping[str, Any]) -> list[str]:
    try:
        _make_plan(config)
    except BadInput as error:
        return [f"{error.field}: {error.message}" if error.field else error.message]
    return []


CRAWL_STEP = StepKind("crawl", "crawl a site", _make_child, output_records, options=None, check=_check)
