"""Export the records of runs as files."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from corral.api import exports
from corral.api.deps import Corral, Id
from corral.api.routing import make_router
from corral.api.schemas.scraping import crawl_of
from corral.domain.crawl.payload import CrawlPayload
from corral.export.formats import Format

router = make_router("exports")

_CONTENT = {
    200: {
        "content": {kind.content_type: {} for kind in Format},
        "description": "The file, written while it is read; a connection that ends early is a file that is not whole",
    }
}
Asked = Annotated[Format | None, Query(alias="format", description="warc needs a crawl that kept its pages")]


@router.get("/jobs/runs/{run_id}/export", response_class=Response, responses=_CONTENT)  # type: ignore[arg-type]
async def export_run(request: Request, run_id: Id, corral: Corral, kind: Asked = None) -> Response:
    """Export all records of a run, as JSON by default; for a run in progress, the records so far."""
    return await exports.answer(request, await corral.store.runs.get(str(run_id)), kind or Format.JSON)


@router.get("/scraping/tasks/{task_id}/export", response_class=Response, responses=_CONTENT)  # type: ignore[arg-type]
async def export_task(request: Request, task_id: Id, corral: Corral, kind: Asked = None) -> Response:
    """Export all records of a task, in its `export_format` by default."""
    run = crawl_of(await corral.store.runs.get(str(task_id)))
    chosen = run.payload.read(CrawlPayload).about.get("export_format", Format.JSON.value)
    return await exports.answer(request, run, kind or Format(chosen))
