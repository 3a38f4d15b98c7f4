"""Where a sealed session is opened: inside a worker, for the one run that needs it, and never written down."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corral.domain.net.url import Target
from corral.domain.ports.execution import Executor
from corral.domain.runs.outcome import Failed, FailureCode, Outcome, Task
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.secret import without
from corral.domain.sites.session import SealedSession, SessionState
from corral.fetch.faults import fault
from corral.secrets.vault import Keyring, SealBroken


class SessionKeys:
    """What this worker was told to open sessions with; told again when there is a new key."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._ring = Keyring.parse(texts)

    def replace(self, texts: Sequence[str]) -> None:
        self._ring = Keyring.parse(texts)

    def open(self, sealed: SealedSession) -> SessionState:
        return self._ring.open(sealed)

    def open_text(self, sealed: str, bound: str) -> str:
        return self._ring.open_text(sealed, bound).reveal()


class WithSession:
    """An executor whose runs may be logged in."""

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
    """The task with its login open, where it needs or has one."""
    if not isinstance(task.session, SealedSession):
        return fault("blocked:no_session") if task.payload.read(CommonPayload).requires_auth else task
    if not task.payload.read(CommonPayload).needs_login:
        return task
    try:
        state = keys.open(task.session)
    except SealBroken as problem:
        return fault("policy:auth_state_invalid", str(problem))
    if state.is_over(time.time()):
        return Failed(FailureCode.BLOCKED, "every cookie of the session has expired", "session_dead")
    return replace(task, session=state)


def _redact(outcome: Outcome, state: SessionState) -> Outcome:
    """What goes into events and logs holds no value of the session, whatever the page or an error made of it."""
    secrets = state.secrets()
    if isinstance(outcome, Failed):
        fields: dict[str, Any] = {"message": outcome.message, "traceback": outcome.traceback, "stats": outcome.stats}
    else:
        fields = {"stats": outcome.stats}
    return replace(outcome, **without(fields, secrets))


def mark_expired_session(outcome: Outcome) -> Outcome:
    """A page that asks for a login although we came with one: the login is over."""
    if not isinstance(outcome, Failed) or outcome.code is not FailureCode.BLOCKED:
        return outcome
    if outcome.http_status != 401 and outcome.detail != "login_wall":
        return outcome
    dead = fault("blocked:session_dead", outcome.message)
    return replace(dead, http_status=outcome.http_status, stats=outcome.stats, artifacts=outcome.artifacts)


def credentials_of(task: Task, target: Target) -> dict[str, str]:
    """The headers by which the target knows us; none for a target that is not ours to be known by."""
    return task.session.headers_for(target, time.time()) if isinstance(task.session, SessionState) else {}


def browser_state(task: Task) -> dict[str, Any] | None:
    """Cookies and storage as Playwright takes them. Headers are the matter of browser_headers."""
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
            {"origin": origin, "localStorage": [{"name": key, "value": text.reveal()} for key, text in held.items()]}
            for origin, held in state.storage.items()
        ],
    }
