"""Add session headers in the browser, only to requests to the origin of the job."""

import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from playwright.async_api import CDPSession

from corral.domain.ports.execution import Task
from corral.domain.sites.session import SessionState
from corral.fetch.proxy.passes import ProxyPass

_WILDCARDS = re.compile(r"([*?\\])")

Later = Callable[[Coroutine[Any, Any, Any]], None]


class FirstPartyHeaders:
    """Adds headers hop by hop: Chromium pauses every hop of a redirect, and an override holds for one hop only.

    Playwright's own overrides (`extra_http_headers`, `route.continue_`) follow a redirect to any host.
    """

    def __init__(self, origin: str, headers: Mapping[str, str]) -> None:
        self._prefix = f"{origin}/"
        self._headers = {name.lower(): (name, value) for name, value in headers.items()}

    async def install(self, session: CDPSession, granted: ProxyPass, later: Later) -> None:
        session.on("Fetch.requestPaused", lambda paused: later(self._resume(session, paused)))
        # The client that pauses a request must also answer the proxy's authentication challenge.
        session.on("Fetch.authRequired", lambda challenge: later(_authenticate(session, granted, challenge)))
        pattern = _WILDCARDS.sub(r"\\\1", self._prefix) + "*"
        patterns = [{"urlPattern": pattern, "requestStage": "Request"}]
        await session.send("Fetch.enable", {"patterns": patterns, "handleAuthRequests": True})

    async def _resume(self, session: CDPSession, paused: dict[str, Any]) -> None:
        request = paused["request"]
        resumed: dict[str, Any] = {"requestId": paused["requestId"]}
        # Chromium's pattern is only a filter; this check decides.
        if str(request["url"]).startswith(self._prefix):
            own = {name: value for name, value in request["headers"].items() if name.lower() not in self._headers}
            sent = [*own.items(), *self._headers.values()]
            resumed["headers"] = [{"name": name, "value": value} for name, value in sent]
        await session.send("Fetch.continueRequest", resumed)


async def _authenticate(session: CDPSession, granted: ProxyPass, challenge: dict[str, Any]) -> None:
    answer = {"response": "Default"}
    if challenge["authChallenge"].get("source") == "Proxy":
        answer = {"response": "ProvideCredentials", "username": granted.username, "password": granted.password}
    await session.send("Fetch.continueWithAuth", {"requestId": challenge["requestId"], "authChallengeResponse": answer})


def first_party_headers(task: Task) -> FirstPartyHeaders | None:
    state = task.session
    if not isinstance(state, SessionState) or not state.headers:
        return None
    return FirstPartyHeaders(state.origin, {name: value.reveal() for name, value in state.headers.items()})
