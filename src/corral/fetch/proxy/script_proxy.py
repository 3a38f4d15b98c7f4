"""The forward proxy of scripts: it applies host limits and egress rules, and counts requests.

A script finds it in HTTP_PROXY and HTTPS_PROXY. TLS is tunnelled: limits then apply to connections, and the proxy sees
only the beginning and the end of a tunnel.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from corral.domain.hosts.limiter import HostAccess, HostVisit, host_key_of
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Deferred, Failed, Fetched, WaitReason
from corral.domain.runs.status_classes import failure_of_status
from corral.domain.scripts.wire import WireTally
from corral.fetch.egress.client import Egress
from corral.fetch.faults import fault
from corral.fetch.limits import MIB
from corral.fetch.proxy.forward_proxy import ForwardProxy
from corral.fetch.proxy.passes import ProxyLimits

# Scripts are limited by time, not by the bytes they transfer.
_LIMITS = ProxyLimits(
    connect_s=10.0, idle_s=120.0, max_run_bytes=1024**2 * MIB, max_run_requests=10**9, max_connections=4096
)
# The proxy waits no longer than this for a host, and then answers the script with a 503.
_MAX_WAIT_S = 120.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
_RETRY_AFTER = re.compile(rb"\r\nretry-after:[ \t]*([^\r\n]{1,100})", re.IGNORECASE)
_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@dataclass(slots=True)
class ScriptRoute:
    """The proxy settings of a script, and its usage."""

    environment: dict[str, str] = field(repr=False)  # holds the credentials of this run
    wire: WireTally = field(default_factory=WireTally)


class ScriptProxy:
    def __init__(self, egress: Egress, host_access: HostAccess) -> None:
        self._forward = ForwardProxy(egress, _LIMITS)
        self._host_access = host_access

    @asynccontextmanager
    async def open(self, trusted_hosts: frozenset[str] = frozenset()) -> AsyncIterator[ScriptRoute]:
        """Open the proxy for one script; the proxy ends with the block."""
        await self._forward.start()
        wire = WireTally()
        granted = self._forward.admit(trusted_hosts, gate=_HostGate(self._host_access, wire))
        address = f"http://{granted.username}:{granted.password}@127.0.0.1:{self._forward.port}"
        try:
            yield ScriptRoute(dict.fromkeys(_VARIABLES, address), wire)
        finally:
            self._forward.revoke(granted)

    async def close(self) -> None:
        await self._forward.close()


@dataclass(slots=True)
class _HostStay:
    visit: HostVisit
    began: float
    status: int | None = None


class _HostGate:
    """Takes a slot of the host for each request, or for the life of a tunnel."""

    def __init__(self, host_access: HostAccess, wire: WireTally) -> None:
        self._host_access = host_access
        self._wire = wire
        self._stays: dict[asyncio.Task[None], _HostStay] = {}

    async def enter(self, target: Target, *, is_tunnel: bool) -> Failed | None:
        host_key = host_key_of(target)
        self._wire.of(host_key).requests += 1
        visit = self._host_access.visit()
        deferred = await _wait_for_slot(visit, target)
        if deferred is not None:
            visit.end(None)
            failure = fault("rate_limited:host", deferred.message)
            self._wire.note_fault(host_key, failure.code, failure.detail)
            return failure
        if is_tunnel:
            self._wire.note_tunnel(host_key)
        self._stays[_current()] = _HostStay(visit, time.monotonic())
        return None

    def note_answer(self, target: Target, head: bytes) -> None:
        status_line = _STATUS.match(head)
        if status_line is None:
            return
        stay, status = self._stays[_current()], int(status_line[1])
        stay.status = status
        self._wire.note_status(host_key_of(target), status)
        retry_header = _RETRY_AFTER.search(head)
        retry_after = retry_header[1].decode("latin-1") if retry_header else None
        stay.visit.record_answer(target, status, time.monotonic() - stay.began, retry_after)

    def leave(self, target: Target, failure: Failed | None, *, sent: int, received: int) -> None:
        stay = self._stays.pop(_current())
        host_key = host_key_of(target)
        tally = self._wire.of(host_key)
        tally.bytes_out += sent
        tally.bytes_in += received
        if failure is not None:
            self._wire.note_fault(host_key, failure.code, failure.detail)
        stay.visit.end(failure or _outcome_of(stay.status))


def _outcome_of(status: int | None) -> Failed | Fetched:
    """Return the outcome that an answer implies for its host."""
    return Fetched() if status is None else failure_of_status(status) or Fetched()


async def _wait_for_slot(visit: HostVisit, target: Target) -> Deferred | None:
    """Wait out the pauses of the host; refuse the request if a pause is too long or the breaker is open."""
    until = time.monotonic() + _MAX_WAIT_S
    while (deferred := await visit.enter(target)) is not None:
        left_s = until - time.monotonic()
        if deferred.reason is WaitReason.BREAKER or deferred.seconds > left_s:
            return deferred
        await asyncio.sleep(max(0.05, deferred.seconds))
    return None


def _current() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task
