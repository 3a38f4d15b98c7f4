"""Server-sent events, read from the database after a given number, so that none is lost or repeated."""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from corral.api import render
from corral.domain.errors import CorralError, NotFound, StorageError
from corral.domain.runs.event import Event
from corral.store.store import Store
from corral.wiring.app import App

HEARTBEAT_S = 15.0
_POLL_S = 0.5
_BATCH = 500
_MAX_CACHED_RUNS = 10_000


class TooManyStreams(CorralError):
    code = "too_many_streams"

    def __init__(self, limit: int) -> None:
        hint = "close some, read the lists instead, or raise APP_API_MAX_STREAMS"
        super().__init__(f"{limit} event streams are open already", hint=hint)


class Streams:
    """Counts the open streams and limits them, because each costs memory and polling."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.open = 0

    def describe(self) -> dict[str, Any]:
        """Return the state for `/health`."""
        return {"status": "up" if self.open < self.limit else "full", "open": self.open, "limit": self.limit}


class EventStream(StreamingResponse):
    """A response that counts as open from its first byte to its last, even if the client never reads it."""

    def __init__(self, streams: Streams, chunks: AsyncIterator[bytes], headers: dict[str, str]) -> None:
        super().__init__(chunks, media_type="text/event-stream", headers=headers)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # No await between the check and the increment, so the limit is exact.
        if self._streams.open >= self._streams.limit:
            raise TooManyStreams(self._streams.limit)
        self._streams.open += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.open -= 1


def _message(name: str, data: Any, number: int | None = None) -> bytes:
    id_line = b"" if number is None else b"id: %d\n" % number
    return id_line + b"event: " + name.encode() + b"\ndata: " + render.dumps(data) + b"\n\n"


class _Heartbeat:
    def __init__(self) -> None:
        self._last = time.monotonic()

    def mark_sent(self) -> None:
        self._last = time.monotonic()

    def due(self) -> bool:
        if time.monotonic() - self._last < HEARTBEAT_S:
            return False
        self.mark_sent()
        return True


async def run_events(app: App, run_id: str, after: int) -> AsyncIterator[bytes]:
    """Yield the events of a run after a number, live until its terminal event."""
    heartbeat = _Heartbeat()
    # Sent at once, so that a client knows it is connected before anything happens.
    yield b": connected\n\n"
    while not app.draining:
        try:
            # In this order: if the run has ended, all its events are written already.
            ended = (await app.store.runs.get(run_id)).state.is_terminal
            found = await app.store.events.of_run(run_id, after, _BATCH)
        except StorageError:
            found, ended = [], False
        for event in found:
            after = event.seq
            heartbeat.mark_sent()
            yield _message("run_event", render.event(event), event.seq)
            if event.is_last:
                return
        if ended and len(found) < _BATCH:
            return
        if heartbeat.due():
            yield b": heartbeat\n\n"
        if len(found) < _BATCH:
            await app.pulse.wait(_POLL_S)


@dataclass(slots=True)
class EventFilter:
    """The events that a stream sends; None matches any."""

    run_id: str | None = None
    level: str | None = None
    job_id: str | None = None
    # The job of a run never changes: read it once per run, in a bounded cache.
    _jobs: OrderedDict[str, str | None] = field(default_factory=OrderedDict)

    async def matches(self, event: Event, store: Store) -> bool:
        if self.run_id not in (None, event.run_id) or self.level not in (None, event.level):
            return False
        return self.job_id is None or await self._job_of(event.run_id, store) == self.job_id

    async def _job_of(self, run_id: str, store: Store) -> str | None:
        if run_id not in self._jobs:
            try:
                self._jobs[run_id] = (await store.runs.get(run_id)).job_id
            except NotFound:  # deleted in the meantime
                self._jobs[run_id] = None
            if len(self._jobs) > _MAX_CACHED_RUNS:
                self._jobs.popitem(last=False)
        return self._jobs[run_id]


async def all_events(app: App, after: int, event_filter: EventFilter) -> AsyncIterator[bytes]:
    """Yield the events of all runs after a position, and the counts of live runs whenever they change."""
    heartbeat = _Heartbeat()
    counts: dict[str, int] = {}
    yield b": connected\n\n"
    while not app.draining:
        try:
            found = await app.store.events.feed(after, _BATCH)
            matching = [await event_filter.matches(event, app.store) for event in found]
            now = await app.store.runs.count_live()
        except StorageError:
            found, matching, now = [], [], counts
        for event, is_match in zip(found, matching, strict=True):
            after = event.position
            if is_match:
                heartbeat.mark_sent()
                yield _message("run_event", render.event(event), event.position)
        if now != counts:
            counts = now
            yield _message("progress", counts)
        if heartbeat.due():
            yield b": heartbeat\n\n"
        if len(found) < _BATCH:
            await app.pulse.wait(_POLL_S)
