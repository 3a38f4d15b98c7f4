"""Read the step inputs of a workflow that are in files of this installation."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from corral.domain.errors import BadInput, ScraperNotFound, ScriptNotRunnable
from corral.domain.workflows.kinds.spec import has_reference
from corral.domain.workflows.spec import InvalidWorkflow, WorkflowSpec
from corral.settings import Settings


async def prepare_workflow(settings: Settings, spec: WorkflowSpec) -> dict[str, Any]:
    """Read scrapers and the data inventory once, so that a later change of a file does not change the workflow."""
    return await asyncio.to_thread(_prepare, settings, spec)


def _prepare(settings: Settings, spec: WorkflowSpec) -> dict[str, Any]:
    from corral.wiring.scrapers import registry_key  # noqa: PLC0415 - most workflows do without it

    kinds = {step.kind for step in spec.steps}
    setup: dict[str, Any] = {"cwd": str(Path.cwd())} if kinds & {"python", "dataset"} else {}
    problems: list[str] = []
    if "dataset" in kinds:
        setup["exports"] = str((settings.data_dir / "exports").absolute())
    if "script" in kinds:
        setup["scrapers"] = _find_scrapers(settings, spec, problems)
    if "reconcile" in kinds:
        setup["reconcile"] = _read_inventory(settings, spec, problems)
    if "drain" in kinds:
        setup["registry"] = registry_key(settings.scraper_config)
    if problems:
        raise InvalidWorkflow(problems)
    return setup


def _read_inventory(settings: Settings, spec: WorkflowSpec, problems: list[str]) -> dict[str, Any]:
    from corral.wiring.coverage import choose_sources, load_inventory, make_payload  # noqa: PLC0415

    payload = make_payload(settings, [], is_imported=True)
    sources = load_inventory(settings.data_inventory)
    for step in spec.steps:
        names = step.config.get("sources")
        if step.kind == "reconcile" and isinstance(names, list) and not has_reference(names):
            try:
                choose_sources(sources, [str(name) for name in names])
            except BadInput as error:
                problems.append(f"{step.name}: {error.message}; {error.hint}")
    return payload.document()


def _find_scrapers(settings: Settings, spec: WorkflowSpec, problems: list[str]) -> dict[str, Any]:
    """Return the scrapers that the steps name; all of them if a name comes from another step."""
    from corral.wiring.scrapers import load_scrapers  # noqa: PLC0415

    registry = load_scrapers(settings)
    wanted = {str(step.config["scraper"]): step.name for step in spec.steps if step.kind == "script"}
    is_open = any(has_reference(name) for name in wanted)
    scrapers: dict[str, Any] = {}
    for name in registry.names() if is_open else wanted:
        try:
            scrapers[name] = msgspec.to_builtins(registry.find(name))
        except (ScraperNotFound, ScriptNotRunnable) as error:
            if name in wanted:
                problems.append(f"{wanted[name]}: {error.message}")
    return scrapers
