"""The application: routes, limits, error shape, dashboard."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

from fastapi import Depends, FastAPI
from starlette.middleware import Middleware
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

import corral
from corral.api import problems
from corral.api.exports import Exports
from corral.api.gate import Gate
from corral.api.metrics import Metrics
from corral.api.query import check_query
from corral.api.routes import (
    artifacts,
    crawls,
    events,
    exports,
    field_maps,
    health,
    interventions,
    jobs,
    preview,
    records,
    runs,
    scraping,
    sessions,
    site_statistics,
    sites,
    supervisor,
    workers,
)
from corral.api.schemas import ProblemBody
from corral.api.streams import Streams
from corral.wiring import App

_STATIC = Path(__file__).parent / "static"
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# The API reference styles its parts inline; it shows our own schema only.
_DOCS_CSP = _CSP.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
_ERRORS = {status: {"model": ProblemBody} for status in (401, 403, 404, 409, 413, 415, 422, 429, 503, 507)}


def create_app(app: App) -> FastAPI:
    metrics = Metrics()
    api = FastAPI(
        title="Corral",
        version=corral.__version__,
        description="Say what to collect; Corral decides how, runs it, and shows what happened.",
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        responses=_ERRORS,  # type: ignore[arg-type]
        dependencies=[Depends(check_query)],
        middleware=[Middleware(Gate, app=app, count=metrics.count)],
    )
    api.state.corral = app
    api.state.metrics = metrics
    api.state.streams = Streams()
    api.state.exports = Exports()
    problems.install(api)
    # Fixed paths such as /jobs/runs before /jobs/{job_id}.
    for router in (
        health.router,
        supervisor.router,
        events.router,
        records.router,
        artifacts.router,
        exports.router,
        sites.router,
        workers.router,
        site_statistics.router,
        runs.router,
        scraping.router,
        crawls.router,
        sessions.router,
        interventions.router,
        preview.router,
        field_maps.router,
        jobs.router,
    ):
        api.include_router(router)
    api.mount("/static", StaticFiles(directory=_STATIC), name="static")

    assets = Path(str(files("fastapi_swagger"))) / "resources"
    api.mount("/docs/assets", StaticFiles(directory=assets), name="docs-assets")
    api.add_api_route("/", _page("index.html", _CSP), include_in_schema=False)
    api.add_api_route("/docs", _page("docs.html", _DOCS_CSP), include_in_schema=False)
    return api


def _page(name: str, policy: str) -> Callable[[], Awaitable[Response]]:
    async def page() -> Response:
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
        return FileResponse(_STATIC / name, headers=headers)

    return page
