"""Create, control and read workflows."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from corral.domain.errors import WrongState
from corral.domain.jobs.job import Priority
from corral.domain.net.address import EgressPolicy
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import RunAction
from corral.domain.workflows.access import DefinitionSource, check_source, find_trusted_hosts
from corral.domain.workflows.new import NewWorkflow
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.parse import parse_workflow
from corral.domain.workflows.spec import WorkflowSpec
from corral.domain.workflows.states import WorkflowStatus
from corral.domain.workflows.templates.registry import fill_template
from corral.runtime.new_ids import new_id

# Reads the step inputs that are in files: scrapers, the data inventory. See StepContext.
Prepare = Callable[[WorkflowSpec], Awaitable[dict[str, Any]]]
BY_PERSON = DefinitionSource()


class Workflows:
    def __init__(
        self,
        store: EngineStore,
        policy: EgressPolicy,
        prepare: Prepare,
        *,
        wake: Waker = lambda *_: None,
        abort: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._policy = policy
        self._prepare = prepare
        self._wake = wake
        self._abort = abort

    def check(
        self,
        definition: Any = None,
        *,
        template: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        source: DefinitionSource = BY_PERSON,
    ) -> WorkflowSpec:
        """Return the workflow that a definition, or a template with parameters, describes."""
        document = definition if template is None else fill_template(template, parameters or {})
        spec = parse_workflow(document)
        check_source(spec, source, self._policy)
        return spec

    async def create(
        self,
        spec: WorkflowSpec,
        *,
        job_id: str | None = None,
        priority: Priority = Priority.MEDIUM,
        starts: bool = True,
        source: DefinitionSource = BY_PERSON,
        key: IdempotencyKey | None = None,
        workflow_id: str | None = None,
        joins: bool = False,
    ) -> tuple[WorkflowNow, bool]:
        """Write a workflow and start it. For a key used before, or one to join, return the earlier one and True."""
        if key is not None and (earlier_id := await self._store.idempotency.find(key)) is not None:
            return await self._store.workflows.get(earlier_id), True
        trusted = () if source.over_http else (*find_trusted_hosts(spec), *source.trusted_hosts)
        setup = {
            **await self._prepare(spec),
            "trusted_hosts": list(dict.fromkeys(trusted)),
            "is_typed": not source.over_http,
        }
        new = NewWorkflow(workflow_id or new_id(), spec, priority, setup, job_id, starts, joins)
        created_id, replayed = await self._store.workflows.add(new, key)
        await self._wake_children(created_id)
        return await self._store.workflows.get(created_id), replayed

    async def get(self, workflow_id: str) -> WorkflowNow:
        return await self._store.workflows.get(workflow_id)

    async def start(self, workflow_id: str) -> WorkflowNow:
        """Start a workflow that was created without being started."""
        now = await self._store.workflows.get(workflow_id)
        if now.status is not WorkflowStatus.PENDING:
            raise WrongState("start the workflow", now.status.value, terminal=now.is_over)
        return await self._apply(now, RunAction.RESUME)

    async def pause(self, workflow_id: str) -> WorkflowNow:
        """Let running steps finish and start no others."""
        now = await self._store.workflows.get(workflow_id)
        if now.status is WorkflowStatus.PENDING:
            raise WrongState("pause the workflow", now.status.value, terminal=False)
        return await self._apply(now, RunAction.PAUSE)

    async def resume(self, workflow_id: str) -> WorkflowNow:
        return await self._apply(await self._store.workflows.get(workflow_id), RunAction.RESUME)

    async def go_on(self, workflow_id: str) -> WorkflowNow:
        """Start a pending workflow, or resume a paused one; leave any other as it is. Several callers may race."""
        now = await self._store.workflows.get(workflow_id)
        if now.status not in (WorkflowStatus.PENDING, WorkflowStatus.PAUSED):
            return now
        try:
            return await self._apply(now, RunAction.RESUME)
        except WrongState:  # another caller was faster
            return await self._store.workflows.get(workflow_id)

    async def cancel(self, workflow_id: str) -> WorkflowNow:
        """Cancel the workflow with every step that has not ended."""
        now = await self._store.workflows.get(workflow_id)
        children = await self._store.workflows.children(now.id)
        cancelled = await self._apply(now, RunAction.CANCEL)
        for run_id in children:
            self._abort(run_id)
        return cancelled

    async def recover(self, workflow_id: str, from_step: str | None = None) -> WorkflowNow:
        """Execute unsuccessful steps again; completed steps are never repeated."""
        now = await self._store.workflows.get(workflow_id)
        await self._store.workflows.recover(now.id, from_step)
        await self._wake_children(now.id)
        return await self._store.workflows.get(now.id)

    async def _apply(self, now: WorkflowNow, action: RunAction) -> WorkflowNow:
        await self._store.runs.apply_action(now.run.id, action)
        await self._wake_children(now.id)
        return await self._store.workflows.get(now.id)

    async def _wake_children(self, workflow_id: str) -> None:
        """Send hints for children that can start now.

        Later steps need none: the node that settles a step looks for more.
        """
        children = await self._store.workflows.list_claimable(workflow_id)
        self._wake(*children)
