"""The proxy pool for Python programs: counts, refreshes, and the wait for enough proxies."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from corral.domain.proxies.pooled import ProxyState
from corral.domain.proxies.refresh import UNKNOWN_S, RefreshProgress, chunk_s, wait_limit_s
from corral.domain.runs.node import NodeRole, NodeState
from corral.domain.runs.queues import Queue
from corral.settings import Settings, Transport
from corral.store.open import open_for_reading
from corral.store.store import Store
from corral.wiring.app import App
from corral.wiring.proxies.config import load_proxy_config
from corral.wiring.proxies.live_file import live_file_writer
from corral.wiring.roles import open_client, open_run_set

T = TypeVar("T")

_POLL_S = 0.5

# Waits until the progress may have changed, at most for these seconds.
Listen = Callable[[float], Coroutine[Any, Any, None]]


async def count_proxies(settings: Settings) -> dict[str, int]:
    """Return how many proxies there are, by state."""
    store = open_for_reading(settings.store_url)
    try:
        return await store.proxies.count()
    finally:
        await store.close()


async def read_refresh_progress(settings: Settings, job_id: str) -> RefreshProgress:
    store = open_for_reading(settings.store_url)
    try:
        return await store.proxies.progress(job_id)
    finally:
        await store.close()


async def start_refresh(settings: Settings) -> str:
    """Queue a refresh, or return the one under way."""
    async with open_client(settings) as app:
        progress, _ = await app.proxies.refresh()
    return progress.job_id


async def wait_for_proxies(settings: Settings, min_count: int, timeout_s: float) -> bool:
    """Refresh the pool; return whether it has that many usable proxies when the refresh or the time has ended.

    A live node executes the refresh. Without one, this process does.
    """
    ends_at = time.monotonic() + timeout_s
    if await _count_usable(settings) >= min_count:
        return True
    job_id = await start_refresh(settings)
    async with _executing(settings) as store, _listening(settings, job_id) as listen:
        await _follow(settings, store, job_id, ends_at, listen)
    return await _count_usable(settings) >= min_count


async def _count_usable(settings: Settings) -> int:
    return (await count_proxies(settings))[ProxyState.ALIVE.value]


@asynccontextmanager
async def _executing(settings: Settings) -> AsyncIterator[Store]:
    async with open_client(settings) as app:
        if await _has_node(app):
            yield app.store
            return
    local = settings.model_copy(update={"transport": Transport.EMBEDDED})
    async with open_run_set(local) as app:
        yield app.store


async def _has_node(app: App) -> bool:
    nodes = await app.store.nodes.list_all()
    return any(
        node.state is NodeState.LIVE and node.info.role is not NodeRole.SINGLE and Queue.HTTP in node.info.queues
        for node in nodes
    )


async def _follow(settings: Settings, store: Store, job_id: str, ends_at: float, listen: Listen) -> None:
    began, plan = time.monotonic(), load_proxy_config(settings).check
    per_chunk_s = chunk_s(plan.timeout_s, plan.concurrency) + 5.0
    limit_s = UNKNOWN_S
    while True:
        await store.proxies.note_refresh_ends()
        progress = await store.proxies.progress(job_id)
        if progress.status.is_final:
            await live_file_writer(settings, store)(progress)
            return
        if progress.total_chunks:
            limit_s = wait_limit_s(progress.total_chunks, settings.workers, per_chunk_s)
        left_s = min(ends_at, began + limit_s) - time.monotonic()
        if left_s <= 0:
            return
        await listen(min(_POLL_S, left_s))


@asynccontextmanager
async def _listening(settings: Settings, job_id: str) -> AsyncIterator[Listen]:
    """Yield a wait that Redis messages about the progress end early; without Redis, it only sleeps."""
    if settings.transport is not Transport.CELERY:
        yield asyncio.sleep
        return
    from corral.transport.refresh_mirror import RefreshListener  # noqa: PLC0415 - only where there is a Redis
    from corral.wiring.redis import progress_url  # noqa: PLC0415

    listener = RefreshListener(progress_url(settings), job_id)

    async def listen(seconds: float) -> None:
        if not await asyncio.to_thread(listener.wait, seconds):
            await asyncio.sleep(seconds)

    try:
        yield listen
    finally:
        await asyncio.to_thread(listener.close)


def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread with its own event loop; an exception here, such as Ctrl-C, cancels it."""
    result: Future[T] = Future()
    started = threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def perform() -> T:
        task = asyncio.ensure_future(work)
        running.append((asyncio.get_running_loop(), task))
        started.set()
        return await task

    def run() -> None:
        try:
            result.set_result(asyncio.run(perform()))
        except BaseException as error:  # noqa: BLE001 - the caller gets it
            result.set_exception(error)

    thread = threading.Thread(target=run, name="proxies")
    thread.start()
    try:
        return result.result()
    except BaseException:
        started.wait(1.0)
        for loop, task in running:
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()
