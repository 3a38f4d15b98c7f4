"""What the steps of a workflow need from the files of this installation."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from corral.domain.workflows.kinds.spec import has_reference
from corral.domain.workflows.spec import WorkflowSpec
from corral.settings import Settings


async def prepare_workflow(settings: Settings, spec: WorkflowSpec) -> dict[str, Any]:
    """Read scrapers and the data inventory once, so that a later change of a file does not change the workflow."""
    return await asyncio.to_thread(_prepare, settings, spec)


def _prepare(settings: Settings, spec: WorkflowSpec) -> dict[str, Any]:
    from corral.wiring.scrapers import registry_key  # noqa: PLC0415 - most workflows do without it

    kinds = {step.kind for step in spec.steps}
    setup: dict[str, Any] = {"cwd": str(Path.cwd())} if kinds & {"python", "dataset"} else {}
    if "dataset" in kinds:
        setup["exports"] = str((settings.data_dir / "exports").absolute())
    if "script" in kinds:
        setup["scrapers"] = _find_scrapers(settings, spec)
    if "reconcile" in kinds:
        from corral.wiring.coverage import make_payload  # noqa: PLC0415

        setup["reconcile"] = make_payload(settings, [], is_imported=True).document()
    if "drain" in kinds:
        setup["registry"] = registry_key(settings.scraper_config)
    return setup


def _find_scrapers(settings: Settings, spec: WorkflowSpec) -> dict[str, Any]:
    """The scrapers that the steps name; all of them where a name comes from another step."""
    from corral.wiring.scrapers import load_scrapers  # noqa: PLC0415

    registry = load_scrapers(settings)
    wanted = [str(step.config["scraper"]) for step in spec.steps if step.kind == "script"]
    names = registry.names() if any(has_reference(name) for name in wanted) else dict.fromkeys(wanted)
    return {name: msgspec.to_builtins(registry.find(name)) for name in names}
