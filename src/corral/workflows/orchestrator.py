"""`JobOrchestrator`: workflows of a Python program, with everything persisted."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

from corral.domain.errors import BadInput
from corral.domain.ids import Owner
from corral.domain.runs.retry import RetryPolicy
from corral.domain.workflows.access import DefinitionSource
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.spec import LOCAL_STEP, WorkflowSpec, find_step_key
from corral.engine.workflows.local import LocalExecutor
from corral.runtime.new_ids import new_owner
from corral.runtime.node_locks import Presence
from corral.settings import Settings
from corral.views.workflows import progress_view
from corral.wiring.app import App
from corral.wiring.options import retry_policy
from corral.wiring.roles import open_workflow_node
from corral.workflows.definition import WorkflowDefinition
from corral.workflows.models import WorkflowState, read_job_id, state_of
from corral.workflows.repositories import (
    JobRepository,
    OpenInstallation,
    WorkflowStateRepository,
    WorkflowTaskRepository,
)

_SOURCE = DefinitionSource(has_handlers=True)


class JobOrchestrator:
    """Creates and executes workflows. The installation of the settings stores their state, which survives a crash.

    An interrupted workflow continues where it stopped: a program that creates the same definition for the same job
    again gets the workflow that has not ended, and executes its remaining steps.
    """

    def __init__(
        self,
        workflow_repo: WorkflowStateRepository | None = None,
        task_repo: WorkflowTaskRepository | None = None,  # noqa: ARG002 - accepted, because callers pass all three
        job_repo: JobRepository | None = None,  # noqa: ARG002
        *,
        settings: Settings | None = None,
    ) -> None:
        self._installation = OpenInstallation(settings) if workflow_repo is None else workflow_repo.installation
        self._states = WorkflowStateRepository(self._installation)
        self._policy: RetryPolicy | None = None  # computed once: it depends on the programs of this machine

    async def __aenter__(self) -> Self:
        await self._installation.app()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the database. Without this call, the end of the event loop closes it."""
        await self._installation.close()

    # -- workflows ---------------------------------------------------------------------------------

    async def create_workflow(self, job_id: str | int, workflow_def: WorkflowDefinition) -> WorkflowState:
        """Create a workflow; return the one that has not ended, if the job has one of the same definition."""
        app = await self._installation.app()
        spec = workflow_def.spec()
        created, _ = await app.workflows.create(spec, job_id=str(job_id), starts=False, source=_SOURCE, joins=True)
        return state_of(created, app.settings.transport)

    async def get_workflow(self, workflow_id: str) -> WorkflowState | None:
        return await self._states.get(workflow_id)

    async def get_workflow_by_job(self, job_id: str | int) -> WorkflowState | None:
        """Return the newest workflow of a job."""
        return await self._states.get_by_job_id(job_id)

    async def start_workflow(self, workflow_id: str) -> WorkflowState:
        """Start a pending workflow. Its local steps wait until a process executes it."""
        app = await self._installation.app()
        return state_of(await app.workflows.start(str(workflow_id)), app.settings.transport)

    async def execute_workflow(self, workflow_id: str, workflow_def: WorkflowDefinition) -> dict[str, Any]:
        """Execute a workflow to its end, and return its progress with the results of its steps by key.

        It starts a pending workflow, resumes a paused one, and takes over the steps of a process that died.
        """
        app = await self._installation.app()
        spec = workflow_def.spec()
        now = await app.workflows.get(str(workflow_id))
        _check_definition(now, spec)
        now = await app.workflows.go_on(now.id)
        if not now.is_over:
            now = await self._execute(app, now.id, spec, workflow_def)
        results = {step.spec.key: step.output for step in now.steps}
        return {**_describe(now, app), "error_message": now.run.error_message, "results": results}

    async def _execute(
        self, app: App, workflow_id: str, spec: WorkflowSpec, workflow_def: WorkflowDefinition
    ) -> WorkflowNow:
        owner: Owner = new_owner()
        # If this process dies, others see it at once and need not wait for its leases to expire.
        presence = Presence(app.settings.data_dir / "nodes")
        presence.enter(owner)
        self._policy = self._policy or retry_policy(app.settings)
        executor = LocalExecutor(app.store, owner, workflow_def.handlers(), self._policy)
        try:
            async with AsyncExitStack() as stack:
                if _needs_node(spec):
                    await stack.enter_async_context(open_workflow_node(app.settings, workflow_id))
                return await executor.run(workflow_id)
        finally:
            presence.leave(owner)

    async def pause_workflow(self, workflow_id: str) -> WorkflowState:
        """Let running steps finish and start no others; `execute_workflow` resumes the workflow."""
        app = await self._installation.app()
        return state_of(await app.workflows.pause(str(workflow_id)), app.settings.transport)

    async def cancel_workflow(self, workflow_id: str) -> WorkflowState:
        app = await self._installation.app()
        return state_of(await app.workflows.cancel(str(workflow_id)), app.settings.transport)

    async def recover_workflow(self, workflow_id: str, from_step: int | str | None = None) -> WorkflowState:
        """Prepare a failed workflow to continue at its failed steps, or at a step by index, key or name.

        `execute_workflow` executes them; completed steps are never repeated.
        """
        app = await self._installation.app()
        now = await app.workflows.get(str(workflow_id))
        key = None if from_step is None else find_step_key(now.spec, from_step)
        return state_of(await app.workflows.recover(now.id, key), app.settings.transport)

    # -- monitoring --------------------------------------------------------------------------------

    async def get_workflow_progress(self, workflow_id: str) -> dict[str, Any]:
        app = await self._installation.app()
        return _describe(await app.workflows.get(str(workflow_id)), app)

    async def get_active_workflows(self) -> list[WorkflowState]:
        """Return the workflows that are running or recovering."""
        return await self._states.get_active_workflows()

    async def get_failed_workflows(self) -> list[WorkflowState]:
        return await self._states.get_failed_workflows()

    async def get_recoverable_workflows(self) -> list[WorkflowState]:
        """Return the failed workflows that have recovery attempts left."""
        return await self._states.get_recoverable_workflows()


def _describe(now: WorkflowNow, app: App) -> dict[str, Any]:
    return {**progress_view(now, app.settings.transport), "job_id": read_job_id(now.job_id)}


def _needs_node(spec: WorkflowSpec) -> bool:
    """Return whether workers execute some of the steps; this process then opens a node for them."""
    return any(step.kind != LOCAL_STEP for step in spec.steps)


def _check_definition(now: WorkflowNow, spec: WorkflowSpec) -> None:
    if now.spec.digest != spec.digest:
        raise BadInput(
            f"workflow {now.id} was created with another definition of {now.spec.name!r} (version {now.version})",
            field="workflow_def",
            hint="create a new workflow for the changed definition",
        )
