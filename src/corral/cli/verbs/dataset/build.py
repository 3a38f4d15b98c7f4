"""`corral dataset build`: build an image dataset without a server. Ctrl-C pauses it; the same command resumes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions
from corral.cli.progress.dataset import show_progress
from corral.cli.running import Stop, finish, first_of
from corral.cli.verbs.dataset.config_file import read_dataset_config
from corral.domain.datasets.config import DatasetConfig
from corral.domain.datasets.steps import ALL_STEPS
from corral.domain.errors import WrongState
from corral.domain.runs.run import RunState
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import WorkflowSpec
from corral.domain.workflows.states import StepState, WorkflowStatus
from corral.domain.workflows.templates.registry import fill_template
from corral.log import configure_logging
from corral.runtime.new_ids import new_id
from corral.settings import Settings, load_settings
from corral.views.workflows import workflow_view
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_workflow_node

_TEMPLATE = "dataset-build"
_SHOW_EVERY_S = 0.25
_BATCH = 200


@dataclass(frozen=True, kw_only=True)
class DatasetBuildOptions:
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The configuration, YAML or JSON.")]
    report: ReportOptions


def build(options: DatasetBuildOptions) -> None:
    """Build an image dataset, or continue its build.

    Steps: discover, download, validate, deduplicate, label, export, report, clean up. Ctrl-C pauses the build; the same
    command continues it. A later build of the same dataset downloads only what is new.
    Exit code: 0 complete, 3 images were left out, 1 failed, 78 bad configuration, 130 interrupted.

    \b
    corral dataset build pets.yaml
    corral dataset build pets.yaml --dry-run
    corral dataset build pets.yaml --json | jq .dataset.manifest_sha256
    """
    settings = load_settings()
    document, config = read_dataset_config(options.config)
    if options.report.dry_run:
        _print_plan(config, as_json=options.report.as_json)
        return
    finish(_build(settings, document, as_json=options.report.as_json))


def _print_plan(config: DatasetConfig, *, as_json: bool) -> None:
    about: dict[str, Any] = {
        "dataset": config.name,
        "categories": {name: list(keywords) for name, keywords in config.categories.items()},
        "sources": [source.document() for source in config.sources],
        "options": config.options.document(),
        "steps": [step.value for step in ALL_STEPS],
    }
    what = f"build {config.name} of {len(config.sources)} sources into {config.options.output_dir}"
    render.print_plan(what, about, as_json=as_json)


async def _build(settings: Settings, document: dict[str, Any], *, as_json: bool) -> int:
    configure_logging("error")
    spec = parse_workflow(fill_template(_TEMPLATE, {"config": document}))
    stop = Stop(grace_s=settings.shutdown_grace_seconds)
    stop.listen()
    async with open_client(settings) as app:
        workflow_id = await _find_unfinished(app, spec, document)
    # The steps follow each other: one worker process is enough.
    one_worker = settings.model_copy(update={"workers": 1})
    new = workflow_id or new_id()
    async with open_workflow_node(one_worker, new) as app:
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        with show_progress() as display:
            app.node.progress.on_progress = display.on_progress
            await _begin(app, spec, document, new, is_new=workflow_id is None)
            has_ended = await first_of(_watch(app, new), stop)
        if not has_ended and await _pause(app, new):
            hint = f"the same command continues it; so does `corral workflow run {new}`"
            exits.complain(f"interrupted; workflow {new} is paused, and nothing is lost", hint)
            return exits.INTERRUPTED
        return _report(await app.workflows.get(new), settings, as_json=as_json)


async def _find_unfinished(app: App, spec: WorkflowSpec, document: dict[str, Any]) -> str | None:
    """Return the id of an interrupted workflow with the same configuration."""
    states = (RunState.RUNNING, RunState.HELD, RunState.QUEUED)
    for now in await app.store.workflows.newest(states, None, _BATCH, job_id=_job_of(document)):
        if now.spec.digest == spec.digest and not now.waits_for_person:
            exits.complain(f"continuing workflow {now.id}")
            return now.id
    return None


def _job_of(document: dict[str, Any]) -> str:
    """Return the job id, which distinguishes builds of one dataset in different folders."""
    options = document.get("options") or {}
    return f"dataset {Path.cwd() / str(options.get('output_dir') or document['dataset_name'])}"


async def _begin(app: App, spec: WorkflowSpec, document: dict[str, Any], workflow_id: str, *, is_new: bool) -> None:
    if is_new:
        await app.workflows.create(spec, job_id=_job_of(document), workflow_id=workflow_id)
    elif (await app.workflows.get(workflow_id)).status in (WorkflowStatus.PENDING, WorkflowStatus.PAUSED):
        await app.workflows.resume(workflow_id)


async def _watch(app: App, workflow_id: str) -> None:
    while True:
        now = await app.workflows.get(workflow_id)
        if now.is_over or now.waits_for_person:
            return
        await app.pulse.wait(_SHOW_EVERY_S)


async def _pause(app: App, workflow_id: str) -> bool:
    """Pause the workflow; return False if it ended in the meantime."""
    try:
        await app.workflows.pause(workflow_id)
    except WrongState:
        return False
    return True


def _report(now: WorkflowNow, settings: Settings, *, as_json: bool) -> int:
    outputs = {step.spec.key: step.output for step in now.steps if isinstance(step.output, dict)}
    export, last = outputs.get("export", {}), outputs.get("clean_up") or outputs.get("export", {})
    if as_json:
        about = {name: last.get(name) for name in ("folder", "states", "left_out")}
        exported = {name: export.get(name) for name in ("images", "manifest_sha256", "files", "quarantined")}
        render.print_json({"workflow": workflow_view(now, settings.transport), "dataset": {**about, **exported}})
    elif export:
        print(f"{export['images']} images in {export['folder']}; manifest {export['manifest_sha256']}")
        print(", ".join(f"{count} {state}" for state, count in sorted(last["states"].items())))
        rows = [(reason, str(count)) for reason, count in sorted(last["left_out"].items())]
        if rows:
            render.print_table(("left out", "images"), rows)
    if now.is_partial:
        exits.complain("partial: images were left out", f"see {last.get('folder')}/report.html")
    elif now.run.state is not RunState.COMPLETED:
        failed = next((step for step in now.steps if step.error or step.now.state is StepState.FAILED), None)
        why = now.run.error_message or (failed.error if failed is not None else None) or "a step waits for a person"
        exits.complain(f"{now.run.state}: {why}", f"see `corral workflow show {now.id}`")
    return exits.code_of_state(now.run.state)
