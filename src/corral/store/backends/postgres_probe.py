"""Distinguishes a slow statement from a server that does not answer at all: stopped, swapped out, or unreachable."""

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg

_ANSWERS_WITHIN_S = 0.7
_CONNECT_S = 2  # the shortest timeout that the driver accepts


class ServerProbe:
    """Opens a separate connection to check whether the server answers; all waiting callers share one check."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pg-probe")
        self._guard = threading.Lock()
        self._check: tuple[float, Future[bool]] | None = None
        self._is_closed = False

    async def answers(self) -> bool:
        """Return whether the server answers; True once closed, so that queued operations can finish."""
        check = self._start_check()
        if check is None:
            return True
        began, answer = check
        left_s = began + _ANSWERS_WITHIN_S - time.monotonic()
        if not answer.done() and left_s > 0:
            await asyncio.wait({asyncio.wrap_future(answer)}, timeout=left_s)
        return self._is_closed or (answer.done() and answer.result())

    def close(self) -> None:
        with self._guard:
            self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _start_check(self) -> "tuple[float, Future[bool]] | None":
        with self._guard:
            if self._is_closed:
                return None
            if self._check is None or self._check[1].done():
                self._check = (time.monotonic(), self._thread.submit(self._connect))
            return self._check

    def _connect(self) -> bool:
        try:
            psycopg.connect(self._url, connect_timeout=_CONNECT_S).close()
        except psycopg.OperationalError as error:
            # A refusal (too many connections, starting up) also is an answer, and has an error code.
            return error.sqlstate is not None
        return True
