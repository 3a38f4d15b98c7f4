"""The changes between two runs of a job, and the schema of its records."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Limit
from corral.api.routing import make_router
from corral.api.schemas.common import JobChanges
from corral.domain.records.changes import RowChange
from corral.domain.records.record_schema import describe_records
from corral.engine.usecases.changes import compare_runs_of_job
from corral.views.changes import changes_read

router = make_router("jobs")

_SCHEMA = {200: {"content": {"application/schema+json": {}}, "description": "A JSON Schema"}}
_DEFAULT_KINDS = frozenset(RowChange) - {RowChange.UNCHANGED}
Kinds = Annotated[
    list[RowChange] | None, Query(max_length=5, description="only rows of these kinds; all but `unchanged`")
]
Later = Annotated[Id | None, Query(description="the later run; default: the latest that ended")]
Earlier = Annotated[
    Id | None, Query(description="the earlier run; default: the one before that was completed or partial")
]


@router.get("/jobs/{job_id}/changes", response_model=JobChanges)
async def list_changes(  # noqa: PLR0917 - a parameter each
    job_id: Id,
    corral: Corral,
    run_id: Later = None,
    since: Earlier = None,
    kind: Kinds = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """Compare two runs of a job. A row that a run lacks is `unknown`, and not `gone`, if the run was not complete."""
    await corral.store.jobs.get(str(job_id))
    runs = (str(run_id) if run_id else None, str(since) if since else None)
    comparison = await compare_runs_of_job(corral.store.runs, str(job_id), *runs)
    kinds = frozenset(kind) if kind else _DEFAULT_KINDS
    after = render.cursor_in_parts(cursor)
    page = await corral.store.records.list_changes(comparison, kinds, after, limit)
    counts = await corral.store.records.count_changes(comparison)
    headers = {"X-Next-Cursor": render.cursor_of(page.cursor)} if page.cursor else None
    return render.answer(changes_read(str(job_id), comparison, counts, page.rows), headers=headers)


@router.get("/jobs/{job_id}/schema", response_class=Response, responses=_SCHEMA)  # type: ignore[arg-type]
async def get_schema(job_id: Id, corral: Corral) -> Response:
    """Describe the records of a job, from its fields, types and rules, as JSON Schema (draft 2020-12)."""
    job = (await corral.store.jobs.get(str(job_id))).job
    return Response(render.dumps(describe_records(job)), media_type="application/schema+json")
