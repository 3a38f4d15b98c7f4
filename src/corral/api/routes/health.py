"""Health, readiness and metrics."""

import asyncio
from collections import Counter
from typing import Any

from fastapi import Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.api.schemas.common import Health
from corral.domain.campaigns.site_work import site_health
from corral.domain.errors import CorralError
from corral.domain.runs.node import NEGLECTED_AFTER_S, REMEDY, NodeState

router = make_router("health")

_ANSWER_S = 2.0
_MAX_FAILING_SITES = 20


async def _database(corral: Corral) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_ANSWER_S):
            counts = await corral.store.runs.count_live()
            await corral.store.maintenance.check_damage()
    except (CorralError, TimeoutError) as error:
        return {"status": "down", "reason": str(error) or "no answer in time"}
    return {"status": "up", "runs": counts}


async def _describe_neglect(corral: Corral) -> str | None:
    """Describe due runs that no live node would claim; None if there are none."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            found = await corral.store.runs.find_neglected(NEGLECTED_AFTER_S)
    except (CorralError, TimeoutError):
        return None  # the state of the database is reported separately
    return "; ".join([*(each.sentence for each in found), REMEDY]) if found else None


async def _describe_nodes(corral: Corral) -> dict[str, Any]:
    """Describe the live nodes, for a process without its own node."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            found = [each for each in await corral.store.nodes.list_all() if each.state is NodeState.LIVE]
    except (CorralError, TimeoutError):
        return {}
    executing = sum(each.holding for each in found)
    return {"status": "up" if found else "none", "count": sum(each.processes for each in found), "executing": executing}


def _add_server(request: Request, components: dict[str, dict[str, Any]], status: str) -> str:
    """Add the state of the HTTP server: connections and streams."""
    state = request.app.state
    components |= {"connections": state.connections.describe(), "streams": state.streams.describe()}
    is_full = any(components[name]["status"] == "full" for name in ("connections", "streams"))
    return "degraded" if is_full and status == "healthy" else status


async def _add_loop(corral: Corral, components: dict[str, dict[str, Any]], status: str) -> str:
    """Add the state of the loop if it is on; it is degraded while its reconciliations fail."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            state = await corral.store.loop.read()
    except (CorralError, TimeoutError):
        return status  # the state of the database is reported separately
    if not state.is_on:
        return status
    components["loop"] = {"status": "degraded" if state.failures else "up", "failures": state.failures}
    if state.failures:
        components["loop"]["reason"] = str(state.last.get("problem") or "the last reconciliation failed")
        return "degraded" if status == "healthy" else status
    return status


async def _add_sites(corral: Corral, components: dict[str, dict[str, Any]]) -> None:
    """Add the sites of open campaigns, as their reports classify them. Failing sites do not degrade this server."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            sites = await corral.store.campaigns.list_open_sites()
    except (CorralError, TimeoutError):
        return
    if not sites:
        return
    health = [(site, site_health(counts)) for site, counts in sites]
    failing = [site for site, state in health if state == "failing"]
    by_health = dict(Counter(state for _, state in health))
    components["sites"] = {"status": "degraded" if failing else "up", "count": len(sites), "by_health": by_health}
    if failing:
        components["sites"]["failing"] = failing[:_MAX_FAILING_SITES]


@router.get("/health", response_model=Health)
async def health(request: Request, corral: Corral) -> Response:
    database = await _database(corral)
    counts = database.pop("runs", None)
    components: dict[str, dict[str, Any]] = {"database": database}
    if counts is not None:
        components["runs"] = counts
    status = "healthy" if database["status"] == "up" else "unhealthy"
    if database["status"] == "up" and (neglect := await _describe_neglect(corral)):
        components["workers"] = {"status": "degraded", "reason": neglect}
        status = "degraded"
    if corral.node is None and database["status"] == "up":
        components["workers"] = {**await _describe_nodes(corral), **components.get("workers", {})}
    if corral.node is not None:
        node = corral.node
        components["workers"] = {
            "status": "up" if node.worker_count else "down",
            "count": node.worker_count,
            "executing": node.executing,
            **components.get("workers", {}),
        }
        if status == "healthy" and not node.worker_count:
            status = "degraded"
        if node.storage_problem is not None:
            components["dispatcher"] = {"status": "paused: storage", "reason": node.storage_problem}
            status = "degraded" if status == "healthy" else status
    if corral.broker is not None:
        broker = corral.broker
        components["broker"] = {"status": "up" if broker.is_up else "down"}
        if broker.problem is not None:
            # No run is lost: the nodes poll the database instead.
            components["broker"]["reason"] = broker.problem
            status = "degraded" if status == "healthy" else status
    status = await _add_loop(corral, components, status)
    await _add_sites(corral, components)
    status = _add_server(request, components, status)
    return render.answer({"status": status, "components": components}, 503 if status == "unhealthy" else 200)


@router.get("/ready")
async def ready(corral: Corral) -> Response:
    if corral.draining:
        return render.answer({"ready": False, "reason": "stopping"}, 503, {"Retry-After": "5"})
    database = await _database(corral)
    if database["status"] != "up":
        return render.answer({"ready": False, "reason": database["reason"]}, 503, {"Retry-After": "1"})
    return render.answer({"ready": True})


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, corral: Corral) -> Response:
    body = await request.app.state.metrics.render(corral)
    return Response(body, media_type=CONTENT_TYPE_LATEST)
