"""The quotas of this node at hosts that several nodes use. The store divides the slots: see domain.hosts.quota.

A node requests a quota with its first request to a host, checks it once a second while another node has one (four times
a second while a node has none), and drops it when no visit needs the host any more.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import structlog

from corral.domain.errors import StorageError
from corral.domain.hosts.quota import QUOTA_S, RENEW_EVERY_S, QuotaGrant, QuotaRequest
from corral.domain.ids import Owner
from corral.domain.ports.stores import HostStore
from corral.engine.hosts.host_state import HostState
from corral.engine.hosts.limiter import HostLimiter

log = structlog.get_logger()

_CHECK_EVERY_S = 0.25
_FULL_CHECK = 4  # every fourth check covers all hosts


class HostQuotas:
    def __init__(
        self, store: HostStore, owner: Owner, limiter: HostLimiter, write: Callable[[Coroutine[Any, Any, Any]], None]
    ) -> None:
        self._store = store
        self._owner = owner
        self._limiter = limiter
        self._write = write
        self._ours: dict[str, HostState] = {}  # hosts at which this node has a row
        self._wanted: dict[str, HostState] = {}
        self._is_asking = False
        self._renewed = 0.0

    @property
    def host_keys(self) -> list[str]:
        return list(self._ours)

    def want(self, host: HostState) -> None:
        host.is_asking = True
        self._wanted[host.host_key] = host
        if not self._is_asking:  # one request covers all hosts that need a quota meanwhile
            self._is_asking = True
            self._write(self._request_wanted())

    async def _request_wanted(self) -> None:
        try:
            while self._wanted:
                hosts, self._wanted = list(self._wanted.values()), {}
                await self._request(hosts)
        finally:
            self._is_asking = False

    async def _request(self, hosts: Sequence[HostState]) -> None:
        requested_at = self._limiter.clock()
        requests = [self._make_request(host) for host in hosts]
        try:
            grants = await self._store.take_quotas(self._owner, requests)
        except StorageError as error:
            log.warning("host_quota_database_unavailable", hosts=len(requests), reason=error.message)
            grants = [QuotaGrant(request.host_key, 0, is_contested=True) for request in requests]
        for host, request, grant in zip(hosts, requests, grants, strict=True):
            self._ours[host.host_key] = host
            self._limiter.apply_quota(host, grant, requested_at, request.in_use)

    def _make_request(self, host: HostState) -> QuotaRequest:
        rules = self._limiter.rules_of(host)
        in_use = host.condition.pace.active
        # Lend nothing more until the answer arrives, because the quota may shrink.
        host.quota = min(host.quota, in_use)
        wanted = max(1, in_use + len(host.pending) + host.sent_away)
        return QuotaRequest(host.host_key, rules.pace.max_concurrency, in_use, wanted, host.condition.delay_s(rules))

    async def run(self) -> None:
        rounds = 0
        while True:
            await asyncio.sleep(_CHECK_EVERY_S)
            rounds += 1
            try:
                if self._ours:
                    await self._check(is_full=rounds % _FULL_CHECK == 0)
            except StorageError as error:
                log.warning("host_quota_renewal_failed", reason=error.message)

    async def _check(self, *, is_full: bool) -> None:
        if is_full:
            await self._drop_idle()
        contested = await self._store.find_contested(self._owner)
        hosts = [host for host in self._ours.values() if not host.is_asking]
        if is_full:
            hosts = [host for host in hosts if host.host_key in contested or host.is_contested]
        else:
            now = self._limiter.clock()
            hosts = [host for host in hosts if contested.get(host.host_key) or (host.pending and not host.slots(now))]
        for host in hosts:
            host.is_asking = True
        if hosts:
            await self._request(hosts)
        if is_full:
            for host in self._ours.values():
                host.sent_away = 0
            await self._renew()

    async def _renew(self) -> None:
        now = self._limiter.clock()
        if now - self._renewed >= RENEW_EVERY_S:
            await self._store.renew_quotas(self._owner)
            self._renewed = now
            for host in self._ours.values():
                if not host.is_asking:
                    host.quota_until = max(host.quota_until, now + QUOTA_S)

    async def _drop_idle(self) -> None:
        idle = [host for host in self._ours.values() if host.is_idle]
        if not idle:
            return
        for host in idle:
            # Requests that arrive meanwhile wait for the drop, which could otherwise delete their new row.
            host.quota, host.held, host.is_asking = 0, 0, True
        try:
            await self._store.drop_quotas(self._owner, [host.host_key for host in idle])
        finally:
            for host in idle:
                del self._ours[host.host_key]
                host.is_asking = host.is_contested = False
                self._limiter.short.pop(host.host_key, None)
                self._limiter.wake(host)
