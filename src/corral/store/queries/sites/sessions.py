"""Sessions of jobs, as the vault sealed them. Nothing here can open one.

The version of a session is also stored in `corral_meta`, and that copy is authoritative: a row restored to an
earlier version does not match it, and its seal does not open.
"""

import sqlalchemy as sa

from corral.domain.errors import JobNotFound, SessionChanged, SessionNotFound
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.sites.session import CheckResult, NewSession, SealedSession, SessionInfo
from corral.store.queries import idempotency
from corral.store.rows import at, from_json, maybe_at, to_json
from corral.store.tables import jobs, meta, sessions
from corral.store.tx import LAST_ID, Row, Tx, insert_all, param, values

_VERSION = (
    sa.select(sa.cast(meta.c.value, sa.Integer)).where(meta.c.key == "session:" + sessions.c.id).scalar_subquery()
)
_INFO = sa.select(
    sessions.c.id,
    sessions.c.job_id,
    sessions.c.name,
    sessions.c.version,
    sessions.c.kid,
    sessions.c.about,
    sessions.c.created_at,
    sessions.c.updated_at,
    sessions.c.checked_at,
    sessions.c.check_result,
)
_SEALED = sa.select(
    sessions.c.id,
    sessions.c.job_id,
    sa.func.coalesce(_VERSION, 0),
    sessions.c.kid,
    sessions.c.wrapped_key,
    sessions.c.box,
)
_GET = _INFO.where(sessions.c.id == param("id"))
_NEWER_FIRST = (sessions.c.updated_at.desc(), sessions.c.id.desc())
_LIST = _INFO.where(sessions.c.id < param("before")).order_by(sessions.c.id.desc()).limit(param("limit"))
_LIST_OF_JOB = (
    _INFO.where(sessions.c.job_id == param("job_id"), sessions.c.id < param("before"))
    .order_by(sessions.c.id.desc())
    .limit(param("limit"))
)
_NAMED = sa.select(sessions.c.id, sa.func.coalesce(_VERSION, 0)).where(
    sessions.c.job_id == param("job_id"), sessions.c.name == param("name")
)
_NEWEST_SEALED = _SEALED.where(sessions.c.job_id == param("job_id")).order_by(*_NEWER_FIRST).limit(1)
_SEALED_BY_ID = _SEALED.where(sessions.c.id == param("id"))
_SEALED_UNDER_OTHERS = (
    _SEALED.where(sessions.c.kid != param("kid"), sessions.c.id > param("after"))
    .order_by(sessions.c.id)
    .limit(param("limit"))
)
_INSERT = insert_all(sessions, without=("checked_at", "check_result"))
_REPLACE = (
    sa.update(sessions)
    .where(sessions.c.id == param("id"))
    .values(
        version=param("version"),
        kid=param("kid"),
        wrapped_key=param("wrapped_key"),
        box=param("box"),
        about=param("about"),
        updated_at=param("updated_at"),
        checked_at=sa.null(),
        check_result=sa.null(),
    )
)
# A writer that read version n writes n + 1; of two concurrent writers, the second is refused and reads again.
_RAISE = (
    sa.update(meta).where(meta.c.key == param("key"), meta.c.value == param("before")).values(value=param("version"))
)
_FIRST = insert_all(meta)
_REWRAP = (
    sa.update(sessions)
    .where(sessions.c.id == param("id"), sessions.c.kid == param("old_kid"), sessions.c.box == param("box"))
    .values(kid=param("kid"), wrapped_key=param("wrapped_key"))
)
_CHECKED = (
    sa.update(sessions)
    .where(sessions.c.id == param("id"), sessions.c.version == param("version"))
    .values(checked_at=param("checked_at"), check_result=param("check_result"))
)
_KIDS = sa.select(sessions.c.kid, sa.func.count()).group_by(sessions.c.kid)
_DELETE = sa.delete(sessions).where(sessions.c.id == param("id"))
_FORGET = sa.delete(meta).where(meta.c.key == param("key"))
_IDS_OF_JOB = sa.select(sessions.c.id).where(sessions.c.job_id == param("job_id"))
_JOB = sa.select(jobs.c.id).where(jobs.c.id == param("job_id"))


def _info(row: Row) -> SessionInfo:
    id_, job_id, name, version, kid, about, created, updated, checked, result = row
    found = CheckResult(result) if result else CheckResult.UNCHECKED
    return SessionInfo(
        id_, job_id, name, version, kid, from_json(about), at(created), at(updated), maybe_at(checked), found
    )


def _key(session_id: str) -> str:
    return f"session:{session_id}"


def find(tx: Tx, job_id: str, name: str) -> tuple[str, int] | None:
    """Return id and version of the session of this name, for sealing the next version."""
    rows = tx.all(_NAMED, values(job_id=job_id, name=name))
    return (rows[0][0], int(rows[0][1])) if rows else None


def put(tx: Tx, new: NewSession, key: IdempotencyKey | None = None) -> tuple[str, bool]:
    """Write a session or its next version; SessionChanged if that version was written concurrently.

    For a key used before, return the earlier id and True.
    """
    sealed = new.sealed
    if not tx.all(_JOB, values(job_id=sealed.job_id)):
        raise JobNotFound(sealed.job_id)
    if key is not None:
        ours = f"{sealed.id} {sealed.version}"
        found = idempotency.find_or_add(tx, key, ours)
        if found is not None:
            # The same version means that this request was committed before and only its answer was lost.
            return found.split()[0], found != ours
    if tx.is_repeat and find(tx, sealed.job_id, new.name) == (sealed.id, sealed.version):
        return sealed.id, False
    _take_version(tx, new)
    row = values(
        id=sealed.id,
        job_id=sealed.job_id,
        name=new.name,
        version=sealed.version,
        kid=sealed.kid,
        wrapped_key=sealed.wrapped_key,
        box=sealed.box,
        about=to_json(new.about),
        created_at=tx.wall_ms,
        updated_at=tx.wall_ms,
    )
    tx.run(_INSERT if sealed.version == 1 else _REPLACE, row)
    return sealed.id, False


def _take_version(tx: Tx, new: NewSession) -> None:
    sealed = new.sealed
    current = find(tx, sealed.job_id, new.name)
    if sealed.version == 1:
        if current is not None:
            raise SessionChanged
        tx.run(_FIRST, values(key=_key(sealed.id), value="1"))
        return
    raised = values(key=_key(sealed.id), before=str(sealed.version - 1), version=str(sealed.version))
    if current is None or current[0] != sealed.id or tx.run(_RAISE, raised) == 0:
        raise SessionChanged


def get(tx: Tx, session_id: str) -> SessionInfo:
    rows = tx.all(_GET, values(id=session_id))
    if not rows:
        raise SessionNotFound(session_id)
    return _info(rows[0])


def newest(tx: Tx, job_id: str | None, before: str | None, limit: int) -> list[SessionInfo]:
    params = values(before=before or LAST_ID, limit=limit)
    if job_id is None:
        return [_info(row) for row in tx.all(_LIST, params)]
    return [_info(row) for row in tx.all(_LIST_OF_JOB, {**params, **values(job_id=job_id)})]


def newest_sealed(tx: Tx, job_id: str) -> SealedSession | None:
    """Return the session that runs of the job use."""
    rows = tx.all(_NEWEST_SEALED, values(job_id=job_id))
    return SealedSession(*rows[0]) if rows else None


def get_sealed(tx: Tx, session_id: str) -> SealedSession:
    rows = tx.all(_SEALED_BY_ID, values(id=session_id))
    if not rows:
        raise SessionNotFound(session_id)
    return SealedSession(*rows[0])


def under_other_keys(tx: Tx, kid: str, after: str, limit: int) -> list[SealedSession]:
    return [SealedSession(*row) for row in tx.all(_SEALED_UNDER_OTHERS, values(kid=kid, after=after, limit=limit))]


def rewrap(tx: Tx, rewrapped: SealedSession, old_kid: str) -> bool:
    """Wrap the data key with another key; False if the session was changed concurrently."""
    params = values(
        id=rewrapped.id,
        old_kid=old_kid,
        box=rewrapped.box,
        kid=rewrapped.kid,
        wrapped_key=rewrapped.wrapped_key,
    )
    return tx.run(_REWRAP, params) == 1


def note_check(tx: Tx, session_id: str, version: int, result: CheckResult) -> None:
    tx.run(_CHECKED, values(id=session_id, version=version, checked_at=tx.wall_ms, check_result=result.value))


def kids(tx: Tx) -> dict[str, int]:
    """Return the number of sessions sealed under each key."""
    return {row[0]: int(row[1]) for row in tx.all(_KIDS)}


def delete(tx: Tx, session_id: str) -> None:
    tx.run(_FORGET, values(key=_key(session_id)))
    if tx.run(_DELETE, values(id=session_id)) == 0:
        raise SessionNotFound(session_id)


def delete_of_job(tx: Tx, job_id: str) -> None:
    for row in tx.all(_IDS_OF_JOB, values(job_id=job_id)):
        delete(tx, row[0])
