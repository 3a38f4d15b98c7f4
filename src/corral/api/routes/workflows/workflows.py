"""Workflows: create, list, read, start, pause, resume, cancel, recover."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import PlainTextResponse, Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Key, Limit, replay_header
from corral.api.routing import make_router
from corral.api.schemas.workflows import (
    StepItemRead,
    StepKindRead,
    TemplateRead,
    WorkflowCreate,
    WorkflowProgress,
    WorkflowRead,
    WorkflowRecover,
    WorkflowStatusName,
    WorkflowSummary,
)
from corral.domain.errors import BadInput
from corral.domain.jobs.job import Priority
from corral.domain.workflows.access import DefinitionSource
from corral.domain.workflows.kinds.registry import STEP_KINDS
from corral.domain.workflows.now import WorkflowNow
from corral.domain.workflows.spec import find_step_key
from corral.domain.workflows.states import states_behind
from corral.domain.workflows.templates.registry import TEMPLATES
from corral.views.workflows import mermaid, progress_view, summary_view, workflow_view

router = make_router("workflows")

Status = Annotated[WorkflowStatusName | None, Query()]
StepKey = Annotated[str, Path(max_length=64)]
_MAX_ITEMS = 1000
_BATCH = 200


@router.post("/workflows", response_model=WorkflowRead, status_code=201)
async def create_workflow(body: WorkflowCreate, corral: Corral, key: Key) -> Response:
    """Create a workflow from a definition or a template, and start it."""
    source = DefinitionSource(over_http=True, modules=corral.settings.workflow_modules)
    spec = corral.workflows.check(body.definition, template=body.template, parameters=body.parameters, source=source)
    now, replayed = await corral.workflows.create(
        spec,
        job_id=None if body.job_id is None else str(body.job_id),
        priority=Priority[body.priority.upper()],
        starts=body.start,
        source=source,
        key=key,
    )
    return render.answer(workflow_view(now, corral.settings.transport), 201, headers=replay_header(replayed))


@router.get("/workflows", response_model=list[WorkflowSummary])
async def list_workflows(
    corral: Corral,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: Status = None,
    job_id: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    found = await _find(corral, status, job_id, render.cursor_id(cursor), limit)
    views = [summary_view(now, corral.settings.transport) for now in found]
    return render.page(views, found[-1].id if found else None, limit)


async def _find(
    corral: Corral, status: WorkflowStatusName | None, job_id: str | None, before: str | None, limit: int
) -> list[WorkflowNow]:
    """Find workflows by status. Pending and paused, running and recovering share a state, so they are filtered here."""
    store = corral.store.workflows
    if status is None:
        return await store.newest(None, before, limit, job_id=job_id)
    found: list[WorkflowNow] = []
    states = states_behind(status)
    while len(found) < limit and (batch := await store.newest(states, before, _BATCH, job_id=job_id)):
        found += [now for now in batch if now.status == status]
        before = batch[-1].id
    return found[:limit]


@router.get("/workflows/templates", response_model=list[TemplateRead])
async def list_templates() -> Response:
    return render.answer([template.document() for template in TEMPLATES.values()])


@router.get("/workflows/step-kinds", response_model=list[StepKindRead])
async def list_step_kinds() -> Response:
    return render.answer(
        [
            {
                "name": kind.name,
                "summary": kind.summary,
                "required": list(kind.required),
                "options": None if kind.options is None else list(kind.options),
            }
            for kind in STEP_KINDS.values()
        ]
    )


@router.get("/workflows/{workflow_id}", response_model=WorkflowRead)
async def read_workflow(workflow_id: Id, corral: Corral) -> Response:
    return render.answer(workflow_view(await corral.workflows.get(str(workflow_id)), corral.settings.transport))


@router.get("/workflows/{workflow_id}/progress", response_model=WorkflowProgress)
async def read_progress(workflow_id: Id, corral: Corral) -> Response:
    return render.answer(progress_view(await corral.workflows.get(str(workflow_id)), corral.settings.transport))


@router.get("/workflows/{workflow_id}/mermaid", response_class=PlainTextResponse)
async def read_graph(workflow_id: Id, corral: Corral) -> Response:
    """Return the graph of the steps as Mermaid, coloured by their states."""
    now = await corral.workflows.get(str(workflow_id))
    return PlainTextResponse(mermaid(now.spec, now))


@router.get("/workflows/{workflow_id}/definition")
async def read_definition(workflow_id: Id, corral: Corral) -> Response:
    now = await corral.workflows.get(str(workflow_id))
    return render.answer(now.spec.document())


@router.get("/workflows/{workflow_id}/steps/{step_key}/items", response_model=list[StepItemRead])
async def list_items(workflow_id: Id, step_key: StepKey, corral: Corral) -> Response:
    """List the children of a step with for_each, in order."""
    now = await corral.workflows.get(str(workflow_id))
    if step_key not in now.spec.by_key:
        hint = f"the steps are {', '.join(now.spec.by_key)}"
        raise BadInput(f"there is no step {step_key!r}", field="step_key", hint=hint)
    return render.answer(await corral.store.workflows.items_of(now.id, step_key, _MAX_ITEMS))


@router.post("/workflows/{workflow_id}/start", response_model=WorkflowRead)
async def start_workflow(workflow_id: Id, corral: Corral) -> Response:
    return render.answer(workflow_view(await corral.workflows.start(str(workflow_id)), corral.settings.transport))


@router.post("/workflows/{workflow_id}/pause", response_model=WorkflowRead)
async def pause_workflow(workflow_id: Id, corral: Corral) -> Response:
    """Pause a workflow: running steps finish, and no step starts."""
    return render.answer(workflow_view(await corral.workflows.pause(str(workflow_id)), corral.settings.transport))


@router.post("/workflows/{workflow_id}/resume", response_model=WorkflowRead)
async def resume_workflow(workflow_id: Id, corral: Corral) -> Response:
    return render.answer(workflow_view(await corral.workflows.resume(str(workflow_id)), corral.settings.transport))


@router.post("/workflows/{workflow_id}/cancel", response_model=WorkflowRead)
async def cancel_workflow(workflow_id: Id, corral: Corral) -> Response:
    return render.answer(workflow_view(await corral.workflows.cancel(str(workflow_id)), corral.settings.transport))


@router.post("/workflows/{workflow_id}/recover", response_model=WorkflowRead)
async def recover_workflow(workflow_id: Id, corral: Corral, body: WorkflowRecover | None = None) -> Response:
    """Execute the steps that did not succeed again, as a new run of the workflow."""
    now = await corral.workflows.get(str(workflow_id))
    requested_step = None if body is None else body.from_step
    from_step = None if requested_step is None else find_step_key(now.spec, requested_step)
    recovering = await corral.workflows.recover(str(workflow_id), from_step)
    return render.answer(workflow_view(recovering, corral.settings.transport))
