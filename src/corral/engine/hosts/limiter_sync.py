"""Synchronizes the host limiter with the database: breakers outlive a restart and are shared between nodes.

The database is read once a second; in between, this node uses its own state. The store lets only one node take the
probe of a host.
"""

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import structlog

from corral.domain.errors import StorageError
from corral.domain.hosts.breaker import Breaker
from corral.domain.hosts.limiter import HostCondition, HostRules, Parking, StoredHost
from corral.domain.hosts.pace import Pace
from corral.domain.ids import Owner
from corral.domain.ports.stores import HostStore
from corral.domain.runs.outcome import AttemptOutcome, Deferred, Outcome
from corral.engine.held_lease import HeldLease
from corral.engine.hosts.host_state import HostState
from corral.engine.hosts.limiter import HostLimiter
from corral.engine.hosts.quotas import HostQuotas
from corral.engine.hosts.run_room import Crowds, RunRooms
from corral.engine.hosts.site_paces import SitePaces

log = structlog.get_logger()
T = TypeVar("T")

_EVERY_S = 1.0
# A released page that has not requested its host after this time will not do so.
_RELEASE_AGAIN_S = 5.0
_CLEAN_EVERY = 600
_SITES_EVERY = 2
_FORGOTTEN_AFTER_S = 86_400.0
_MAX_CHANGES = 20_000


class UntilStored(Protocol):
    async def __call__(self, write: Callable[[], Awaitable[T]]) -> T: ...


class LimiterSync:
    def __init__(
        self,
        store: HostStore,
        owner: Owner,
        rules: HostRules,
        until_stored: UntilStored,
        write: Callable[[Coroutine[Any, Any, Any]], None],
        *,
        wake: Callable[[], None] = lambda: None,
        sites: SitePaces | None = None,
    ) -> None:
        self._store = store
        self._rules = rules
        self._wake = wake
        self._until_stored = until_stored
        self._write = write
        self._touched: dict[str, HostState] = {}
        self._probe_released_at: dict[str, float] = {}
        self._recovered: set[str] = set()
        self._since_ms = 0
        self._rounds = 0
        self._crowds = Crowds()
        self._sites = sites or SitePaces()
        self.limiter = HostLimiter(rules, self, pace_of=self._sites.find)
        self._quotas = HostQuotas(store, owner, self.limiter, write)

    async def start(self, spawn: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """Load the breakers before the first claim: a breaker stays open across a restart."""
        await self._until_stored(self._sites.refresh)
        await self._until_stored(self._adopt_all)
        spawn(self._run())
        spawn(self._quotas.run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self._round()
            except StorageError as error:
                log.warning("host_state_sync_failed", reason=error.message)

    async def _round(self) -> None:
        if self._touched:
            now, touched = self.limiter.clock(), dict(self._touched)
            await self._store.touch([_snapshot(host, now) for host in touched.values()])
            for host_key in touched:
                self._touched.pop(host_key, None)
        await self._adopt_all()
        await self._follow_sites()
        for host_key in list(self.limiter.watched):
            host = self.limiter.hosts[host_key]
            self.limiter.wake(host)
            await self._release_probe(host)
        await self._free_forgotten()

    async def _follow_sites(self) -> None:
        """Apply changed site configurations."""
        if self._rounds % _SITES_EVERY == 0 and await self._sites.refresh():
            for host in list(self.limiter.hosts.values()):
                self.limiter.wake(host)

    async def _free_forgotten(self) -> None:
        """Release deferred pages of hosts that have recovered: one may have been deferred during the recovery."""
        self._rounds += 1
        recovered, self._recovered = self._recovered, set()
        if self._rounds % _CLEAN_EVERY == 0:
            await self._store.forget(_FORGOTTEN_AFTER_S)
        for host_key in recovered - self.limiter.watched:
            await self._until_stored(functools.partial(self._store.release_pages, host_key))

    async def _release_probe(self, host: HostState) -> None:
        """Release one waiting run, which makes the probe."""
        now, breaker = self.limiter.clock(), host.condition.breaker
        if breaker.opened_at is None or host.condition.wait(now, self.limiter.rules_of(host)) is not None:
            return
        if now - self._probe_released_at.get(host.host_key, -_RELEASE_AGAIN_S) >= _RELEASE_AGAIN_S:
            self._probe_released_at[host.host_key] = now
            await self._until_stored(functools.partial(self._store.release_probe_page, host.host_key))

    # -- state of other nodes ------------------------------------------------------------------------

    async def _adopt_all(self) -> None:
        changed, self._since_ms = await self._store.changes_since(self._since_ms, _MAX_CHANGES)
        for stored in changed:
            if stored.is_remarkable or stored.host_key in self.limiter.hosts:
                host = self.limiter.host(stored.host_key)
                if not (host.writes or host.is_taking_probe or stored.host_key in self._touched):
                    self._adopt(host, stored)

    def _adopt(self, host: HostState, stored: StoredHost) -> None:
        now, ours = self.limiter.clock(), host.condition.breaker
        theirs = stored.breaker(now)
        host.pace_override = stored.pace_override
        pace = host.condition.pace
        if ours.opened_at is not None and theirs.opened_at is None:
            pace = Pace(active=pace.active, blocked_until=pace.blocked_until)
        if stored.blocked_for_s > 0:
            pace = replace(pace, blocked_until=max(pace.blocked_until, now + stored.blocked_for_s))
        is_shared = theirs.opened_at is not None or ours.opened_at is not None
        if ours.opened_at is None and theirs.opened_at is None:
            # Adopt the count only after a restart; from then on, each node counts its own failures.
            is_shared = ours.failures == 0
        host.condition = HostCondition(pace, theirs if is_shared and host.prober is None else ours)
        self.limiter.wake(host)

    # -- state of this node --------------------------------------------------------------------------

    def save_opened(self, host: HostState) -> None:
        _, failures, blocked_s = _snapshot(host, self.limiter.clock())
        self._save(host, lambda: self._store.open_breaker(host.host_key, failures, blocked_s))

    @property
    def shared_host_keys(self) -> list[str]:
        """Return the hosts at which this node has a quota."""
        return self._quotas.host_keys

    def request_quota(self, host: HostState) -> None:
        self._quotas.want(host)

    def save_change(self, host: HostState) -> None:
        self._touched[host.host_key] = host

    def let_in(self, host: HostState) -> None:
        if host.host_key in self._crowds.hosts:
            self._wake()

    def probe_ended(self, host: HostState) -> None:
        now, breaker = self.limiter.clock(), host.condition.breaker
        opened_ago_s = None if breaker.opened_at is None else now - breaker.opened_at
        self._probe_released_at.pop(host.host_key, None)
        self._save(host, lambda: self._store.end_probe(host.host_key, breaker.failures, opened_ago_s))

    def save_recovery(self, host: HostState) -> None:
        self._recovered.add(host.host_key)
        self._save(host, lambda: self._store.release_pages(host.host_key))

    def take_probe(self, host: HostState) -> None:
        self._write(self._request_probe(host))

    async def _request_probe(self, host: HostState) -> None:
        rules = self._rules.breaker
        stored_breaker: Breaker | None = None
        try:
            if not await self._store.take_probe(host.host_key, rules.open_s, rules.probe_s):
                stored = await self._store.get(host.host_key)
                stored_breaker = Breaker() if stored is None else stored.breaker(self.limiter.clock())
        except StorageError as error:
            log.warning("breaker_probe_database_unavailable", host=host.host_key, reason=error.message)
            stored_breaker = host.condition.breaker.start(self.limiter.clock())
        self.limiter.apply_probe(host, stored_breaker)

    def _save(self, host: HostState, write: Callable[[], Awaitable[Any]]) -> None:
        host.writes += 1
        self._write(self._finish_write(host, write))

    async def _finish_write(self, host: HostState, write: Callable[[], Awaitable[Any]]) -> None:
        try:
            await self._until_stored(write)
        finally:
            host.writes -= 1

    # -- deferred runs -------------------------------------------------------------------------------

    def room(self, held: Counter[str]) -> RunRooms:
        """Return the room for one claim; `held` counts the runs that this node holds, by host."""
        return RunRooms(self.limiter, held, self._crowds)

    def park_deferred(self, outcomes: list[tuple[HeldLease, Outcome]]) -> list[tuple[HeldLease, AttemptOutcome]]:
        """Return deferred runs to the queue, and the other outcomes to the caller."""
        parked, ended = [], []
        for held, outcome in outcomes:
            if isinstance(outcome, Deferred):
                parked.append(Parking(held.lease, outcome.host, outcome.reason, outcome.seconds))
                self._crowds.note_refused(outcome.host, self.limiter.clock())
            else:
                ended.append((held, outcome))
        if parked:
            self._write(self._until_stored(lambda: self._store.park(parked)))
        return ended


def _snapshot(host: HostState, now: float) -> tuple[str, int, float]:
    return host.host_key, host.condition.breaker.failures, max(0.0, host.condition.pace.blocked_until - now)
