"""Export the records of runs as files."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from corral.api import exports
from corral.api.deps import Corral, Id
from corral.api.routing import make_router
from corral.api.schemas.scraping import crawl_of
from corral.domain.crawl.payload import CrawlPayload
from corral.domain.records.changes import RunComparison
from corral.domain.runs.run import Run
from corral.engine.usecases.changes import compare_for_export
from corral.export.formats import Format
from corral.export.stream import Export

router = make_router("exports")

_CONTENT = {
    200: {
        "content": {kind.content_type: {} for kind in Format},
        "description": "The file, streamed; if the connection ends early, the file is incomplete",
    }
}
Changes = Annotated[bool, Query(description="only new, changed and gone rows, with the column `_change`")]
Earlier = Annotated[Id | None, Query(description="with only_changes: the earlier run; default: the last complete one")]
Withheld = Annotated[
    bool, Query(description="also export records that are withheld because of the verdict on their run")
]
RequestedFormat = Annotated[Format | None, Query(alias="format", description="warc needs a crawl with stored pages")]


@router.get("/jobs/runs/{run_id}/export", response_class=Response, responses=_CONTENT)  # type: ignore[arg-type]
async def export_run(  # noqa: PLR0917 - a parameter each
    request: Request,
    run_id: Id,
    corral: Corral,
    kind: RequestedFormat = None,
    only_changes: Changes = False,
    since: Earlier = None,
    withheld: Withheld = False,
) -> Response:
    """Export all records of a run, as JSON by default; for a run in progress, the records so far."""
    run = await corral.store.runs.get(str(run_id))
    changes = await _compare(corral, run, only_changes, since)
    return await exports.answer(request, Export(run, kind or Format.JSON, changes=changes, with_withheld=withheld))


@router.get("/scraping/tasks/{task_id}/export", response_class=Response, responses=_CONTENT)  # type: ignore[arg-type]
async def export_task(  # noqa: PLR0917 - a parameter each
    request: Request,
    task_id: Id,
    corral: Corral,
    kind: RequestedFormat = None,
    only_changes: Changes = False,
    since: Earlier = None,
    withheld: Withheld = False,
) -> Response:
    """Export all records of a task, in its `export_format` by default."""
    run = crawl_of(await corral.store.runs.get(str(task_id)))
    default = run.payload.read(CrawlPayload).about.get("export_format", Format.JSON.value)
    changes = await _compare(corral, run, only_changes, since)
    format_ = kind or Format(default)
    return await exports.answer(request, Export(run, format_, changes=changes, with_withheld=withheld))


async def _compare(corral: Corral, run: Run, only_changes: bool, since: Id | None) -> RunComparison | None:
    return await compare_for_export(
        corral.store.runs, run, only_changes=only_changes, since=None if since is None else str(since)
    )
