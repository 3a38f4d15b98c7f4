"""What the gates of hosts need of the database: breakers outlive a restart and are shared between nodes.

The database is asked once a second. In between, this node goes by what it knows itself, and one probe is one probe
because the store lets only one caller take it.
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
from corral.domain.hosts.limiter import GateRules, HostGate, Parking, StoredHost, wait_of
from corral.domain.hosts.pace import Pace
from corral.domain.ids import Owner
from corral.domain.ports.stores import HostStore
from corral.domain.runs.outcome import Outcome
from corral.engine.hosts.host_state import Host
from corral.engine.hosts.limiter import Gate
from corral.engine.hosts.quotas import Parts
from corral.engine.hosts.run_room import Crowds, RunRooms
from corral.engine.node.pool import Held

log = structlog.get_logger()
T = TypeVar("T")

_EVERY_S = 1.0
# One that was called up and has not asked by now is not coming.
_CALL_AGAIN_S = 5.0
_CLEAN_EVERY = 600
_FORGOTTEN_AFTER_S = 86_400.0
_MAX_CHANGES = 20_000


class UntilStored(Protocol):
    async def __call__(self, write: Callable[[], Awaitable[T]]) -> T: ...


class Gatekeeper:
    def __init__(
        self,
        store: HostStore,
        owner: Owner,
        rules: GateRules,
        until_stored: UntilStored,
        write: Callable[[Coroutine[Any, Any, Any]], None],
        *,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._rules = rules
        self._wake = wake
        self._until_stored = until_stored
        self._write = write
        self._touched: dict[str, Host] = {}
        self._called: dict[str, float] = {}
        self._again: set[str] = set()
        self._since_ms = 0
        self._rounds = 0
        self._crowds = Crowds()
        self.gate = Gate(rules, self)
        self._parts = Parts(store, owner, self.gate, write)

    async def start(self, spawn: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """Before anything is claimed: what was closed before a restart is closed after it."""
        await self._until_stored(self._adopt_all)
        spawn(self._run())
        spawn(self._parts.run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            try:
                await self._round()
            except StorageError as error:
                log.warning("the gates of hosts go by what this node knows", reason=error.message)

    async def _round(self) -> None:
        if self._touched:
            now, touched = self.gate.clock(), dict(self._touched)
            await self._store.touch([_seen(host, now) for host in touched.values()])
            for place in touched:
                self._touched.pop(place, None)
        await self._adopt_all()
        for place in list(self.gate.watched):
            host = self.gate.hosts[place]
            self.gate.look(host)
            await self._call_up(host)
        await self._free_forgotten()

    async def _free_forgotten(self) -> None:
        """Pages that were sent to wait while the waiting ended."""
        self._rounds += 1
        again, self._again = self._again, set()
        if self._rounds % _CLEAN_EVERY == 0:
            await self._store.forget(_FORGOTTEN_AFTER_S)
        for place in again - self.gate.watched:
            await self._until_stored(functools.partial(self._store.release_pages, place))

    async def _call_up(self, host: Host) -> None:
        """Somebody has to make the probe: of those who wait, one."""
        now, breaker = self.gate.clock(), host.gate.breaker
        if breaker.opened_at is None or host.gate.wait(now, self.gate.rules_of(host)) is not None:
            return
        if now - self._called.get(host.place, -_CALL_AGAIN_S) >= _CALL_AGAIN_S:
            self._called[host.place] = now
            await self._until_stored(functools.partial(self._store.release_probe_page, host.place))

    # -- what other nodes know -----------------------------------------------------------------------

    async def _adopt_all(self) -> None:
        changed, self._since_ms = await self._store.changes_since(self._since_ms, _MAX_CHANGES)
        for stored in changed:
            if stored.is_remarkable or stored.place in self.gate.hosts:
                host = self.gate.host(stored.place)
                if not (host.writes or host.is_taking_probe or stored.place in self._touched):
                    self._adopt(host, stored)

    def _adopt(self, host: Host, stored: StoredHost) -> None:
        now, ours = self.gate.clock(), host.gate.breaker
        theirs = stored.breaker(now)
        host.said = stored.said
        pace = host.gate.pace
        if ours.opened_at is not None and theirs.opened_at is None:
            pace = Pace(active=pace.active, blocked_until=pace.blocked_until)
        if stored.blocked_for_s > 0:
            pace = replace(pace, blocked_until=max(pace.blocked_until, now + stored.blocked_for_s))
        is_shared = theirs.opened_at is not None or ours.opened_at is not None
        if ours.opened_at is None and theirs.opened_at is None:
            # After a restart; afterwards each node counts for itself.
            is_shared = ours.failures == 0
        host.gate = HostGate(pace, theirs if is_shared and host.prober is None else ours)
        self.gate.look(host)

    # -- what this node finds out --------------------------------------------------------------------

    def opened(self, host: Host) -> None:
        _, failures, blocked_s = _seen(host, self.gate.clock())
        self._stored(host, lambda: self._store.open_breaker(host.place, failures, blocked_s))

    @property
    def shared_places(self) -> list[str]:
        """The hosts of whose turns this node has a part."""
        return self._parts.places

    def want_part(self, host: Host) -> None:
        self._parts.want(host)

    def touched(self, host: Host) -> None:
        self._touched[host.place] = host

    def let_in(self, host: Host) -> None:
        if host.place in self._crowds.hosts:
            self._wake()

    def probe_ended(self, host: Host) -> None:
        now, breaker = self.gate.clock(), host.gate.breaker
        opened_ago_s = None if breaker.opened_at is None else now - breaker.opened_at
        self._called.pop(host.place, None)
        self._stored(host, lambda: self._store.end_probe(host.place, breaker.failures, opened_ago_s))

    def recovered(self, host: Host) -> None:
        self._again.add(host.place)
        self._stored(host, lambda: self._store.release_pages(host.place))

    def take_probe(self, host: Host) -> None:
        self._write(self._probe_asked_for(host))

    async def _probe_asked_for(self, host: Host) -> None:
        rules = self._rules.breaker
        known: Breaker | None = None
        try:
            if not await self._store.take_probe(host.place, rules.open_s, rules.probe_s):
                stored = await self._store.get(host.place)
                known = Breaker() if stored is None else stored.breaker(self.gate.clock())
        except StorageError as error:
            log.warning("a probe has to wait for the database", host=host.place, reason=error.message)
            known = host.gate.breaker.started(self.gate.clock())
        self.gate.probe_taken(host, known)

    def _stored(self, host: Host, write: Callable[[], Awaitable[Any]]) -> None:
        host.writes += 1
        self._write(self._landed(host, write))

    async def _landed(self, host: Host, write: Callable[[], Awaitable[Any]]) -> None:
        try:
            await self._until_stored(write)
        finally:
            host.writes -= 1

    # -- runs that have to wait ----------------------------------------------------------------------

    def room(self, held: Counter[str]) -> RunRooms:
        """For one claim, where this node holds so many runs of each host."""
        return RunRooms(self.gate, held, self._crowds)

    def without_waiting(self, outcomes: list[tuple[Held, Outcome]]) -> list[tuple[Held, Outcome]]:
        """The real outcomes; what a worker sent back because of a gate goes to the queue."""
        parked = []
        for held, outcome in outcomes:
            if (found := wait_of(outcome)) is not None:
                place, wait = found
                parked.append(Parking(held.lease, place, wait.reason, wait.seconds))
                self._crowds.note_refused(place, self.gate.clock())
        if not parked:
            return outcomes
        self._write(self._until_stored(lambda: self._store.park(parked)))
        return [(held, outcome) for held, outcome in outcomes if wait_of(outcome) is None]


def _seen(host: Host, now: float) -> tuple[str, int, float]:
    return host.place, host.gate.breaker.failures, max(0.0, host.gate.pace.blocked_until - now)
