"""HTTP through a proxy: our own forward proxy checks and pins, and goes on to the one the job names."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import wreq
from wreq import redirect

from corral.domain.net.proxy import OpenProxy, RouteKind
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.egress.wire import Head, send, tls_options
from corral.fetch.faults import fault
from corral.fetch.limits import MIB, FetchLimits
from corral.fetch.proxy.forward_proxy import ForwardProxy, ProxyLimits, ProxyPass
from corral.fetch.proxy.messages import FAULT_HEADER, fault_named

_HERE = "127.0.0.1"
# Ahead of the client's own patience, so that it is the proxy that is said to be slow.
_SHARE = 0.8
_BESIDE_BYTES = 16 * MIB
_UNVERIFIED = "unverified"


class Proxies:
    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        plain, limits = ProxyLimits(), egress.limits
        # Room for the largest page that is taken, beside the redirects and the robots.txt before it.
        room = max(plain.max_run_bytes, limits.max_bytes + _BESIDE_BYTES)
        self._forward = ForwardProxy(egress, replace(plain, connect_s=limits.connect_s * _SHARE, max_run_bytes=room))

    @asynccontextmanager
    async def open_route(
        self,
        proxy: OpenProxy | None,
        trusted_hosts: frozenset[str],
        *,
        verifies_tls: bool = True,
        first_byte_s: float | None = None,
    ) -> AsyncIterator["RunRoute | None"]:
        """How to fetch for one run: None is direct, because that was asked for."""
        if proxy is None:
            yield None if verifies_tls else UnverifiedRoute(self._egress)
            return
        await self._forward.start()
        granted = self._forward.admit(trusted_hosts, proxy, idle_s=first_byte_s)
        client = _client(
            self._forward.address, granted, self._egress.limits, self._egress.user_agent, verifies_tls=verifies_tls
        )
        try:
            through = proxy.address if verifies_tls else f"{proxy.address} {_UNVERIFIED}"
            yield ProxiedRoute(self._egress, client, self._forward.port, granted, through, verifies_tls=verifies_tls)
        finally:
            client.close()
            self._forward.revoke(granted)

    async def close(self) -> None:
        await self._forward.close()


class UnverifiedRoute:
    """Straight there, whatever certificate is shown."""

    # Names the way: what was learnt on one is believed on no other.
    through = _UNVERIFIED

    def __init__(self, egress: Egress) -> None:
        self._egress = egress

    @property
    def limits(self) -> FetchLimits:
        return self._egress.limits

    def kind_for(self, target: Target) -> RouteKind:  # noqa: ARG002 - the same for every target
        return RouteKind.DIRECT

    async def resolve(self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        return await self._egress.resolve(target, trusted_hosts=trusted_hosts)

    async def ask(
        self,
        target: Target,
        pinned: PinnedAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        first_byte_s: float | None = None,
    ) -> Head | Failed:
        return await self._egress.ask(target, pinned, headers, body, verifies_tls=False, first_byte_s=first_byte_s)


class ProxiedRoute:
    """What `Egress.fetch` walks on instead of the egress itself."""

    def __init__(
        self, egress: Egress, client: wreq.Client, port: int, granted: ProxyPass, through: str, *, verifies_tls: bool
    ) -> None:
        self._verifies_tls = verifies_tls
        self._egress = egress
        self._client = client
        self._port = port
        self._granted = granted
        self.through = through

    @property
    def limits(self) -> FetchLimits:
        return self._egress.limits

    def kind_for(self, target: Target) -> RouteKind:
        return RouteKind.through_proxy(target.scheme, verifies_tls=self._verifies_tls)

    async def resolve(self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        return await self._egress.resolve(target, trusted_hosts=trusted_hosts)

    async def ask(
        self,
        target: Target,
        pinned: PinnedAddress,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        first_byte_s: float | None = None,
    ) -> Head | Failed:
        where = (target.host, target.port)
        self._granted.faults.pop(where, None)
        relay = PinnedAddress(pinned.host, pinned.port, (_HERE,))
        url, limits = target.request_url, self.limits
        head = await send(self._client, url, relay, headers, limits, body=body, first_byte_s=first_byte_s)
        noted = self._granted.faults.get(where)
        if isinstance(head, Failed):
            return noted or head
        # Inside a tunnel the header would be the target's own.
        named = next((value for name, value in head.headers if name == FAULT_HEADER), None)
        if named is not None and target.scheme == "http":
            await head.answer.close()
            return noted or fault_named(named) or fault("network:proxy")
        peer = head.answer.remote_addr
        # Second wall: it came by way of our relay and no other.
        if peer is None or peer.port() != self._port:
            await head.answer.close()
            return fault("policy:egress", target.host)
        return head


RunRoute = ProxiedRoute | UnverifiedRoute


def _client(
    address: str, granted: ProxyPass, limits: FetchLimits, user_agent: str, *, verifies_tls: bool
) -> wreq.Client:
    """One for each run: it is known to the relay by the run's own credentials."""
    return wreq.Client(
        user_agent=user_agent,
        proxies=[wreq.Proxy.all(address, username=granted.username, password=granted.password)],
        redirect=redirect.Policy.none(),
        referer=False,
        cookie_store=False,
        gzip=False,
        brotli=False,
        deflate=False,
        zstd=False,
        connect_timeout=timedelta(seconds=limits.connect_s),
        read_timeout=timedelta(seconds=limits.first_byte_s),
        http1_options=wreq.Http1Options(max_headers=limits.max_headers, max_buf_size=4 * limits.max_header_bytes),
        http2_options=wreq.Http2Options(max_header_list_size=limits.max_header_bytes, enable_push=False),
        **tls_options(verifies_tls=verifies_tls),
    )
