"""The network of scripts: Corral's forward proxy, unless the scraper opts out of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from corral.domain.ports.execution import Task
from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.scripts.exit import ScriptFault
from corral.fetch.proxy.script_proxy import ScriptProxy, ScriptRoute
from corral.scripts.network import ScriptNetwork, connect_directly

_MESSAGES = {
    "rate_limited": "the site asked for fewer requests, and the script failed",
    "blocked": "the site refused the requests of the script",
    "network": "the script could not reach its site",
    "timeout": "the site did not answer the script in time",
    "bad_response": "the site answered the script with errors",
    "policy": "the script requested an address that is not allowed; see APP_EGRESS_ALLOW",
}


@dataclass(frozen=True, slots=True)
class _ProxiedNetwork:
    route: ScriptRoute

    @property
    def environment(self) -> Mapping[str, str]:
        return self.route.environment

    def stats(self) -> dict[str, Any]:
        return {"wire": self.route.wire.document()} if self.route.wire.hosts else {}

    def find_fault(self) -> ScriptFault | None:
        failure = self.route.wire.explain_failure()
        if failure is None:
            return None
        code, detail = failure
        return ScriptFault(code, detail or "wire", _MESSAGES.get(code, code))


class ProxiedNetworks:
    """Opens the forward proxy for each execution."""

    def __init__(self, proxy: ScriptProxy) -> None:
        self._proxy = proxy

    def __call__(self, task: Task) -> AbstractAsyncContextManager[ScriptNetwork]:
        payload = task.payload.read(ScriptPayload)
        return self._open(payload.trusted) if payload.uses_proxy else connect_directly(task)

    @asynccontextmanager
    async def _open(self, trusted_hosts: frozenset[str]) -> AsyncIterator[ScriptNetwork]:
        async with self._proxy.open(trusted_hosts) as route:
            yield _ProxiedNetwork(route)
