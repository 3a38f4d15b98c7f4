"""Register the open connections, and close those that keep others waiting."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

import structlog

from corral.api.http.limits import HttpLimits

log = structlog.get_logger()

SWEEP_EVERY_S = 0.1
# Connections closed in one sweep: closing a thousand at once would delay other requests.
_MAX_CLOSED_PER_SWEEP = 100
# How long a refused client may continue to send. Closing at once would reset the connection, and most clients would
# then report the reset instead of the answer.
LINGER_S = 2.0
# How long `/health` reports that connections ran out.
_REPORT_FOR_S = 5.0
_LOG_EVERY_S = 60.0


class State(Enum):
    WAITING = auto()  # the head of its request has not arrived
    IDLE = auto()  # between two requests
    BUSY = auto()  # a request is being received or answered
    LINGERING = auto()  # refused; further data is discarded


class Connection(Protocol):
    def evict(self) -> None: ...
    def time_out(self) -> None: ...
    def abort(self) -> None: ...


@dataclass(slots=True)
class _Entry:
    state: State
    since_s: float


class Connections:
    """All connections of one server, by state and, within a state, by age.

    A connection without a request can be closed to make room, the oldest first: a genuine client sends its request at
    once, so idle and half-sent connections cannot keep others out.
    """

    # In the order in which they are closed to make room.
    _EVICTABLE = (State.LINGERING, State.WAITING, State.IDLE)

    def __init__(self, limits: HttpLimits) -> None:
        self.limits = limits
        self._entries: dict[Connection, _Entry] = {}
        self._by_state: dict[State, dict[Connection, None]] = {state: {} for state in State}
        self._stalled: dict[Connection, float] = {}
        self._ran_out_at = float("-inf")
        self._logged_at = float("-inf")

    @property
    def open(self) -> int:
        return len(self._entries)

    @property
    def has_room(self) -> bool:
        """True if one more request may be answered; `/health` and `/ready` are answered in any case."""
        if len(self._by_state[State.BUSY]) <= self.limits.max_connections:
            return True
        self._note_full()
        return False

    def admit(self, connection: Connection) -> bool:
        """Register a new connection; at the limit, close the oldest one without a request."""
        if self.open >= self.limits.max_connections:
            self._note_full()
        if self.open >= self.limits.max_connections + self.limits.reserved_connections:
            oldest = next((each for state in self._EVICTABLE for each in self._by_state[state]), None)
            if oldest is None:
                return False
            oldest.evict()
            self.forget(oldest)
        self._entries[connection] = _Entry(State.WAITING, time.monotonic())
        self._by_state[State.WAITING][connection] = None
        return True

    def move(self, connection: Connection, state: State) -> None:
        entry = self._entries.get(connection)
        if entry is None or entry.state is state:
            return
        del self._by_state[entry.state][connection]
        entry.state, entry.since_s = state, time.monotonic()
        self._by_state[state][connection] = None

    def state_of(self, connection: Connection) -> State | None:
        entry = self._entries.get(connection)
        return None if entry is None else entry.state

    def forget(self, connection: Connection) -> None:
        entry = self._entries.pop(connection, None)
        if entry is not None:
            del self._by_state[entry.state][connection]
        self._stalled.pop(connection, None)

    def note_stalled(self, connection: Connection) -> None:
        self._stalled.setdefault(connection, time.monotonic())

    def note_flowing(self, connection: Connection) -> None:
        self._stalled.pop(connection, None)

    async def sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_EVERY_S)
            self.sweep()

    def sweep(self) -> None:
        now = time.monotonic()
        for connection in self._older(State.WAITING, now - self.limits.header_timeout_s):
            connection.time_out()
        for connection in self._older(State.LINGERING, now - LINGER_S):
            connection.abort()
        stalled_before = now - self.limits.send_timeout_s
        for connection in [each for each, since_s in self._stalled.items() if since_s <= stalled_before]:
            connection.abort()

    def _older(self, state: State, before_s: float) -> Iterable[Connection]:
        expired: list[Connection] = []
        for connection in self._by_state[state]:
            if self._entries[connection].since_s > before_s or len(expired) == _MAX_CLOSED_PER_SWEEP:
                break
            expired.append(connection)
        return expired

    def describe(self) -> dict[str, Any]:
        """Return the state for `/health`."""
        limits = self.limits
        numbers = {"open": self.open, "limit": limits.max_connections}
        if time.monotonic() - self._ran_out_at > _REPORT_FOR_S and self.open <= limits.max_connections:
            return {"status": "up", **numbers}
        busy = len(self._by_state[State.BUSY])
        reason = f"{self.open} connections are open, {busy} of them with a request; {limits.bounded_by} allows "
        return {"status": "full", **numbers, "reason": f"{reason}{limits.max_connections}"}

    def _note_full(self) -> None:
        now = time.monotonic()
        self._ran_out_at = now
        if now - self._logged_at > _LOG_EVERY_S:
            self._logged_at = now
            log.warning("connections_exhausted", limit=self.limits.max_connections, bounded_by=self.limits.bounded_by)
