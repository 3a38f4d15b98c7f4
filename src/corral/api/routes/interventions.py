"""Interventions: runs that wait for a person."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Limit
from corral.api.routing import make_router
from corral.api.schemas.sessions import InterventionRead, InterventionResolve, intervention_read
from corral.domain.errors import BadInput
from corral.domain.runs.intervention import InterventionStatus

router = make_router("interventions")


@router.get("/interventions", response_model=list[InterventionRead])
async def list_interventions(
    corral: Corral,
    limit: Limit = 50,
    cursor: Cursor = None,
    status: Annotated[InterventionStatus | None, Query()] = None,
) -> Response:
    found = await corral.store.interventions.newest(status, render.cursor_id(cursor), limit)
    return render.page([intervention_read(each) for each in found], found[-1].id if found else None, limit)


@router.get("/interventions/{intervention_id}", response_model=InterventionRead)
async def read_intervention(intervention_id: Id, corral: Corral) -> Response:
    return render.answer(intervention_read(await corral.store.interventions.get(str(intervention_id))))


@router.post("/interventions/{intervention_id}/resolve", response_model=InterventionRead)
async def resolve_intervention(
    intervention_id: Id, corral: Corral, body: InterventionResolve | None = None
) -> Response:
    """Resolve an intervention, optionally with a new session, and resume its run."""
    session = None if body is None else body.session or body.captured_session
    draft, note = None if session is None else session.draft(), {} if body is None else body.note()
    try:
        intervention, run = await corral.sessions.resolve(str(intervention_id), draft, note)
    except BadInput as problem:
        if problem.field and problem.field != "session":
            problem.field = f"session.{problem.field}"
        raise
    return render.answer(intervention_read(intervention, run))
