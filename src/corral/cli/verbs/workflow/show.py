"""`corral workflow list`, `show`, `templates` and `validate`."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, Limit, check_id
from corral.cli.running import Stop, finish, first_of
from corral.cli.stores import read_store
from corral.cli.verbs.workflow.definitions import load_spec
from corral.cli.verbs.workflow.tree import WorkflowWatcher, print_workflow, watch
from corral.domain.workflows.kinds.registry import STEP_KINDS
from corral.domain.workflows.spec import InvalidWorkflow
from corral.domain.workflows.states import WorkflowStatus, states_behind
from corral.domain.workflows.templates.registry import TEMPLATES
from corral.settings import Settings, load_settings
from corral.store.store import Store
from corral.views.workflows import mermaid, summary_view, workflow_view

_MANY = 1000
_POLL_S = 0.5
WorkflowArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of a workflow.")]


def list_(
    status: Annotated[WorkflowStatus | None, typer.Option(help="Only workflows in this state.")] = None,
    job: Annotated[str | None, typer.Option(metavar="TEXT", help="Only workflows for this job.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List workflows, newest first.

    \b
    corral workflow list
    corral workflow list --status failed --json
    """
    finish(_list(load_settings(), status, job, limit, as_json=as_json))


async def _list(
    settings: Settings, status: WorkflowStatus | None, job: str | None, limit: int, *, as_json: bool
) -> int:
    async with read_store(settings) as store:
        states = None if status is None else states_behind(status)
        workflows = await store.workflows.newest(states, None, limit if status is None else _MANY, job_id=job)
    workflows = [now for now in workflows if status is None or now.status == status][:limit]
    if as_json:
        render.print_json([summary_view(now, settings.transport) for now in workflows])
        return exits.DONE
    rows = [
        (
            now.id,
            now.spec.name,
            f"v{now.version}",
            f"{now.status.value}{' (partial)' if now.is_partial else ''}",
            f"{now.progress} %",
            f"{now.counts.completed + now.counts.partial}/{now.counts.total}",
            render.ago(now.created_at),
        )
        for now in workflows
    ]
    columns = ("id", "name", "version?", "status", "progress", "steps", "created?")
    render.print_table(columns, rows, nothing="no such workflows; start one with `corral workflow run FILE`")
    return exits.DONE


def show(
    workflow_id: WorkflowArgument,
    watches: Annotated[bool, typer.Option("--watch", help="Follow it as a live tree until it ends.")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the graph as Mermaid.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show a workflow: its steps, their states and results.

    With --watch the exit code is that of the workflow: 0 completed, 1 failed or cancelled, 3 partial, 130 interrupted.

    \b
    corral workflow show 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --watch
    corral workflow show 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --mermaid
    """
    finish(_show(load_settings(), check_id(workflow_id, "workflow"), watches, as_mermaid, as_json=as_json))


async def _show(settings: Settings, workflow_id: str, watches: bool, as_mermaid: bool, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        if watches:
            stop = Stop()
            stop.listen()
            with watch(is_quiet=as_json) as watcher:
                if not await first_of(_follow(store, workflow_id, watcher), stop):
                    return exits.INTERRUPTED
        now = await store.workflows.get(workflow_id)
    if as_mermaid:
        print(mermaid(now.spec, now), end="")
    elif as_json:
        render.print_json(workflow_view(now, settings.transport))
    else:
        print_workflow(now)
    return exits.code_of_state(now.run.state) if watches else exits.DONE


async def _follow(store: Store, workflow_id: str, watcher: WorkflowWatcher) -> None:
    while True:
        now = await store.workflows.get(workflow_id)
        watcher.show(now)
        if now.is_over:
            return
        await asyncio.sleep(_POLL_S)


def templates(as_json: AsJson = False) -> None:
    """List the templates with their parameters.

    \b
    corral workflow templates
    """
    if as_json:
        render.print_json([template.document() for template in TEMPLATES.values()])
        return
    for template in TEMPLATES.values():
        print(f"{template.name}: {template.summary}")
        for parameter in template.parameters:
            usual = (
                "required"
                if parameter.is_required
                else f"default {parameter.default}"
                if parameter.default is not None
                else "optional"
            )
            print(f"  {parameter.name} ({parameter.type}, {usual}): {parameter.help}")


def validate(
    definition: Annotated[Path | None, typer.Argument(metavar="FILE", help="A definition in YAML or JSON.")] = None,
    template: Annotated[str | None, typer.Option("--template", metavar="NAME", help="A template instead.")] = None,
    param: Annotated[
        list[str] | None, typer.Option("-p", "--param", metavar="NAME=VALUE", help="A parameter of the template.")
    ] = None,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Print the graph as Mermaid.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a definition, and name every problem.

    Exit code: 0 valid, 2 not valid.

    \b
    corral workflow validate build.yaml
    corral workflow validate build.yaml --mermaid
    """
    try:
        spec = load_spec(definition, template, param or [])
    except InvalidWorkflow as error:
        if as_json:
            render.print_json({"valid": False, "problems": list(error.problems)})
        for problem in () if as_json else error.problems:
            exits.complain(problem)
        raise typer.Exit(exits.BAD_ARGUMENTS) from None
    if as_mermaid:
        print(mermaid(spec), end="")
    elif as_json:
        kinds = sorted({step.kind for step in spec.steps} & STEP_KINDS.keys())
        about = {"valid": True, "name": spec.name, "digest": spec.digest, "steps": len(spec.steps), "kinds": kinds}
        render.print_json({**about, "problems": []})
    else:
        print(f"{spec.name}: {len(spec.steps)} steps, valid")
