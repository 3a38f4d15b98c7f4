"""`corral run show`: one run."""

from collections.abc import Sequence
from typing import Any

from corral.cli import exits, render, shapes
from corral.cli.options import AsJson, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.run.keep import RunArgument
from corral.domain.runs.artifact import StoredArtifact
from corral.domain.runs.run import Run
from corral.domain.verdicts.run_verdict import FINDINGS, VERDICT, is_withheld
from corral.files.artifacts import ArtifactFolder
from corral.settings import Settings, load_settings


def show(run_id: RunArgument, as_json: AsJson = False) -> None:
    """Show one run: its state, the reason, and its statistics.

    \b
    corral run show 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_show(load_settings(), check_id(run_id, "run"), as_json=as_json))


async def _show(settings: Settings, run_id: str, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        run = await store.runs.get(run_id)
        artifacts = await store.artifacts.of_run(run_id)
    shape = shapes.run_shape(run)
    if as_json:
        render.print_json({**shape, "artifacts": [shapes.artifact_shape(each) for each in artifacts]})
        return exits.DONE
    stats, attempts, progress = (shape.pop(name) for name in ("stats", "engine_attempts", "progress"))
    if progress["total"] > 1:
        shape["progress"] = progress
    findings = stats.pop(FINDINGS, [])
    render.print_properties({**shape, **{f"stats.{k}": v for k, v in stats.items()}})
    if findings:
        _print_verdict(run, findings)
    if attempts:
        print()
        rows = [[entry.get(name) for name in ("attempt", "strategy", "outcome", "duration_s")] for entry in attempts]
        render.print_table(("attempt", "by", "outcome", "seconds"), rows)
    _print_artifacts(settings, artifacts)
    return exits.DONE


def _print_verdict(run: Run, findings: Sequence[dict[str, Any]]) -> None:

    print()
    apart = is_withheld(run.stats)
    advice = f"its records are kept apart until `corral run accept {run.id}`" if apart else "a person accepted it"
    print(f"verdict: the data is {run.stats[VERDICT]}; {advice}")
    names = ("template", "field", "what", "before", "after", "verdict")
    rows = [[render.printable(each.get(name)) for name in names] for each in findings]
    render.print_table(("pages?", "field", "what", "before", "after", "verdict"), rows)


def _print_artifacts(settings: Settings, artifacts: Sequence[StoredArtifact]) -> None:

    if artifacts:
        folder = ArtifactFolder(settings.artifacts_dir)
        print()
        rows = [(each.attempt, each.artifact.kind.value, str(folder.path(each.artifact))) for each in artifacts]
        render.print_table(("attempt", "kept", "file"), rows)
