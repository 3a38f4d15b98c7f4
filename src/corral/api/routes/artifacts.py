"""Screenshots and HTML of failed pages. Scraped content is served as an image or as text, never executed."""

import asyncio
from typing import Annotated

from fastapi import Path
from starlette.responses import FileResponse, Response

from corral.api import render
from corral.api.deps import Corral, Id
from corral.api.routing import make_router
from corral.domain.errors import ArtifactNotFound
from corral.domain.runs.artifact import ArtifactKind
from corral.files.saved_files import FileFolder
from corral.views.artifacts import ArtifactRead, artifact_read

router = make_router("artifacts")

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-store",
}
_CONTENT = {200: {"content": {"image/png": {}, "text/plain": {}}, "description": "The file itself"}}


@router.get("/jobs/runs/{run_id}/artifacts", response_model=list[ArtifactRead])
async def list_artifacts(run_id: Id, corral: Corral) -> Response:
    await corral.store.runs.get(str(run_id))
    found = await corral.store.artifacts.of_run(str(run_id))
    return render.answer([artifact_read(each) for each in found])


@router.get("/jobs/runs/{run_id}/artifacts/{artifact_id}", response_class=Response, responses=_CONTENT)  # type: ignore[arg-type]
async def read_artifact(run_id: Id, artifact_id: Annotated[str, Path(max_length=64)], corral: Corral) -> Response:
    # The lookup comes first: a file that no run names has no path.
    artifact = (await corral.store.artifacts.get(str(run_id), artifact_id)).artifact
    data = await asyncio.to_thread(corral.artifacts.read, artifact)
    if data is None:
        raise ArtifactNotFound(artifact_id)
    disposition = "inline" if artifact.kind is ArtifactKind.SCREENSHOT else "attachment"
    headers = {**_HEADERS, "Content-Disposition": f'{disposition}; filename="{artifact.file_name}"'}
    return Response(data, media_type=artifact.kind.content_type, headers=headers)


_FILE = {200: {"content": {"application/octet-stream": {}}, "description": "The file itself"}}


@router.get("/jobs/runs/{run_id}/files/{name}", response_class=Response, responses=_FILE)  # type: ignore[arg-type]
async def read_file(run_id: Id, name: Annotated[str, Path(max_length=200)], corral: Corral) -> Response:
    """Return a file that a crawl with `save_files` stored, by the last part of the `path` in its record."""
    path = await asyncio.to_thread(FileFolder(corral.settings.files_dir).path, str(run_id), name)
    if path is None:
        raise ArtifactNotFound(name)
    headers = {**_HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return FileResponse(path, media_type="application/octet-stream", headers=headers)
