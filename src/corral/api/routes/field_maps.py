"""Field maps: how each field of a job is found."""

from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Id
from corral.api.routing import make_router
from corral.api.schemas.preview import (
    FieldMapsBody,
    FieldMapsCheck,
    FieldMapsChecked,
    FieldMapsRead,
    field_maps_checked,
    field_maps_read,
)
from corral.engine.usecases.field_maps import check_maps

router = make_router("field maps")


@router.get("/jobs/{job_id}/field-maps", response_model=FieldMapsRead)
async def read_field_maps(job_id: Id, corral: Corral) -> Response:
    return render.answer(field_maps_read(await corral.field_maps.of(str(job_id))))


@router.put("/jobs/{job_id}/field-maps", response_model=FieldMapsRead)
async def put_field_maps(job_id: Id, body: FieldMapsBody, corral: Corral) -> Response:
    """Replace or add field maps by name; the others stay. Existing runs keep theirs."""
    return render.answer(field_maps_read(await corral.field_maps.put(str(job_id), body.specs())))


@router.post("/jobs/{job_id}/field-maps/validate", response_model=FieldMapsChecked)
async def validate_field_maps(job_id: Id, corral: Corral, body: FieldMapsCheck | None = None) -> Response:
    """Try field maps on the target of the job, as a run would. Nothing is stored."""
    request = body or FieldMapsCheck()
    specs = request.specs()
    if specs is not None:
        check_maps(specs)
    fields, preview = await corral.previews.look_for_job(str(job_id), specs, prefer_browser=request.prefer_browser)
    return render.answer(field_maps_checked(fields, preview))


@router.delete("/jobs/{job_id}/field-maps/{field:path}", response_model=FieldMapsRead)
async def delete_field_map(job_id: Id, field: Annotated[str, Path(max_length=200)], corral: Corral) -> Response:
    """Delete the field map. The field stays, and is found by its name alone."""
    return render.answer(field_maps_read(await corral.field_maps.remove(str(job_id), field)))
