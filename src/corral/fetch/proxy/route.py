"""HTTP through a proxy: our own forward proxy checks and pins, then connects to the proxy of the job."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import wreq

from corral.domain.net.proxy import OpenProxy, RouteKind
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import Route
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.egress.wire import Head, HopRequest, client_options, send
from corral.fetch.faults import fault
from corral.fetch.limits import MIB, FetchLimits
from corral.fetch.proxy.forward_proxy import ForwardProxy
from corral.fetch.proxy.messages import FAULT_HEADER, fault_named
from corral.fetch.proxy.passes import ProxyLimits, ProxyPass

_LOOPBACK = "127.0.0.1"
# Shorter than the client's own timeout, so that the failure names the proxy.
_CONNECT_SHARE = 0.8
_BESIDE_BYTES = 16 * MIB
_UNVERIFIED = "unverified"


class Proxies:
    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        defaults, limits = ProxyLimits(), egress.limits
        # Room for the largest page, plus the redirects and the robots.txt before it.
        run_bytes = max(defaults.max_run_bytes, limits.max_bytes + _BESIDE_BYTES)
        connect_s = limits.connect_s * _CONNECT_SHARE
        self._forward = ForwardProxy(egress, replace(defaults, connect_s=connect_s, max_run_bytes=run_bytes))

    @asynccontextmanager
    async def open_route(
        self,
        proxy: OpenProxy | None,
        trusted_hosts: frozenset[str],
        *,
        verifies_tls: bool = True,
        first_byte_s: float | None = None,
    ) -> AsyncIterator[Route | None]:
        """Open the route of one run; None, the direct route, if the job names no proxy."""
        if proxy is None:
            yield None if verifies_tls else UnverifiedRoute(self._egress)
            return
        await self._forward.start()
        granted = self._forward.admit(trusted_hosts, proxy, idle_s=first_byte_s)
        client = _open_client(self._forward.address, granted, self._egress, verifies_tls=verifies_tls)
        name = proxy.address if verifies_tls else f"{proxy.address} {_UNVERIFIED}"
        try:
            yield ProxiedRoute(name, self._egress, client, self._forward.port, granted, verifies_tls=verifies_tls)
        finally:
            client.close()
            self._forward.revoke(granted)

    async def close(self) -> None:
        await self._forward.close()


class _EgressRoute:
    """A route that resolves names and limits answers as the egress does."""

    def __init__(self, name: str, egress: Egress) -> None:
        self._name = name
        self._egress = egress

    @property
    def name(self) -> str:
        return self._name

    @property
    def limits(self) -> FetchLimits:
        return self._egress.limits

    async def resolve(self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        return await self._egress.resolve(target, trusted_hosts=trusted_hosts)


class UnverifiedRoute(_EgressRoute):
    """A direct connection that accepts any certificate."""

    def __init__(self, egress: Egress) -> None:
        super().__init__(_UNVERIFIED, egress)

    def kind_for(self, target: Target) -> RouteKind:  # noqa: ARG002 - the same for every target
        return RouteKind.DIRECT

    async def send(self, request: HopRequest) -> Head | Failed:
        return await self._egress.send(request, verifies_tls=False)


class ProxiedRoute(_EgressRoute):
    """A connection through our own forward proxy to the proxy of the job."""

    def __init__(
        self, name: str, egress: Egress, client: wreq.Client, port: int, granted: ProxyPass, *, verifies_tls: bool
    ) -> None:
        super().__init__(name, egress)
        self._verifies_tls = verifies_tls
        self._client = client
        self._port = port
        self._granted = granted

    def kind_for(self, target: Target) -> RouteKind:
        return RouteKind.through_proxy(target.scheme, verifies_tls=self._verifies_tls)

    async def send(self, request: HopRequest) -> Head | Failed:
        target, pinned = request.target, request.pinned
        address = (target.host, target.port)
        self._granted.faults.pop(address, None)
        relay = PinnedAddress(pinned.host, pinned.port, (_LOOPBACK,))
        head = await send(self._client, replace(request, pinned=relay), self.limits)
        recorded = self._granted.faults.get(address)
        if isinstance(head, Failed):
            return recorded or head
        # Inside a TLS tunnel, the target itself could have sent this header.
        fault_name = next((value for name, value in head.headers if name == FAULT_HEADER), None)
        if fault_name is not None and target.scheme == "http":
            await head.answer.close()
            return recorded or fault_named(fault_name) or fault("network:proxy")
        peer = head.answer.remote_addr
        # Second check: the answer came through our forward proxy.
        if peer is None or peer.port() != self._port:
            await head.answer.close()
            return fault("policy:egress", target.host)
        return head


def _open_client(address: str, granted: ProxyPass, egress: Egress, *, verifies_tls: bool) -> wreq.Client:
    """Open one client per run: the forward proxy distinguishes runs by their credentials."""
    return wreq.Client(
        proxies=[wreq.Proxy.all(address, username=granted.username, password=granted.password)],
        **client_options(egress.limits, egress.user_agent, verifies_tls=verifies_tls),
    )
