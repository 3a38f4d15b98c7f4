"""Restrict what a definition may contain, depending on its source."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.url import parse_target
from corral.domain.workflows.kinds.dataset import check_dataset, dataset_urls
from corral.domain.workflows.kinds.spec import has_reference
from corral.domain.workflows.spec import LOCAL_STEP, InvalidWorkflow, StepSpec, WorkflowSpec


@dataclass(frozen=True, slots=True)
class DefinitionSource:
    """The source of a definition. One that came `over_http` may only name code that the settings allow."""

    over_http: bool = False
    has_handlers: bool = False  # it comes from a Python program that executes local steps itself
    modules: tuple[str, ...] = ()  # modules whose functions `python` steps of a definition over HTTP may call
    trusted_hosts: tuple[str, ...] = ()


OVER_HTTP_NOT = frozenset({"selftest"})


def check_source(spec: WorkflowSpec, source: DefinitionSource, policy: EgressPolicy) -> None:
    """Raise InvalidWorkflow with every step that this source may not use."""
    problems: list[str] = []
    for step in spec.steps:
        if step.kind == LOCAL_STEP and not source.has_handlers:
            problems.append(f"{step.name}: kind local is for `corral.workflows` in Python; use kind python instead")
        if source.over_http:
            problems += [f"{step.name}: {problem}" for problem in _check_step(step, source, policy)]
    if problems:
        raise InvalidWorkflow(problems)


def _check_step(step: StepSpec, source: DefinitionSource, policy: EgressPolicy) -> Iterator[str]:
    if step.kind in OVER_HTTP_NOT:
        yield f"kind {step.kind} is not available over HTTP"
    if step.kind == "python":
        module = str(step.config.get("function", "")).partition(":")[0]
        if not any(module == each or module.startswith(f"{each}.") for each in source.modules):
            yield f"module {module!r} is not listed in APP_WORKFLOW_MODULES"
    if step.kind == "dataset":
        yield from check_dataset(step.config, is_typed=False)
    for url in literal_urls(step):
        try:
            check_literal(parse_target(url, field="url"), policy, field="url", trusted_hosts=frozenset())
        except BadInput as error:
            yield f"url: {error.message}"


def literal_urls(step: StepSpec) -> list[str]:
    """Return the URLs in a configuration that are known before references are resolved."""
    values: list[Any] = [step.config.get("url")]
    urls = step.config.get("urls")
    values += urls if isinstance(urls, list) else []
    values += dataset_urls(step.config) if step.kind == "dataset" else []
    return [each for each in values if isinstance(each, str) and not has_reference(each)]


def find_trusted_hosts(spec: WorkflowSpec) -> tuple[str, ...]:
    """Return the hosts that a person wrote into a definition, without those that steps find later."""
    hosts: dict[str, None] = {}
    for step in spec.steps:
        for url in literal_urls(step):
            try:
                hosts[parse_target(url, field="url").host] = None
            except BadInput:
                continue
    return tuple(hosts)
