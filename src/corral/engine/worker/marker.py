"""Mark which run a worker process is executing, where its node can read it after a crash.

The worker writes the mark into memory shared with its node before each step of a run's coroutines, and clears it
afterwards. A process that dies in such a step leaves the mark behind. A heartbeat would be too late to name a run that
kills its process at once, and a message for every step would be too expensive.
"""

import asyncio
import mmap
import os
from collections.abc import Awaitable, Coroutine, Generator, Iterable
from contextvars import Context, ContextVar, copy_context
from hashlib import blake2b
from typing import Any, TypeVar

Key = tuple[str, int]
T = TypeVar("T")

_SIZE = 16
_IDLE = bytes(_SIZE)


def digest(key: Key) -> bytes:
    return blake2b(f"{key[0]}#{key[1]}".encode(), digest_size=_SIZE).digest()


class SharedMark:
    """The shared memory. The node creates it and passes its descriptor to the worker."""

    def __init__(self, fd: int) -> None:
        self._memory = mmap.mmap(fd, _SIZE)

    @staticmethod
    def create() -> tuple["SharedMark", int]:
        """Create a marker, with a descriptor that the caller passes on and closes."""
        fd = os.memfd_create("corral-mark")
        os.ftruncate(fd, _SIZE)
        return SharedMark(fd), fd

    def write(self, mark: bytes) -> None:
        self._memory[:] = mark

    def find(self, keys: Iterable[Key]) -> Key | None:
        """Return which of these runs the worker is executing, or was executing when it died."""
        mark = self._memory[:]
        return None if mark == _IDLE else next((key for key in keys if digest(key) == mark), None)

    def close(self) -> None:
        self._memory.close()


_run: ContextVar[bytes | None] = ContextVar("run", default=None)


def context_of(key: Key) -> Context:
    """Return a context that marks a task as part of a run. Tasks that it starts inherit the mark."""
    context = copy_context()
    context.run(_run.set, digest(key))
    return context


def mark_steps(loop: asyncio.AbstractEventLoop, mark: SharedMark) -> None:
    """Make every task of a run set its mark while it executes."""

    def make_task(
        loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, T] | Generator[Any, None, T], **options: Any
    ) -> "asyncio.Task[T]":
        context: Context | None = options.get("context")
        of_run = _run.get() if context is None else context.get(_run)
        marked: Any = coro if of_run is None else _Marked(coro, mark, of_run)
        return asyncio.Task(marked, loop=loop, **options)

    loop.set_task_factory(make_task)


class _Marked(Coroutine[Any, Any, T]):
    """A coroutine whose steps are marked."""

    __slots__ = ("_coro", "_mark", "_of_run")

    def __init__(self, coro: Any, mark: SharedMark, of_run: bytes) -> None:
        self._coro = coro
        self._mark = mark
        self._of_run = of_run

    def send(self, value: Any) -> Any:
        self._mark.write(self._of_run)
        try:
            return self._coro.send(value)
        finally:
            self._mark.write(_IDLE)

    def throw(self, *error: Any) -> Any:
        self._mark.write(self._of_run)
        try:
            return self._coro.throw(*error)
        finally:
            self._mark.write(_IDLE)

    def close(self) -> None:
        self._coro.close()

    def __await__(self) -> Generator[Any, Any, T]:
        awaited: Awaitable[T] = self._coro
        return awaited.__await__()

    def __getattr__(self, name: str) -> Any:
        """Delegate `cr_frame` and others, for tracebacks and task names."""
        return getattr(self._coro, name)
