"""How the requests of a script leave the machine. A forward proxy implements the same interface."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from corral.domain.ports.execution import Task
from corral.domain.scripts.exit import ScriptFault


class ScriptNetwork(Protocol):
    """The network of one execution."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Return variables for the script, such as HTTP_PROXY."""
        ...

    def stats(self) -> dict[str, Any]:
        """Return requests, statuses and bytes by host; empty if nothing is counted."""
        ...

    def find_fault(self) -> ScriptFault | None:
        """Return why a script failed, as its traffic shows: rate_limited, blocked, network."""
        ...


class NetworkFactory(Protocol):
    def __call__(self, task: Task) -> AbstractAsyncContextManager[ScriptNetwork]: ...


class DirectNetwork:
    """No proxy: the script connects by itself, and nothing is known of its traffic."""

    environment: Mapping[str, str] = {}

    def stats(self) -> dict[str, Any]:
        return {}

    def find_fault(self) -> ScriptFault | None:
        return None


@asynccontextmanager
async def connect_directly(task: Task) -> AsyncIterator[ScriptNetwork]:  # noqa: ARG001 - the signature of a factory
    yield DirectNetwork()
