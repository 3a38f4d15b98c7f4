"""Queue the pages that wait for a parser, and share the parsers fairly between their hosts.

The next page belongs to the host that has used the least processor time so far. Hosts with expensive pages never occupy
every parser while other hosts have pages waiting: one site with expensive pages must not slow down the others.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

# A host whose pages take longer than this on average is expensive. Ordinary pages take a few milliseconds.
_EXPENSIVE_S = 0.2
_LATEST_WEIGHT = 0.3  # weight of the latest page in the moving average of its host
_RECENT_S = 10.0
_MAX_HOSTS = 1_000
# The cost of the first page of a host is estimated from its size: an ordinary page of 100 kB takes 25 ms.
_BYTES_PER_S = 4_000_000
# Read an expensive page that has waited this long in any case.
_MAX_WAIT_S = 5.0
_RECHECK_EVERY_S = 0.5


@dataclass(slots=True, eq=False)
class _Host(Generic[T]):
    waiting: "deque[tuple[float, T]]" = field(default_factory=deque)  # (time of arrival, page)
    used_s: float = 0.0  # processor time, counted from `_initial_used_s`
    mean_s: float = 0.0  # moving average of the processor time of a page
    in_progress: int = 0  # pages that parsers read now
    pages: int = 0  # pages read so far
    last_put_at: float = 0.0

    @property
    def is_expensive(self) -> bool:
        return self.mean_s > _EXPENSIVE_S


class FairQueue(Generic[T]):
    def __init__(self, max_waiting: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._room = asyncio.Semaphore(max_waiting)
        self._readers = 0  # parsers that are ready
        self._clock = clock
        self._hosts: dict[str, _Host[T]] = {}
        self._count = 0
        self._getters: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        return self._count

    @property
    def has_expensive(self) -> bool:
        """True while an expensive page is read or waits: it needs a parser beside that of the other pages."""
        return any((each.in_progress or each.waiting) and each.is_expensive for each in self._hosts.values())

    def add_reader(self) -> None:
        """Register a parser that is ready."""
        self._readers += 1
        self._wake()

    async def put(self, host: str, job: T, size: int = 0) -> None:
        """Add a page with a body of `size` bytes; block while the queue is full."""
        await self._room.acquire()
        state = self._hosts.get(host)
        if state is None:
            self._forget_idle()
            state = self._hosts[host] = _Host(used_s=self._initial_used_s(), mean_s=size / _BYTES_PER_S)
        elif not state.waiting and not state.in_progress:
            # An idle host does not save up processor time.
            state.used_s = max(state.used_s, self._initial_used_s())
        state.last_put_at = self._clock()
        state.waiting.append((state.last_put_at, job))
        self._count += 1
        self._wake()

    async def get(self) -> tuple[str, T]:
        """Return the host and the next page; wait until there is a page that may be read."""
        while (job := self.get_nowait()) is None:
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.add(getter)
            try:
                # An expensive page may become readable by the passing of time alone, without any event: check again.
                async with asyncio.timeout(_RECHECK_EVERY_S if self._count else None):
                    await getter
            except TimeoutError:
                continue
            finally:
                self._getters.discard(getter)
        return job

    def get_nowait(self, *, only_cheap: bool = False) -> tuple[str, T] | None:
        name = self._choose(only_cheap=only_cheap)
        if name is None:
            return None
        host = self._hosts[name]
        host.in_progress += 1
        host.used_s += host.mean_s  # corrected when the page has been read
        self._count -= 1
        self._room.release()
        return name, host.waiting.popleft()[1]

    def is_expensive(self, host: str) -> bool:
        return self._hosts[host].is_expensive

    def note_read(self, host: str, seconds: float) -> None:
        """Record the processor time of a page that `get` returned."""
        state = self._hosts[host]
        state.in_progress -= 1
        state.used_s += seconds - state.mean_s
        state.mean_s += (seconds - state.mean_s) * (_LATEST_WEIGHT if state.pages else 1.0)
        state.pages += 1
        self._wake()

    def drain(self) -> list[T]:
        """Remove and return all waiting pages."""
        jobs = [job for host in self._hosts.values() for _, job in host.waiting]
        self._hosts.clear()
        self._count = 0
        return jobs

    def _choose(self, *, only_cheap: bool) -> str | None:
        waiting = [(host.used_s, name) for name, host in self._hosts.items() if host.waiting]
        if only_cheap or (waiting and not self._has_room_for_expensive()):
            waiting = [each for each in waiting if not self._hosts[each[1]].is_expensive]
        return min(waiting)[1] if waiting else None

    def _has_room_for_expensive(self) -> bool:
        """True unless an expensive page would occupy the last parser while hosts with ordinary pages need it."""
        hosts, now = self._hosts.values(), self._clock()
        expensive = [host for host in hosts if host.is_expensive]
        if sum(host.in_progress for host in expensive) < self._readers - 1:
            return True
        if any(host.waiting and now - host.waiting[0][0] > _MAX_WAIT_S for host in expensive):
            return True
        return not any(not host.is_expensive and now - host.last_put_at < _RECENT_S for host in hosts)

    def _initial_used_s(self) -> float:
        """Return the initial `used_s` of a host: that of the active host which has used the least."""
        return min((host.used_s for host in self._hosts.values() if host.waiting or host.in_progress), default=0.0)

    def _forget_idle(self) -> None:
        if len(self._hosts) >= _MAX_HOSTS:
            self._hosts = {name: host for name, host in self._hosts.items() if host.waiting or host.in_progress}

    def _wake(self) -> None:
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
