"""Build the application: routes, limits, error handlers, dashboard."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles

import corral
from corral.api import problems, render
from corral.api.exports import Exports
from corral.api.guard.methods import MethodTable
from corral.api.guard.request_guard import RequestGuard
from corral.api.http.connections import Connections
from corral.api.http.limits import fit_open_files, limits_of
from corral.api.metrics import Metrics
from corral.api.openapi import Schema, describe_limits
from corral.api.routes import (
    artifacts,
    changes,
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
    settings,
    site_statistics,
    sites,
    supervisor,
    workers,
)
from corral.api.routes.proxies import pool
from corral.api.routes.queue import coverage, loop, scrapyd, tasks
from corral.api.routes.site_work import alerts, campaigns, costs
from corral.api.routes.site_work import configs as site_configs
from corral.api.routes.workflows import workflows
from corral.api.streams import Streams
from corral.wiring.app import App

_STATIC = Path(__file__).parent / "static"
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "font-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# The API reference uses inline styles; it shows only our own schema.
_DOCS_CSP = _CSP.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
# Fixed paths such as /jobs/runs before /jobs/{job_id}.
_ROUTERS = (
    health.router,
    supervisor.router,
    events.router,
    records.router,
    artifacts.router,
    exports.router,
    alerts.router,
    campaigns.router,
    costs.router,
    site_configs.router,
    sites.router,
    workers.router,
    site_statistics.router,
    coverage.router,
    loop.router,
    pool.router,
    runs.router,
    settings.router,
    scraping.router,
    crawls.router,
    sessions.router,
    interventions.router,
    preview.router,
    field_maps.router,
    changes.router,
    tasks.router,
    scrapyd.router,
    workflows.router,
    jobs.router,
)


def create_app(app: App) -> FastAPI:
    metrics, methods = Metrics(), MethodTable()
    api = FastAPI(
        title="Corral",
        version=corral.__version__,
        description=describe_limits(app.settings),
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        middleware=[Middleware(RequestGuard, app=app, count=metrics.count, methods=methods)],
    )
    api.state.corral = app
    api.state.metrics = metrics
    api.state.methods = methods
    api.state.streams = Streams(app.settings.api_max_streams)
    api.state.exports = Exports()
    api.state.connections = Connections(fit_open_files(limits_of(app.settings)))
    problems.install(api)
    for router in _ROUTERS:
        # Not `include_router`: it would build every route, with its validators, a second time.
        api.router.routes.extend(router.routes)
    api.mount("/static", StaticFiles(directory=_STATIC), name="static")

    assets = Path(str(files("fastapi_swagger"))) / "resources"
    api.mount("/docs/assets", StaticFiles(directory=assets), name="docs-assets")
    api.add_api_route("/", _root, include_in_schema=False)
    api.add_api_route("/docs", _page("docs.html", _DOCS_CSP), include_in_schema=False)
    api.add_api_route("/openapi.json", Schema(api, app.settings).answer, include_in_schema=False)
    methods.add(api.routes)
    return api


async def _root(request: Request) -> Response:
    """Serve the dashboard, or a short description of the service to a client that accepts JSON."""
    accept = request.headers.get("accept", "")
    if "application/json" not in accept or "text/html" in accept:
        return await _page("index.html", _CSP)()
    description = {"name": "Corral", "version": corral.__version__, "status": "running", "docs": "/docs"}
    return render.answer(description)


def _page(name: str, policy: str) -> Callable[[], Awaitable[Response]]:
    async def page() -> Response:
        headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
        return FileResponse(_STATIC / name, headers=headers)

    return page
