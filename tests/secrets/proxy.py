"""A proxy that lets nobody through without the password."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fetch.upstream import Upstream, upstream_proxy


@contextmanager
def serve_proxy(user: str, password: str) -> Iterator[Upstream]:
    """In a thread of its own: what asks it is not asynchronous."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    serving = upstream_proxy(user, password)
    upstream = asyncio.run_coroutine_threadsafe(serving.__aenter__(), loop).result(10)
    try:
        yield upstream
    finally:
        asyncio.run_coroutine_threadsafe(serving.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
