"""The three repositories that `JobOrchestrator` accepts. They share one open installation."""

import asyncio

import structlog

from corral.domain.errors import JobNotFound, RunNotFound, WorkflowNotFound
from corral.domain.jobs.job import StoredJob
from corral.domain.runs.payload.workflow import WorkflowPayload
from corral.domain.runs.run import WORKFLOW, RunState
from corral.domain.workflows.states import TaskStatus
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_client
from corral.workflows.models import WorkflowState, WorkflowTask, state_of

_MAX_WORKFLOWS = 1000


class OpenInstallation:
    """An installation that is opened at its first use, and closed with `close` or with the event loop.

    A task of its own holds it open: the end of `asyncio.run` cancels the task, which closes everything in order.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: asyncio.Future[App] | None = None
        self._holder: asyncio.Task[None] | None = None

    async def app(self) -> App:
        loop = asyncio.get_running_loop()
        if self._opened is None or self._loop is not loop:
            if not structlog.is_configured():  # by default it writes to standard output, which belongs to the program
                configure_logging("warning")
            self._loop, self._opened = loop, loop.create_future()
            self._holder = loop.create_task(self._hold(self._opened), name="installation")
        return await asyncio.shield(self._opened)

    async def _hold(self, opened: "asyncio.Future[App]") -> None:
        try:
            async with open_client(self.settings) as app:
                opened.set_result(app)
                await asyncio.Event().wait()
        except Exception as error:  # noqa: BLE001 - passed on to the caller that waits for the installation
            if not opened.done():
                opened.set_exception(error)
            self._opened = None

    async def close(self) -> None:
        holder, self._holder, self._opened = self._holder, None, None
        if holder is not None:
            holder.cancel()
            await asyncio.gather(holder, return_exceptions=True)


class WorkflowStateRepository:
    def __init__(self, installation: OpenInstallation) -> None:
        self.installation = installation

    async def get(self, workflow_id: str) -> WorkflowState | None:
        app = await self.installation.app()
        try:
            return state_of(await app.workflows.get(str(workflow_id)), app.settings.transport)
        except WorkflowNotFound:
            return None

    async def get_by_job_id(self, job_id: str | int) -> WorkflowState | None:
        """Return the newest workflow of a job."""
        app = await self.installation.app()
        workflows = await app.store.workflows.newest(None, None, 1, job_id=str(job_id))
        return state_of(workflows[0], app.settings.transport) if workflows else None

    async def find_by_child_run(self, run_id: str) -> str | None:
        """Return the id of the workflow that started this run."""
        app = await self.installation.app()
        try:
            child = await app.store.runs.get(str(run_id))
            parent = None if child.parent_id is None else await app.store.runs.get(child.parent_id)
        except RunNotFound:
            return None
        return parent.payload.read(WorkflowPayload).workflow_id if parent and parent.kind == WORKFLOW else None

    async def get_active_workflows(self) -> list[WorkflowState]:
        return await self._in_states(RunState.RUNNING)

    async def get_failed_workflows(self) -> list[WorkflowState]:
        return await self._in_states(RunState.FAILED)

    async def get_recoverable_workflows(self) -> list[WorkflowState]:
        app = await self.installation.app()
        return [state_of(now, app.settings.transport) for now in await app.store.workflows.recoverable(_MAX_WORKFLOWS)]

    async def _in_states(self, *states: RunState) -> list[WorkflowState]:
        app = await self.installation.app()
        return [
            state_of(now, app.settings.transport)
            for now in await app.store.workflows.newest(states, None, _MAX_WORKFLOWS)
        ]


class WorkflowTaskRepository:
    def __init__(self, installation: OpenInstallation) -> None:
        self._states = WorkflowStateRepository(installation)

    async def get_by_workflow(self, workflow_id: str) -> list[WorkflowTask]:
        state = await self._states.get(workflow_id)
        return [] if state is None else state.tasks

    async def get_by_celery_task_id(self, celery_task_id: str) -> WorkflowTask | None:
        """Return the task that Celery knows by this id; None without Celery."""
        workflow_id = await self._states.find_by_child_run(celery_task_id)
        tasks = [] if workflow_id is None else await self.get_by_workflow(workflow_id)
        return next((task for task in tasks if task.celery_task_id == celery_task_id), None)

    async def get_by_status(self, workflow_id: str, status: str) -> list[WorkflowTask]:
        return [task for task in await self.get_by_workflow(workflow_id) if task.status == TaskStatus(status)]

    async def get_pending_tasks(self, workflow_id: str) -> list[WorkflowTask]:
        return await self.get_by_status(workflow_id, TaskStatus.PENDING)

    async def get_failed_tasks(self, workflow_id: str) -> list[WorkflowTask]:
        return await self.get_by_status(workflow_id, TaskStatus.FAILED)

    async def get_retryable_tasks(self, workflow_id: str) -> list[WorkflowTask]:
        """Return the tasks that wait for their next attempt, or have attempts left."""
        tasks = await self.get_by_workflow(workflow_id)
        return [task for task in tasks if task.status is TaskStatus.RETRYING and task.retry_count <= task.max_retries]


class JobRepository:
    def __init__(self, installation: OpenInstallation) -> None:
        self._installation = installation

    async def get(self, job_id: str) -> StoredJob | None:
        app = await self._installation.app()
        try:
            return await app.store.jobs.get(str(job_id))
        except JobNotFound:
            return None


def repositories(
    settings: Settings | None = None,
) -> tuple[WorkflowStateRepository, WorkflowTaskRepository, JobRepository]:
    """Return the repositories of the installation that the settings name."""
    shared = OpenInstallation(settings)
    return WorkflowStateRepository(shared), WorkflowTaskRepository(shared), JobRepository(shared)
