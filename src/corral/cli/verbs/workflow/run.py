"""`corral workflow run`: create a workflow and execute it, or go on with one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import PriorityName, ReportOptions
from corral.cli.running import Stop, finish, first_of
from corral.cli.verbs.workflow.definitions import load_spec
from corral.cli.verbs.workflow.tree import WorkflowWatcher, print_workflow, watch
from corral.domain.errors import BadInput, WrongState
from corral.domain.ids import is_id
from corral.domain.net.address import EgressPolicy
from corral.domain.workflows.access import check_source
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.spec import WorkflowSpec
from corral.domain.workflows.states import WorkflowStatus
from corral.engine.usecases.workflows import BY_PERSON
from corral.log import configure_logging
from corral.runtime.new_ids import new_id
from corral.settings import Settings, load_settings
from corral.views.workflows import workflow_view
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_workflow_node

_SHOW_EVERY_S = 0.25


@dataclass(frozen=True, kw_only=True)
class WorkflowRunOptions:
    definition: Annotated[
        str | None,
        typer.Argument(metavar="FILE|ID", help="A definition in YAML or JSON, or the id of a workflow to go on with."),
    ] = None
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="NAME", help="A template; `corral workflow templates` lists them."),
    ] = None
    param: Annotated[
        list[str] | None, typer.Option("-p", "--param", metavar="NAME=VALUE", help="A parameter of the template.")
    ] = None
    job: Annotated[
        str | None, typer.Option("--job", metavar="TEXT", help="What the workflow is for, in your words.")
    ] = None
    priority: Annotated[PriorityName, typer.Option("--priority", help="The priority of its steps.")] = (
        PriorityName.MEDIUM
    )
    detach: Annotated[
        bool,
        typer.Option("--detach", help="Only start it; a running `corral up` or `corral worker` executes the steps."),
    ] = False
    report: ReportOptions


def run(options: WorkflowRunOptions) -> None:
    """Create a workflow and execute it, or go on with one.

    Its steps are executed here and on every running node. The hosts that the definition names may be reached even if
    they are private. Ctrl-C pauses the workflow; the same command with its id goes on.
    Exit code: 0 completed, 1 failed, 2 bad arguments, 3 partial, 78 bad file, 130 interrupted.

    \b
    corral workflow run build.yaml
    corral workflow run --template crawl-then-export -p url=https://example.com -p output=pages.csv
    corral workflow run 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    settings = load_settings()
    definition = options.definition
    if definition is not None and is_id(definition):
        if options.template or options.param:
            raise BadInput("a workflow that exists has no template", field="template")
        finish(_execute(settings, options, None, definition.lower()))
    spec = load_spec(None if definition is None else Path(definition), options.template, options.param or [])
    check_source(spec, BY_PERSON, EgressPolicy(()))
    if options.report.dry_run:
        _print_plan(spec, as_json=options.report.as_json)
        return
    finish(_execute(settings, options, spec, new_id()))


def _print_plan(spec: WorkflowSpec, *, as_json: bool) -> None:
    about = {"name": spec.name, "digest": spec.digest, "steps": [step.document() for step in spec.steps]}
    if not as_json:
        for number, step in enumerate(spec.steps):
            needs = f" after {', '.join(step.depends_on)}" if step.depends_on else ""
            print(f"{number}  {step.key}  [{step.kind}]{needs}")
    render.print_plan(f"start workflow {spec.name} with {len(spec.steps)} steps", about, as_json=as_json)


async def _execute(settings: Settings, options: WorkflowRunOptions, spec: WorkflowSpec | None, workflow_id: str) -> int:
    configure_logging("error")
    is_quiet = options.report.as_json
    if options.detach:
        async with open_client(settings) as app:
            now = await _begin(app, options, spec, workflow_id)
        return _report(now, settings, as_json=is_quiet, is_started=True)
    stop = Stop()
    stop.listen()
    async with open_workflow_node(settings, workflow_id) as app:
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        await _begin(app, options, spec, workflow_id)
        with watch(is_quiet=is_quiet) as watcher:
            has_ended = await first_of(_follow(app, workflow_id, watcher), stop)
        if not has_ended:
            return await _interrupt(app, workflow_id)
        now = await app.workflows.get(workflow_id)
    return _report(now, settings, as_json=is_quiet)


async def _begin(app: App, options: WorkflowRunOptions, spec: WorkflowSpec | None, workflow_id: str) -> WorkflowNow:
    """Create the workflow, or continue an existing one."""
    if spec is not None:
        now, _ = await app.workflows.create(
            spec, job_id=options.job, priority=options.priority.value_of, workflow_id=workflow_id
        )
        return now
    now = await app.workflows.go_on(workflow_id)
    if now.is_over:
        hint = f"`corral workflow recover {now.id}` continues it" if now.is_recoverable else None
        raise BadInput(f"workflow {now.id} is {now.status.value}", field="definition", hint=hint)
    return now


async def _follow(app: App, workflow_id: str, watcher: WorkflowWatcher) -> None:
    while True:
        now = await app.workflows.get(workflow_id)
        watcher.show(now)
        if now.is_over or now.waits_for_person or now.status is WorkflowStatus.PAUSED:
            return
        await app.pulse.wait(_SHOW_EVERY_S)


async def _interrupt(app: App, workflow_id: str) -> int:
    try:
        await app.workflows.pause(workflow_id)
    except WrongState:
        return exits.INTERRUPTED
    hint = f"`corral workflow run {workflow_id}` continues it"
    exits.complain(f"interrupted; workflow {workflow_id} is paused, and nothing is lost", hint)
    return exits.INTERRUPTED


def _report(now: WorkflowNow, settings: Settings, *, as_json: bool, is_started: bool = False) -> int:
    if as_json:
        render.print_json(workflow_view(now, settings.transport))
    else:
        print_workflow(now)
        print(f"workflow {now.id}")
    if is_started and not now.is_over:
        return exits.DONE
    if now.waits_for_person:
        exits.complain("a step waits for a person", f"see `corral workflow show {now.id}` and `corral run show`")
        return exits.FAILED
    if now.run.error_message:
        hint = (
            f"`corral workflow recover {now.id}`, then `corral workflow run {now.id}`" if now.is_recoverable else None
        )
        exits.complain(f"{now.run.state.value}: {now.run.error_message}", hint)
    return exits.code_of_state(now.run.state)
