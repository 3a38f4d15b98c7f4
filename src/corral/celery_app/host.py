"""The node of a Celery worker: one event loop in a separate thread executes many runs."""

import asyncio
import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import structlog

from corral.domain.runs.queues import Queue
from corral.engine.node.sources import MessageSource, RunDelivery
from corral.settings import Settings

if TYPE_CHECKING:
    from corral.engine.node.node import Node
    from corral.wiring.app import App

log = structlog.get_logger()

STALLED = 75  # exit code that requests a restart
_STALLED_AFTER_S = 30.0
_WATCH_EVERY_S = 1.0
_ENDS_EVERY_S = 0.05
_START_S = 60.0
_LAST_WRITES_S = 15.0


class NodeHost:
    def __init__(self, settings: Settings, queues: tuple[Queue, ...]) -> None:
        self._settings = settings
        self._queues = queues
        self._ready: Future[tuple[asyncio.AbstractEventLoop, App, MessageSource]] = Future()
        self._thread = threading.Thread(target=self._run, name="node", daemon=True)
        self._stop = asyncio.Event()
        self._node: Node | None = None  # the application drops its node when it stops

    # -- from any thread ---------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self._ready.result(_START_S)

    def deliver(self, delivery: RunDelivery) -> None:
        _, _, source = self._ready.result(_START_S)
        self._soon(functools.partial(source.deliver, delivery))

    def sweep(self) -> None:
        _, app, _ = self._ready.result(_START_S)
        if app.sweeper is not None:
            self._soon(app.sweeper.sweep_now)

    def stop_now(self) -> None:
        """Stop now, after a second signal."""
        if self._node is not None:
            self._soon(self._node.stop_now)

    def begin_stop(self) -> None:
        """Stop claiming. Runs finish within the grace period or are requeued; this does not wait for them."""
        if self._ready.done() and self._ready.exception() is None:
            self._soon(self._stop.set)

    def stop(self) -> None:
        self.begin_stop()
        self.wait_stopped()

    def wait_stopped(self) -> None:
        if self._thread.is_alive():
            self._thread.join(self._settings.shutdown_grace_seconds + _LAST_WRITES_S)

    def _soon(self, call: Callable[[], object]) -> None:
        loop, _, _ = self._ready.result(_START_S)
        with contextlib.suppress(RuntimeError):  # the node has ended, and its loop is closed
            loop.call_soon_threadsafe(call)

    # -- in its own thread -------------------------------------------------------------------------

    def _run(self) -> None:
        import uvloop  # noqa: PLC0415 - `inspect` does not need it

        try:
            uvloop.run(self._serve())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                return
            # Exit: a Celery worker without its node would consume messages and execute nothing.
            log.error("node_ended", exc_info=error)
            os._exit(1)

    async def _serve(self) -> None:
        from corral.wiring.roles import open_celery_node  # noqa: PLC0415 - `inspect` does not need it

        async with open_celery_node(self._settings, self._queues) as app:
            assert app.node is not None
            assert app.message_source is not None
            self._node = app.node
            watching = asyncio.create_task(_watch(app, app.message_source, self._queues), name="watch")
            reporting = asyncio.create_task(_report_ends(app, app.message_source), name="ends")
            self._ready.set_result((asyncio.get_running_loop(), app, app.message_source))
            await self._stop.wait()
            app.draining = True
            watching.cancel()
            await app.stop_work()
            reporting.cancel()


async def _report_ends(app: "App", source: MessageSource) -> None:
    """Tell Celery when runs have ended, so that it shows only running ones. Their outcomes are in the database."""
    while True:
        await asyncio.sleep(_ENDS_EVERY_S)
        if source.has_executing and app.node is not None:
            source.forget(app.node.holding())


async def _watch(app: "App", source: MessageSource, queues: tuple[Queue, ...]) -> None:
    """Exit if messages wait and the consumer receives none: it may stop silently after the broker was lost."""
    message_count, since = source.message_count, time.monotonic()
    while True:
        await asyncio.sleep(_WATCH_EVERY_S)
        is_waiting = app.broker is not None and app.broker.has_messages(queues)
        if source.message_count != message_count or not is_waiting or source.waiting:
            message_count, since = source.message_count, time.monotonic()
        elif time.monotonic() - since > _STALLED_AFTER_S:
            log.error("broker_stalled_node_restarts", code=STALLED)
            await app.stop_work()
            os._exit(STALLED)
