"""The pages that wait for a parser, shared fairly by the hosts that sent them.

The next page is one of the host that has used the least processor time so far. Pages of a host whose pages take long
never occupy every parser while other hosts have pages: one site with expensive pages must not slow down the others.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

# Pages that take longer, on average, are expensive. Ordinary pages take some milliseconds.
_EXPENSIVE_S = 0.2
_WEIGHT = 0.3  # of the latest page in the average of its host
_RECENT_S = 10.0
_MAX_HOSTS = 1_000
# The first page of a host is judged by its size: an ordinary page of 100 kB takes 25 ms.
_BYTES_PER_S = 4_000_000
# An expensive page that has waited this long is read in any case.
_PATIENCE_S = 5.0
_LOOK_EVERY_S = 0.5


@dataclass(slots=True, eq=False)
class _Host(Generic[T]):
    waiting: "deque[tuple[float, T]]" = field(default_factory=deque)  # each with the time when it came
    used_s: float = 0.0  # processor time, on the scale of all hosts: see `_start_of`
    mean_s: float = 0.0  # of one page
    taken: int = 0  # pages that a parser reads now
    pages: int = 0  # that have been read
    seen_at: float = 0.0

    @property
    def is_expensive(self) -> bool:
        return self.mean_s > _EXPENSIVE_S


class FairQueue(Generic[T]):
    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._room = asyncio.Semaphore(most)
        self._readers = 0  # parsers that are ready
        self._clock = clock
        self._hosts: dict[str, _Host[T]] = {}
        self._count = 0
        self._getters: set[asyncio.Future[None]] = set()

    def __len__(self) -> int:
        return self._count

    @property
    def has_expensive(self) -> bool:
        """True while an expensive page is read or waits: it needs a parser beside that of the others."""
        return any((each.taken or each.waiting) and each.is_expensive for each in self._hosts.values())

    def add_reader(self) -> None:
        """Count a parser that is ready."""
        self._readers += 1
        self._wake()

    async def put(self, host: str, job: T, size: int = 0) -> None:
        """Add a page with a body of `size` bytes; wait while too many are waiting."""
        await self._room.acquire()
        found = self._hosts.get(host)
        if found is None:
            self._forget_idle()
            found = self._hosts[host] = _Host(used_s=self._start_of(), mean_s=size / _BYTES_PER_S)
        elif not found.waiting and not found.taken:
            # Time that a host did not use is not saved up.
            found.used_s = max(found.used_s, self._start_of())
        found.seen_at = self._clock()
        found.waiting.append((found.seen_at, job))
        self._count += 1
        self._wake()

    async def get(self) -> tuple[str, T]:
        """Return the next page and its host; wait until there is one that may be read."""
        while (job := self.get_nowait()) is None:
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.add(getter)
            try:
                # A page that may not be read yet may be so a moment later, without any event.
                async with asyncio.timeout(_LOOK_EVERY_S if self._count else None):
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
        host.taken += 1
        host.used_s += host.mean_s  # corrected when the page has been read
        self._count -= 1
        self._room.release()
        return name, host.waiting.popleft()[1]

    def is_expensive(self, host: str) -> bool:
        return self._hosts[host].is_expensive

    def note_read(self, host: str, seconds: float) -> None:
        """Record the processor time of a page that was taken."""
        found = self._hosts[host]
        found.taken -= 1
        found.used_s += seconds - found.mean_s
        found.mean_s += (seconds - found.mean_s) * (_WEIGHT if found.pages else 1.0)
        found.pages += 1
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
        """True unless the last parser would be taken from hosts with ordinary pages."""
        hosts, now = self._hosts.values(), self._clock()
        expensive = [host for host in hosts if host.is_expensive]
        if sum(host.taken for host in expensive) < self._readers - 1:
            return True
        if any(host.waiting and now - host.waiting[0][0] > _PATIENCE_S for host in expensive):
            return True
        return not any(not host.is_expensive and now - host.seen_at < _RECENT_S for host in hosts)

    def _start_of(self) -> float:
        """Return the time that a host is charged with when it begins: as much as the host that is served next."""
        return min((host.used_s for host in self._hosts.values() if host.waiting or host.taken), default=0.0)

    def _forget_idle(self) -> None:
        if len(self._hosts) >= _MAX_HOSTS:
            self._hosts = {name: host for name, host in self._hosts.items() if host.waiting or host.taken}

    def _wake(self) -> None:
        for getter in self._getters:
            if not getter.done():
                getter.set_result(None)
