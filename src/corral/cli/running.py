"""From a verb's coroutine to an exit code."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from corral.cli import exits
from corral.domain.errors import NotFound

if TYPE_CHECKING:
    from corral.settings import Settings
    from corral.store.store import Store


def finish(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a verb that is soon done. Ctrl-C unwinds it like any other exception."""
    code = asyncio.run(work)
    sys.stdout.flush()  # here, where a closed pipe is still somebody's business
    raise typer.Exit(code)


def finish_serving(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a verb that serves until it is told to stop."""
    import uvloop

    code = uvloop.run(work)
    sys.stdout.flush()
    raise typer.Exit(code)


@asynccontextmanager
async def opened_store(settings: "Settings") -> AsyncIterator["Store"]:
    """The store alone, for verbs that only look: everything else would only cost time."""
    from corral.store.open import open_store

    store = open_store(settings.store_url)
    try:
        yield store
    finally:
        await store.close()


def database_file(settings: "Settings") -> Path | None:
    """The file of a SQLite database; None where the database is elsewhere."""
    path = settings.store_url.removeprefix("sqlite:///")
    return None if path == settings.store_url else Path(path)


def is_unborn(path: Path | None) -> bool:
    """True for a database file that opening would create."""
    return path is not None and (not path.exists() or path.stat().st_size == 0)


@asynccontextmanager
async def opened_existing_store(settings: "Settings", missing: NotFound) -> AsyncIterator["Store"]:
    """For a dry run: a database that is not there yet is not created, and holds nothing."""
    if is_unborn(database_file(settings)):
        raise missing
    async with opened_store(settings) as store:
        yield store


class Stop:
    """The request to stop, by signal. The first one sets it, each further one asks for haste."""

    def __init__(self, on_haste: Callable[[], None] = lambda: None) -> None:
        self.on_haste = on_haste
        self.signal: signal.Signals | None = None
        self._asked = asyncio.Event()

    @property
    def is_asked(self) -> bool:
        return self.signal is not None

    async def wait(self) -> None:
        await self._asked.wait()

    @property
    def exit_code(self) -> int:
        return exits.INTERRUPTED if self.signal is signal.SIGINT else exits.DONE

    def receive(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            self._asked.set()
        else:
            self.on_haste()

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.receive, number)


async def first_of(work: Coroutine[Any, Any, None], stop: Stop) -> bool:
    """Do the work unless a stop is asked for before it is done; whether it was done."""
    doing = asyncio.ensure_future(work)
    asked = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({doing, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            return False
        await doing  # raises what it raised
        return True
    finally:
        for task in (doing, asked):
            task.cancel()
        await asyncio.gather(doing, asked, return_exceptions=True)
