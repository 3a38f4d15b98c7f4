"""Server-sent events: read from the database from a number on, so that nothing is lost or repeated."""

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from corral.api import render
from corral.domain.errors import StorageError, StorageUnavailable
from corral.domain.event import Event
from corral.wiring import App

MAX_STREAMS = 200
HEARTBEAT_S = 15.0
_POLL_S = 0.5
_BATCH = 500


class Streams:
    """How many are open; a bounded number, because each costs memory and polling."""

    def __init__(self) -> None:
        self._open = 0

    def counted(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        if self._open >= MAX_STREAMS:
            raise StorageUnavailable(f"{MAX_STREAMS} streams are open already", hint="close some, or poll instead")
        return self._run(chunks)

    async def _run(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            async for chunk in chunks:
                yield chunk
        finally:
            self._open -= 1


def _message(name: str, data: Any, number: int | None = None) -> bytes:
    id_line = b"" if number is None else b"id: %d\n" % number
    return id_line + b"event: " + name.encode() + b"\ndata: " + render.dumps(data) + b"\n\n"


class _Heartbeat:
    def __init__(self) -> None:
        self._last = time.monotonic()

    def sent(self) -> None:
        self._last = time.monotonic()

    def due(self) -> bool:
        if time.monotonic() - self._last < HEARTBEAT_S:
            return False
        self.sent()
        return True


async def run_events(app: App, run_id: str, after: int) -> AsyncIterator[bytes]:
    """One run's history from a number on, live until its terminal event."""
    heartbeat = _Heartbeat()
    # Sent at once, so that a client knows it is connected before anything happens.
    yield b": connected\n\n"
    while not app.draining:
        try:
            # In this order: a run seen ended has all its events written already.
            ended = (await app.store.run(run_id)).state.is_terminal
            found = await app.store.events_of(run_id, after, _BATCH)
        except StorageError:
            found, ended = [], False
        for event in found:
            after = event.seq
            heartbeat.sent()
            yield _message("run_event", render.event(event), event.seq)
            if event.is_last:
                return
        if ended and len(found) < _BATCH:
            return
        if heartbeat.due():
            yield b": heartbeat\n\n"
        if len(found) < _BATCH:
            await app.pulse.wait(_POLL_S)


async def all_events(app: App, after: int, wanted: Callable[[Event], bool]) -> AsyncIterator[bytes]:
    """Everybody's events from a position on, with the numbers of live runs whenever they change."""
    heartbeat = _Heartbeat()
    counts: dict[str, int] = {}
    yield b": connected\n\n"
    while not app.draining:
        try:
            found = await app.store.feed(after, _BATCH)
            now = await app.store.count_live()
        except StorageError:
            found, now = [], counts
        for event in found:
            after = event.position
            if wanted(event):
                heartbeat.sent()
                yield _message("run_event", render.event(event), event.position)
        if now != counts:
            counts = now
            yield _message("progress", counts)
        if heartbeat.due():
            yield b": heartbeat\n\n"
        if len(found) < _BATCH:
            await app.pulse.wait(_POLL_S)
