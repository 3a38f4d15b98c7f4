"""The node of a Celery worker: one event loop, in a thread of its own, that carries many runs."""

import asyncio
import os
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

import structlog

from corral.domain.errors import CorralError
from corral.domain.queues import Lane, Queue, hint_of
from corral.engine.sources import Asked, Errand
from corral.settings import Settings

if TYPE_CHECKING:
    from corral.wiring import App

log = structlog.get_logger()

STALLED = 75  # exit code: start me again
_STALLED_AFTER_S = 30.0
_WATCH_EVERY_S = 1.0
_ENDS_EVERY_S = 0.05
_START_S = 60.0
_LAST_WRITES_S = 15.0


class Host:
    def __init__(self, settings: Settings, queues: tuple[Queue, ...]) -> None:
        self._settings = settings
        self._queues = queues
        self._ready: Future[tuple[asyncio.AbstractEventLoop, App, Asked]] = Future()
        self._thread = threading.Thread(target=self._run, name="node", daemon=True)
        self._stop = asyncio.Event()
        self.is_hearing = True  # set by whoever takes the messages

    # -- from any thread ---------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self._ready.result(_START_S)

    def ask(self, errand: Errand) -> None:
        loop, _, asked = self._ready.result(_START_S)
        loop.call_soon_threadsafe(asked.ask, errand)

    def look_up(self, run_id: str, errand: Errand) -> None:
        """For a message that says no more than the id."""
        loop, app, asked = self._ready.result(_START_S)
        asyncio.run_coroutine_threadsafe(_looked_up(app, asked, run_id, errand), loop)

    def sweep(self) -> None:
        loop, app, _ = self._ready.result(_START_S)
        if app.sweeper is not None:
            loop.call_soon_threadsafe(app.sweeper.sweep_now)

    def hurry(self) -> None:
        """A second request to stop."""
        if self._ready.done():
            loop, app, _ = self._ready.result()
            if app.node is not None:
                loop.call_soon_threadsafe(app.node.hurry)

    def stop(self) -> None:
        """Claims nothing more; what runs finishes within its grace, or is given back."""
        if self._thread.is_alive() and self._ready.done():
            loop, _, _ = self._ready.result()
            loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(self._settings.grace_seconds + _LAST_WRITES_S)

    # -- in its own thread -------------------------------------------------------------------------

    def _run(self) -> None:
        import uvloop  # noqa: PLC0415 - not for those who only want to inspect

        try:
            uvloop.run(self._serve())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                return
            # A worker that only takes messages and executes nothing would be the worst of all.
            log.error("the node of this worker ended", exc_info=error)
            os._exit(1)

    async def _serve(self) -> None:
        from corral.wiring import opened  # noqa: PLC0415 - the same

        async with opened(self._settings, works=True, queues=self._queues, is_told=lambda: self.is_hearing) as app:
            assert app.node is not None
            assert app.asked is not None
            watching = asyncio.create_task(_watch(app, app.asked, self._queues), name="watch")
            telling = asyncio.create_task(_tell_ends(app, app.asked), name="ends")
            self._ready.set_result((asyncio.get_running_loop(), app, app.asked))
            await self._stop.wait()
            app.draining = True
            watching.cancel()
            await app.stop_work()
            telling.cancel()


async def _looked_up(app: "App", asked: Asked, run_id: str, errand: Errand) -> None:
    try:
        run = await app.store.run(run_id)
    except CorralError as error:
        errand.taken_up()
        errand.ended(error.message)
        return
    asked.ask(errand._replace(hint=hint_of(run)))


async def _tell_ends(app: "App", asked: Asked) -> None:
    """Celery shows what is executed now; how it ended is in the database."""
    while True:
        await asyncio.sleep(_ENDS_EVERY_S)
        if asked.has_executing and app.node is not None:
            asked.forget(app.node.holding())


async def _watch(app: "App", asked: Asked, queues: tuple[Queue, ...]) -> None:
    """A consumer may stop consuming without a word, after its broker was away; then this process is of no use."""
    heard, since = asked.heard, time.monotonic()
    while True:
        await asyncio.sleep(_WATCH_EVERY_S)
        is_waiting = app.broker is not None and app.broker.has_messages(queues)
        if asked.heard != heard or not is_waiting or asked.waiting:
            heard, since = asked.heard, time.monotonic()
        elif time.monotonic() - since > _STALLED_AFTER_S:
            log.error("messages wait and none arrives; this worker ends to be started again", code=STALLED)
            await app.stop_work()
            os._exit(STALLED)


def lane_named(name: object) -> Lane | None:
    return Lane(name) if isinstance(name, str) and name in set(Lane) else None
