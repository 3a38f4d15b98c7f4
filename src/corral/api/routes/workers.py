"""Nodes, the runs they hold, and the queues."""

from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Limit
from corral.api.routing import make_router
from corral.views.nodes import (
    HeldRunRead,
    NodeRead,
    QueueRead,
    node_read,
    queue_read,
    to_held_run_read,
)

router = make_router("workers")


@router.get("/workers", response_model=list[NodeRead])
async def list_workers(corral: Corral, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List the nodes. A node that died is listed as lost for an hour, or until its runs were requeued."""
    found = await corral.store.nodes.list_all(render.cursor_owner(cursor), limit)
    return render.page([node_read(each) for each in found], found[-1].info.owner if found else None, limit)


@router.get("/workers/{owner}/runs", response_model=list[HeldRunRead])
async def list_held_runs(
    corral: Corral,
    owner: Annotated[str, Path(max_length=32, pattern=r"^[0-9a-f]{32}$")],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List the runs that a node holds now, oldest first."""
    found = await corral.store.nodes.runs_of(owner, render.cursor_id(cursor) or "", limit)
    return render.page([to_held_run_read(each) for each in found], found[-1].id if found else None, limit)


@router.get("/queues", response_model=list[QueueRead])
async def list_queues(corral: Corral) -> Response:
    """Count due, scheduled, held and running runs by queue and priority, with the age of the oldest due run."""
    broker = corral.broker_now
    return render.answer([queue_read(each, broker) for each in await corral.store.runs.count_queues()])
