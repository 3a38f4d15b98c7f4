"""Events of runs, as lists and live as server-sent events."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import Depends, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from corral.api import render
from corral.api.deps import Corral, Id
from corral.api.routing import make_router
from corral.api.schemas.common import RunEventRead
from corral.api.streams import EventFilter, EventStream, Streams, all_events, run_events

router = make_router("events")

_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "server-sent events"}
}
LastEventId = Annotated[str | None, Header(alias="Last-Event-ID", max_length=18, pattern="^[0-9]*$")]


@router.get("/jobs/runs/{run_id}/events", response_model=list[RunEventRead])
async def list_events(
    run_id: Id,
    corral: Corral,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    after: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> Response:
    await corral.store.runs.get(str(run_id))
    found = await corral.store.events.of_run(str(run_id), after, limit)
    return render.answer([render.event(event) for event in found])


@router.get("/jobs/runs/{run_id}/events/stream", response_class=StreamingResponse, responses=_STREAM)
async def stream_run(request: Request, run_id: Id, corral: Corral, last_event_id: LastEventId = None) -> Response:
    await corral.store.runs.get(str(run_id))
    return _streaming(request, run_events(corral, str(run_id), _number(last_event_id) or 0))


async def _parse_filter(
    run_id: Annotated[Id | None, Query(description="only events of this run")] = None,
    level: Annotated[Literal["info", "warn", "error"] | None, Query(description="only events of this level")] = None,
    job_id: Annotated[Id | None, Query(description="only events of runs of this job")] = None,
) -> EventFilter:
    return EventFilter(str(run_id) if run_id else None, level, str(job_id) if job_id else None)


@router.get("/events/stream", response_class=StreamingResponse, responses=_STREAM)
async def stream_all(
    request: Request,
    corral: Corral,
    event_filter: Annotated[EventFilter, Depends(_parse_filter)],
    last_event_id: LastEventId = None,
) -> Response:
    """Stream all events from now on, or after the event that `Last-Event-ID` names."""
    after = _number(last_event_id)
    start = await corral.store.events.last_position() if after is None else after
    return _streaming(request, all_events(corral, start, event_filter))


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def _streaming(request: Request, chunks: AsyncIterator[bytes]) -> Response:
    streams: Streams = request.app.state.streams
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if request.scope["state"].get("is_head"):  # HEAD requests only the headers
        return Response(media_type="text/event-stream", headers=headers)
    return EventStream(streams, chunks, headers)
