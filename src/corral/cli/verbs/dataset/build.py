"""`corral dataset build`: build an image dataset without a server. Ctrl-C pauses it; the same command resumes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, hints, render, shapes
from corral.cli.options import ReportOptions
from corral.cli.progress.dataset import show_progress
from corral.cli.running import Stop, first_of
from corral.cli.serving.finish import finish_serving
from corral.domain.datasets.config import DatasetConfig
from corral.domain.datasets.payload import DatasetPayload
from corral.domain.datasets.steps import ALL_STEPS
from corral.domain.errors import WrongState
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.run import DATASET, WAITS_FOR_PERSON, HoldReason, Run, RunAction, RunState
from corral.engine.worker.kinds.dataset import DATASET_KIND
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.datasets import make_dataset_payload, read_dataset_config
from corral.wiring.roles import open_client, open_single_run

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
    payload = make_dataset_payload(settings, document, config)
    if options.report.dry_run:
        _print_plan(config, as_json=options.report.as_json)
        return
    finish_serving(_build(settings, payload, as_json=options.report.as_json))


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


async def _build(settings: Settings, payload: DatasetPayload, *, as_json: bool) -> int:
    configure_logging("error")
    stop = Stop()
    stop.listen()
    async with open_client(settings) as app:
        run = await _start_or_resume(app, payload)
    async with open_single_run(settings, run.id) as app:
        assert app.node is not None
        stop.on_haste = app.node.stop_now
        with show_progress() as display:
            app.node.progress.on_progress = display.on_progress
            has_ended = await first_of(_watch(app, run.id), stop)
        if not has_ended and await _pause(app, run.id):
            hint = f"the same command continues it; so does `corral run resume {run.id}` while `corral up` runs"
            exits.complain(f"interrupted; run {run.id} is paused, and nothing is lost", hint)
            return exits.INTERRUPTED
        return _report(await app.store.runs.get(run.id), as_json=as_json)


async def _start_or_resume(app: App, payload: DatasetPayload) -> Run:
    """Return a new run, or the interrupted run of the same configuration."""
    for state in (RunState.HELD, RunState.QUEUED):
        for run in await app.store.runs.newest(None, state, None, _BATCH):
            if run.kind != DATASET or run.payload.read(DatasetPayload) != payload:
                continue
            if run.hold_reason not in (HoldReason.PAUSED, None):
                continue
            if run.state is RunState.HELD:
                await app.submitter.apply_action(run.id, RunAction.RESUME)
            exits.complain(f"continuing run {run.id}")
            return run
    new = DATASET_KIND.draft_run(payload, max_attempts=1)
    [run_id], _ = await app.store.runs.add([(new, [EventDraft(EventKind.CREATED, {})])])
    return await app.store.runs.get(run_id)


async def _watch(app: App, run_id: str) -> None:
    while True:
        run = await app.store.runs.get(run_id)
        if run.state.is_terminal or run.hold_reason in WAITS_FOR_PERSON:
            return
        await app.pulse.wait(_SHOW_EVERY_S)


async def _pause(app: App, run_id: str) -> bool:
    """Return False if the run ended in the meantime."""
    try:
        await app.submitter.apply_action(run_id, RunAction.PAUSE)
    except WrongState:
        return False
    return True


def _report(run: Run, *, as_json: bool) -> int:
    stats = run.stats
    export = stats.get("steps", {}).get("export", {})
    if as_json:
        about = {name: stats.get(name) for name in ("folder", "states", "reasons", "left_out", "steps")}
        render.print_json({"run": shapes.run_shape(run), "dataset": {**about, **export}})
    elif export:
        print(f"{export['images']} images in {stats['folder']}; manifest {export['manifest_sha256']}")
        states = stats.get("states", {})
        print(", ".join(f"{count} {state}" for state, count in sorted(states.items())))
        rows = [(reason, str(count)) for reason, count in sorted(stats.get("left_out", {}).items())]
        if rows:
            render.print_table(("left out", "images"), rows)
    if run.state is RunState.PARTIAL:
        exits.complain("partial: images were left out", f"see {stats.get('folder')}/report.html")
    elif run.state is not RunState.COMPLETED:
        exits.complain(f"{run.state}: {hints.reason_of(run)}", hints.hint_for(run), hints.history_of(run))
    return exits.code_of_state(run.state)
