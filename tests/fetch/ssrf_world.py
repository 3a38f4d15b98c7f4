"""Canaries of a page: one port per way of asking, heard on every address there is, for streams and for datagrams."""

import asyncio
import json
import socket
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed
from corral.fetch.browser.executor import BrowserExecutor
from corral.fetch.browser.launch_args import BrowserLimits
from corral.fetch.egress import dns
from corral.fetch.egress.client import Egress
from corral.fetch.egress.dns import PinnedAddress
from corral.fetch.limits import FetchLimits
from corral.fetch.proxy.passes import ProxyLimits
from corral.fetch.robots import Robots
from tests.fetch.browsing import needs_chromium, serve
from tests.fetch.egress.ssrf_helpers import canary
from tests.fetch.everywhere import every_address_is_here
from tests.fetch.hostile import Hostile, hostile_server
from tests.fetch.ssrf_page import SERVICE_WORKER, WAYS, page

# What the top of a page does itself is tried from outside.
LOADS = ("top", "top-redirect")
_DNS_PORT = 53
_NO_SUCH_NAME = 0x8183


class RecordingEgress(Egress):
    """The real one; it writes down what it refused, by port."""

    def __init__(self, policy: EgressPolicy, user_agent: str = "t") -> None:
        super().__init__(policy, FetchLimits(), user_agent)
        self.refused: defaultdict[int, set[str]] = defaultdict(set)
        self.allowed: defaultdict[int, set[str]] = defaultdict(set)

    async def resolve(self, target: Target, *, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        found = await super().resolve(target, trusted_hosts=trusted_hosts)
        (self.refused if isinstance(found, Failed) else self.allowed)[target.port].add(target.host)
        return found


@dataclass
class World:
    den: Hostile  # where the pages come from
    heard: dict[str, Hostile]
    is_everywhere: bool  # else only on the addresses this machine has
    datagrams: Counter[str] = field(default_factory=Counter)
    names: list[bytes] = field(default_factory=list)  # that somebody wanted resolved

    def port(self, way: str) -> int:
        return self.heard[way].port

    def forget(self) -> None:
        for each in self.heard.values():
            each.connections = 0
        self.datagrams.clear()
        self.names.clear()

    def silent(self, ways: tuple[str, ...]) -> bool:
        return not any(self.heard[way].connections or self.datagrams[way] for way in ways)

    def serve_urls(self, monkeypatch: pytest.MonkeyPatch, urls: dict[str, list[str]]) -> None:
        """What the page will ask for, by way."""
        serve(monkeypatch, "/payloads", json.dumps(urls), "Content-Type: application/json")


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, world: World, way: str) -> None:
        self._world = world
        self._way = way

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._world.datagrams[self._way] += 1


class _Names(asyncio.DatagramProtocol):
    """Knows no name, and says so at once."""

    def __init__(self, world: World) -> None:
        self._world = world

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._world.names.append(data)
        self._transport.sendto(data[:2] + _NO_SUCH_NAME.to_bytes(2, "big") + data[4:6] + bytes(6) + data[12:], addr)


@asynccontextmanager
async def open_world() -> AsyncIterator[World]:
    needs_chromium()
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        is_everywhere = stack.enter_context(every_address_is_here())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if is_everywhere:
            # The second wall would refuse all of them, as addresses of this machine, and hide a hole in the table.
            patch.setattr(dns, "is_own_address", lambda _: False)
        serve(patch, "/many", page())
        serve(patch, "/service-worker.js", SERVICE_WORKER, "Content-Type: text/javascript")
        den = await stack.enter_async_context(hostile_server())
        heard = {way: await stack.enter_async_context(canary()) for way in (*WAYS, *LOADS)}
        world = World(den, heard, is_everywhere)
        for way, each in heard.items():
            transport, _ = await loop.create_datagram_endpoint(
                lambda way=way: _Datagrams(world, way),  # type: ignore[misc]
                sock=_both_families(each.port),
            )
            stack.callback(transport.close)
        if is_everywhere:
            transport, _ = await loop.create_datagram_endpoint(lambda: _Names(world), sock=_both_families(_DNS_PORT))
            stack.callback(transport.close)
        yield world


def _both_families(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    made.bind(("::", port))
    made.setblocking(False)
    return made


@asynccontextmanager
async def open_browser(*allowed: str) -> AsyncIterator[tuple[BrowserExecutor, RecordingEgress]]:
    """The browser as runs get it, which may reach what is given here, as in APP_EGRESS_ALLOW."""
    egress = RecordingEgress(EgressPolicy(tuple(AllowEntry.parse(each) for each in allowed)))
    limits = BrowserLimits(max_navigations=1_000_000, max_redirects=20)
    many = ProxyLimits(max_run_requests=1_000_000)
    executor = BrowserExecutor(egress, Robots(egress, "t"), "t", limits, many)
    try:
        yield executor, egress
    finally:
        await executor.close()
        await egress.close()
