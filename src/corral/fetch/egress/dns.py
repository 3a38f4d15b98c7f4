"""Resolve names and check every returned address."""

import asyncio
import socket
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from corral.domain.net.address import EgressPolicy, is_trusted
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Failed
from corral.fetch.faults import fault
from corral.fetch.limits import FetchLimits

_MAX_ADDRESSES = 8
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PinnedAddress:
    """The checked addresses of a host; the first is preferred."""

    host: str
    port: int
    ips: tuple[str, ...]

    @property
    def ip(self) -> str:
        return self.ips[0]


class Resolver:
    """Resolves in its own threads: a resolver that hangs must not block the loop's other threads."""

    def __init__(self, policy: EgressPolicy, limits: FetchLimits) -> None:
        self._policy = policy
        self._limits = limits
        self._threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="dns")
        self._cache: OrderedDict[str, tuple[float, tuple[str, ...]]] = OrderedDict()
        self._checked: OrderedDict[tuple[str, int], tuple[float, bool]] = OrderedDict()

    async def resolve(self, target: Target, trusted_hosts: frozenset[str] = frozenset()) -> PinnedAddress | Failed:
        ips = (target.host,) if target.is_literal_ip else await self._lookup(target.host)
        if isinstance(ips, Failed):
            return ips
        # One forbidden address fails the name: a name that resolves to a private address once will do so again.
        if not is_trusted(target, trusted_hosts) and not all(self._is_allowed(ip, target.port) for ip in ips):
            return fault("policy:egress", target.host)
        return PinnedAddress(target.host, target.port, ips[:_MAX_ADDRESSES])

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _is_allowed(self, ip: str, port: int) -> bool:
        """Check an address. The result is cached like a DNS answer: detecting our own address takes a socket."""
        cached = self._checked.get((ip, port))
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        permitted = self._policy.permits(ip, port)
        is_allowed = permitted and (self._policy.has_exception(ip, port) or not is_own_address(ip))
        self._cache_value(self._checked, (ip, port), is_allowed)
        return is_allowed

    async def _lookup(self, host: str) -> tuple[str, ...] | Failed:
        cached = self._cache.get(host)
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._limits.dns_s):
                ips = await loop.run_in_executor(self._threads, _addresses, host)
        except TimeoutError:
            return fault("network:dns", f"{host} was not resolved within {self._limits.dns_s:g} s")
        if not ips:
            return fault("network:dns", host)
        self._cache_value(self._cache, host, ips)
        return ips

    def _cache_value(self, cache: OrderedDict[K, tuple[float, V]], key: K, value: V) -> None:
        cache[key] = (time.monotonic() + self._limits.dns_cache_s, value)
        cache.move_to_end(key)
        while len(cache) > self._limits.max_dns_cached:
            cache.popitem(last=False)


def _addresses(host: str) -> tuple[str, ...]:
    # RFC 6761: names under localhost are this machine, even if the resolver does not know them.
    name = "localhost" if host.endswith(".localhost") else host
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    # Drop a zone id, as in fe80::1%eth0: the address is refused either way.
    return tuple(dict.fromkeys(str(answer[4][0]).partition("%")[0] for answer in answers))


def is_own_address(ip: str) -> bool:
    """True for an address of this machine: a datagram sent to it would have it as its source. Sends nothing."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((ip, 9))
            return str(probe.getsockname()[0]) == ip
    except OSError:
        return False
