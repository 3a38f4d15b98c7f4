"""`corral workflow pause`, `resume`, `cancel` and `recover`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.workflow.show import WorkflowArgument
from corral.cli.verbs.workflow.tree import print_workflow
from corral.cli.writable_store import open_writable_store
from corral.domain.errors import BadInput, WrongState
from corral.domain.net.address import EgressPolicy
from corral.domain.runs.run import RunAction, advance
from corral.domain.workflows.graph import NothingToRecover, choose_recovery
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.spec import WorkflowSpec, find_step_key
from corral.engine.usecases.workflows import Workflows
from corral.settings import Settings, load_settings
from corral.views.workflows import workflow_view

Change = Callable[[Workflows, str], Awaitable[WorkflowNow]]


def pause(workflow_id: WorkflowArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Pause a workflow: running steps finish, and none starts.

    \b
    corral workflow pause 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    finish(_move(load_settings(), workflow_id, RunAction.PAUSE, Workflows.pause, dry_run=dry_run, as_json=as_json))


def resume(workflow_id: WorkflowArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Let a paused or pending workflow go on, on the running nodes.

    `corral workflow run ID` executes its steps here, too.

    \b
    corral workflow resume 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    finish(_move(load_settings(), workflow_id, RunAction.RESUME, Workflows.resume, dry_run=dry_run, as_json=as_json))


def cancel(workflow_id: WorkflowArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Cancel a workflow with every step that has not ended.

    \b
    corral workflow cancel 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    finish(_move(load_settings(), workflow_id, RunAction.CANCEL, Workflows.cancel, dry_run=dry_run, as_json=as_json))


def recover(
    workflow_id: WorkflowArgument,
    from_step: Annotated[
        str | None, typer.Option("--from-step", metavar="STEP", help="Key, name or index; default: every failed step.")
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Execute failed and skipped steps again.

    Nothing that completed is repeated.

    \b
    corral workflow recover 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral workflow recover 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --from-step download --dry-run
    """
    identity = check_id(workflow_id, "workflow")
    finish(_recover(load_settings(), identity, from_step, dry_run=dry_run, as_json=as_json))


async def _move(
    settings: Settings, workflow_id: str, action: RunAction, change: Change, *, dry_run: bool, as_json: bool
) -> int:
    identity = check_id(workflow_id, "workflow")
    if dry_run:
        async with read_store(settings) as store:
            now = await store.workflows.get(identity)
        advance(now.run.state, action, now.run.hold_reason)
        about = {"workflow_id": now.id, "status": now.status.value}
        render.print_plan(f"{action} workflow {now.id} ({now.status.value})", about, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        now = await change(Workflows(store, EgressPolicy(()), _prepare_nothing), identity)
    _print(now, settings, as_json=as_json)
    return exits.DONE


async def _recover(settings: Settings, workflow_id: str, from_step: str | None, *, dry_run: bool, as_json: bool) -> int:
    async with read_store(settings) as store:
        now = await store.workflows.get(workflow_id)
    key = None if from_step is None else find_step_key(now.spec, from_step)
    if dry_run:
        again = _plan_recovery(now, key)
        about = {"workflow_id": now.id, "steps": again}
        render.print_plan(f"execute again: {', '.join(again)}", about, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as writable:
        now = await Workflows(writable, EgressPolicy(()), _prepare_nothing).recover(workflow_id, key)
    _print(now, settings, as_json=as_json)
    return exits.DONE


def _plan_recovery(now: WorkflowNow, key: str | None) -> list[str]:
    if not now.is_recoverable:
        raise WrongState("recover the workflow", now.status.value, terminal=now.is_over)
    try:
        return choose_recovery(now.spec, {step.spec.key: step.now for step in now.steps}, key)
    except NothingToRecover as error:
        raise BadInput(str(error), field="from_step") from None


async def _prepare_nothing(_: WorkflowSpec) -> dict[str, Any]:
    """Only new workflows are prepared."""
    return {}


def _print(now: WorkflowNow, settings: Settings, *, as_json: bool) -> None:
    if as_json:
        render.print_json(workflow_view(now, settings.transport))
    else:
        print_workflow(now)
