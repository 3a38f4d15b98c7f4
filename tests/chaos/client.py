"""A client that submits to the database and remembers what it was told."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from corral.domain.runs.event import Event
from corral.domain.runs.run import NewRun, Run
from corral.wiring.app import App
from corral.wiring.roles import open_client
from tests.engine.builders import put, settings_for
from tests.waiting import pauses


class Client:
    def __init__(self, app: App) -> None:
        self.app = app
        self.answered: list[str] = []

    async def submit(self, *runs: NewRun) -> list[str]:
        ids = await put(self.app, *runs)
        self.answered += ids
        return ids

    async def wait_until_drained(self, timeout_s: float = 60) -> float:
        """Wait until nothing is queued or running; how long that took."""
        began = time.monotonic()
        looks = pauses()
        while True:
            counts = await self.app.store.runs.count_live()
            if not counts["queued"] and not counts["running"]:
                return time.monotonic() - began
            assert time.monotonic() < began + timeout_s, f"not drained after {timeout_s} s: {counts}"
            await asyncio.sleep(next(looks))

    async def runs(self, ids: Sequence[str] | None = None) -> list[Run]:
        return [await self.app.store.runs.get(id_) for id_ in (self.answered if ids is None else ids)]

    async def events(self) -> list[Event]:
        """Everything that has happened, in order."""
        found: list[Event] = []
        while more := await self.app.store.events.feed(found[-1].position if found else 0, 5000):
            found += more
        return found


@asynccontextmanager
async def client_of(url: str, folder: Path) -> AsyncIterator[Client]:
    async with open_client(settings_for(folder, url)) as app:
        yield Client(app)
