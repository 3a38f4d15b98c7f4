"""The browser of a worker: started with the first page, shared by all runs, replaced when worn or broken."""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any

from playwright.async_api import BrowserContext

from corral.fetch.browser.engine import Engine, start_engine
from corral.fetch.browser.launch_args import BrowserLimits


class BrowserHost:
    def __init__(self, limits: BrowserLimits) -> None:
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.max_at_once)
        self._changed = asyncio.Condition()
        self._starting: asyncio.Task[Engine] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.engine: Engine | None = None

    async def enter(self, proxy_address: str) -> Engine:
        """Take a slot in a working browser; `leave` returns it. Raise CannotStart if there is no browser."""
        await self._slots.acquire()
        try:
            async with self._changed:
                engine = await self._usable(proxy_address)
                engine.active += 1
                engine.pages += 1
                return engine
        except BaseException:
            self._slots.release()
            raise

    def leave(self, engine: Engine, opening: asyncio.Task[BrowserContext] | None) -> None:
        """Return the slot in the background, once the context is closed."""
        self._spawn(self._leave_when_closed(engine, opening))

    async def close(self) -> None:
        engine, self.engine = self.engine, None
        if self._starting is not None:
            [started] = await asyncio.gather(self._starting, return_exceptions=True)
            engine = started if isinstance(started, Engine) else engine
        if engine is not None:
            await engine.end()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _leave_when_closed(self, engine: Engine, opening: asyncio.Task[BrowserContext] | None) -> None:
        try:
            if opening is not None:
                await engine.dismiss(opening)
        finally:
            engine.active -= 1
            self._slots.release()
        async with self._changed:
            self._changed.notify_all()

    async def _usable(self, proxy_address: str) -> Engine:
        while self.engine is not None and self.engine.is_worn:
            if self.engine.gone.is_set() or not self.engine.active:
                self._spawn(self.engine.end())
                self.engine = None
            else:
                await self._changed.wait()
        if self.engine is None:
            self.engine = await self._start(proxy_address)
        return self.engine

    async def _start(self, proxy_address: str) -> Engine:
        """Start the browser. A cancelled run leaves a start in progress to the next run: aborting it would leak
        processes.
        """
        if self._starting is None:
            starting = start_engine(proxy_address, self._limits)
            # In its own context: the browser outlives the run that starts it.
            self._starting = asyncio.create_task(starting, name="browser start", context=Context())
        task = self._starting
        try:
            return await asyncio.shield(task)
        finally:
            if task.done():
                self._starting = None

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
