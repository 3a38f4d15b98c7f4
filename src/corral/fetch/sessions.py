"""Open sealed sessions inside a worker, for the run that needs one; the content is never stored."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corral.domain.net.url import Target
from corral.domain.ports.execution import Executor, Task
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Outcome
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.secret import without
from corral.domain.sites.session import SealedSession, SessionState
from corral.fetch.faults import fault
from corral.secrets.vault import Keyring, SealBroken


class SessionKeys:
    """The vault keys of this worker; the node sends them again when a key is added."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._ring = Keyring.parse(texts)

    def replace(self, texts: Sequence[str]) -> None:
        self._ring = Keyring.parse(texts)

    def open(self, sealed: SealedSession) -> SessionState:
        return self._ring.open(sealed)

    def open_text(self, sealed: str, bound: str) -> str:
        return self._ring.open_text(sealed, bound).reveal()


class WithSession:
    """Opens the session of a run before another executor runs it."""

    def __init__(self, inner: Executor, keys: SessionKeys) -> None:
        self._inner = inner
        self._keys = keys

    async def execute(self, task: Task) -> Outcome:
        opened = open_session(task, self._keys)
        if isinstance(opened, Failed):
            return opened
        outcome = await self._inner.execute(opened)
        state = opened.session
        return mark_expired_session(_redact(outcome, state)) if isinstance(state, SessionState) else outcome


def open_session(task: Task, keys: SessionKeys) -> Task | Failed:
    """Return the task with its session opened, if it needs or has one."""
    if not isinstance(task.session, SealedSession):
        return fault("blocked:no_session") if task.payload.read(CommonPayload).requires_auth else task
    if not task.payload.read(CommonPayload).needs_login:
        return task
    try:
        state = keys.open(task.session)
    except SealBroken as problem:
        return fault("policy:auth_state_invalid", str(problem))
    if state.is_over(time.time()):
        return Failed(FailureCode.BLOCKED, "every cookie of the session has expired", "session_expired")
    return replace(task, session=state)


def _redact(outcome: Outcome, state: SessionState) -> Outcome:
    """Remove all session values from text for events and logs."""
    if isinstance(outcome, Deferred):
        return outcome
    secrets = state.secrets()
    if isinstance(outcome, Failed):
        fields: dict[str, Any] = {"message": outcome.message, "traceback": outcome.traceback, "stats": outcome.stats}
    else:
        fields = {"stats": outcome.stats}
    return replace(outcome, **without(fields, secrets))


def mark_expired_session(outcome: Outcome) -> Outcome:
    """Turn a login prompt, in a run with a session, into the failure of an expired session."""
    if not isinstance(outcome, Failed) or outcome.code is not FailureCode.BLOCKED:
        return outcome
    if outcome.http_status != 401 and outcome.detail != "login_wall":
        return outcome
    dead = fault("blocked:session_expired", outcome.message)
    return replace(dead, http_status=outcome.http_status, stats=outcome.stats, artifacts=outcome.artifacts)


def credentials_of(task: Task, target: Target) -> dict[str, str]:
    """Return the session headers for a target; empty for a target outside the session."""
    return task.session.headers_for(target, time.time()) if isinstance(task.session, SessionState) else {}


def browser_state(task: Task) -> dict[str, Any] | None:
    """Return cookies and storage in the format of Playwright. `browser/headers` handles the headers."""
    state = task.session
    if not isinstance(state, SessionState):
        return None
    return {
        "cookies": [
            {
                "name": cookie.name,
                "value": cookie.value.reveal(),
                "domain": cookie.domain,
                "path": cookie.path,
                "expires": -1 if cookie.expires is None else cookie.expires,
                "secure": cookie.secure,
                "httpOnly": cookie.http_only,
                "sameSite": cookie.same_site if cookie.secure or cookie.same_site != "None" else "Lax",
            }
            for cookie in state.cookies
            if cookie.expires is None or cookie.expires > time.time()
        ],
        "origins": [
            {"origin": origin, "localStorage": [{"name": key, "value": value.reveal()} for key, value in items.items()]}
            for origin, items in state.storage.items()
        ],
    }
