"""Sessions of jobs: the state of a login. Answers describe a session, and never contain its values."""

from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Key, Limit, replay_header
from corral.api.routing import make_router
from corral.api.schemas.common import Deleted
from corral.api.schemas.sessions import SessionCheckRead, SessionCreate, SessionRead
from corral.views.sessions import check_read, session_read

router = make_router("sessions")


@router.get("/jobs/sessions", response_model=list[SessionRead])
async def list_sessions(corral: Corral, limit: Limit = 50, cursor: Cursor = None, job_id: Id | None = None) -> Response:
    found = await corral.store.sessions.newest(str(job_id) if job_id else None, render.cursor_id(cursor), limit)
    return render.page([session_read(each) for each in found], found[-1].id if found else None, limit)


@router.post("/jobs/sessions", response_model=SessionRead)
async def put_session(body: SessionCreate, corral: Corral, key: Key) -> Response:
    """Encrypt and store a session. It replaces a session of the same job and name."""
    info, replayed = await corral.sessions.put(str(body.job_id), body.draft(), key)
    return render.answer(session_read(info), headers=replay_header(replayed))


@router.delete("/jobs/sessions/{session_id}", response_model=Deleted)
async def delete_session(session_id: Id, corral: Corral) -> Response:
    await corral.store.sessions.delete(str(session_id))
    return render.answer({"message": f"session {session_id} is deleted"})


@router.post("/jobs/sessions/{session_id}/validate", response_model=SessionCheckRead)
async def validate_session(session_id: Id, corral: Corral) -> Response:
    """Request the target of the job with this session, to check whether the login is still valid."""
    return render.answer(check_read(str(session_id), await corral.sessions.check(str(session_id))))
