"""The state of a running site between requests."""

import secrets
from collections import Counter
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

SESSION_COOKIE = "demo_session"
_UNCOUNTED_PATHS = frozenset({"/_stats", "/_reset"})


@dataclass(slots=True)
class SiteState:
    requests: Counter[str] = field(default_factory=Counter)
    visits: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)

    def visit(self, key: str) -> int:
        """Count one more visit under this key; return the number of visits so far."""
        self.visits[key] += 1
        return self.visits[key]

    def open_session(self) -> str:
        token = secrets.token_urlsafe(24)
        self.sessions.add(token)
        return token

    def clear(self) -> None:
        self.requests.clear()
        self.visits.clear()
        self.sessions.clear()


def state_of(request: Request) -> SiteState:
    state = request.app.state.site
    assert isinstance(state, SiteState)
    return state


def has_session(request: Request) -> bool:
    return request.cookies.get(SESSION_COOKIE) in state_of(request).sessions


class CountRequests:
    """Counts requests by their exact path and query, except those that read or reset the counts."""

    def __init__(self, app: ASGIApp, state: SiteState) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in _UNCOUNTED_PATHS:
            self._state.requests[_target_of(scope)] += 1
        await self._app(scope, receive, send)


def _target_of(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    path = scope["raw_path"].decode("latin-1")
    return f"{path}?{query}" if query else path
