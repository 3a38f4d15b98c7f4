"""Where a node finds its next runs: by itself in the database, or where somebody points it to."""

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from corral.domain.ids import Owner
from corral.domain.ports import LeaseStore
from corral.domain.queues import EVERY_QUEUE, Hint, Lane, Queue, lane_of, served
from corral.domain.run import Lanes, Lease
from corral.engine.helpers import Helpers
from corral.engine.pool import Key
from corral.engine.renewer import LEASE_S

# A run that nobody was told of waits so long, and a moment: then whoever has room takes it.
OVERDUE_S = 10.0
_LOOK_EVERY_S = 3.0
_LOOK_UNTOLD_EVERY_S = 0.5
_REMEMBERED = 10_000


class Source(Protocol):
    async def claim(self, owner: Owner, room: int, lanes: Lanes) -> list[Lease]: ...

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        """Runs that help with a crawl, for who has nothing else to begin. Nobody is ever pointed to those."""
        ...

    def woken(self) -> None:
        """The database may have something that nobody will be pointed to."""
        ...


class Oldest:
    """Whatever is due, by band and age."""

    def __init__(self, store: LeaseStore, queues: Sequence[Queue] = EVERY_QUEUE) -> None:
        self._store = store
        self._helpers = Helpers(store)
        self._queues = queues

    async def claim(self, owner: Owner, room: int, lanes: Lanes) -> list[Lease]:
        return await self._store.claim(owner, room, LEASE_S, served(lanes, self._queues))

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        return await self._helpers.claim(owner, room if Queue.HTTP in self._queues else 0)

    def woken(self) -> None:
        pass


class OnlyRun:
    """The one that a person waits for."""

    def __init__(self, store: LeaseStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._helpers = Helpers(store, run_id)

    async def claim(self, owner: Owner, room: int, lanes: Lanes) -> list[Lease]:  # noqa: ARG002 - there is one
        return await self._store.claim_one(self._run_id, owner, LEASE_S)

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        return await self._helpers.claim(owner, room)

    def woken(self) -> None:
        pass


class Errand(NamedTuple):
    """What was asked for, and how to say what became of that: taken up, and later ended."""

    hint: Hint
    taken_up: Callable[[], None]
    ended: Callable[[str], None]


NOT_CLAIMED = "not claimed: executed by somebody else, ended, or not due"
NO_ROOM = "left in the database: no room for its kind"


class Asked:
    """The runs that messages name. A message may be lost, so now and then the database is asked, too."""

    def __init__(
        self,
        store: LeaseStore,
        queues: Sequence[Queue],
        is_told: Callable[[], bool],
        has_backlog: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._helpers = Helpers(store)
        self._queues = queues
        self._is_told = is_told
        self._has_backlog = has_backlog
        self._found = True  # something, when it last looked beyond the messages
        self._taken: OrderedDict[str, bool] = OrderedDict()  # whose messages are still to come
        self._clock = clock
        self._waiting: deque[Errand] = deque()
        self._executing: dict[Key, Errand] = {}
        self._known: set[Lane] = set()  # lanes in which more is waiting than we were pointed to
        self._looked = clock()
        self.heard = 0  # messages, ever
        self.wake: Callable[[], None] = lambda: None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def ask(self, errand: Errand) -> None:
        self.heard += 1
        self._waiting.append(errand)
        self.wake()

    def woken(self) -> None:
        self._known = set(Lane)

    async def claim(self, owner: Owner, room: int, lanes: Lanes) -> list[Lease]:
        lanes = served(lanes, self._queues)
        leases = await self._named(owner, room, lanes)
        if room > len(leases):
            leases += await self._unnamed(owner, room - len(leases), _less(lanes, leases))
        return leases

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        return await self._helpers.claim(owner, room if Queue.HTTP in self._queues else 0)

    def forget(self, still: Iterable[Key]) -> None:
        """Say of what is executed no longer that it has ended."""
        for key in self._executing.keys() - set(still):
            self._executing.pop(key).ended("executed")

    @property
    def has_executing(self) -> bool:
        return bool(self._executing)

    # -- what messages name ------------------------------------------------------------------------

    async def _named(self, owner: Owner, room: int, lanes: Lanes) -> list[Lease]:
        batch = self._next(room, lanes)
        if not batch:
            return []
        wanted = [(errand.hint.run_id, errand.hint.lane) for errand in batch.values()]
        try:
            leases = await self._store.claim_asked(wanted, owner, LEASE_S)
        except BaseException:
            self._waiting.extendleft(reversed(batch.values()))
            raise
        for lease in leases:
            errand = batch.pop(lease.run_id)
            self._executing[lease.key] = errand
            errand.taken_up()
        for errand in batch.values():
            _declined(errand, NOT_CLAIMED)
        return leases

    def _next(self, room: int, lanes: Lanes) -> dict[str, Errand]:
        left = {Lane.LIGHT: lanes.light, Lane.BROWSER: lanes.browsers, Lane.CRAWL: lanes.crawls}
        batch: dict[str, Errand] = {}
        while self._waiting and len(batch) < room:
            errand = self._waiting.popleft()
            hint, fits = errand.hint, left[errand.hint.lane]
            if hint.run_id in batch or self._taken.pop(hint.run_id, False):
                _declined(errand, NOT_CLAIMED)
            elif fits is not None and fits <= 0:
                # Keeping it would keep those behind it from being asked for; the database does not forget it.
                self._known.add(hint.lane)
                _declined(errand, NO_ROOM)
            else:
                batch[hint.run_id] = errand
                if fits is not None:
                    left[hint.lane] = fits - 1
        return batch

    # -- what nobody names -------------------------------------------------------------------------

    async def _unnamed(self, owner: Owner, room: int, lanes: Lanes) -> list[Lease]:
        now = self._clock()
        if self._known and _has_room(lanes, self._known):
            self._looked = now
            leases = await self._store.claim(owner, room, LEASE_S, _only(lanes, self._known))
            if not leases:
                self._known = {lane for lane in self._known if not _has_room(lanes, {lane})}
            return leases
        is_told = self._is_told()
        if is_told and self._has_backlog():
            return await self._ahead(owner, room, lanes, now)
        if now - self._looked < (_LOOK_EVERY_S if is_told else _LOOK_UNTOLD_EVERY_S):
            return []
        self._looked = now
        return await self._store.claim(owner, room, LEASE_S, lanes, overdue_s=OVERDUE_S if is_told else 0.0)

    async def _ahead(self, owner: Owner, room: int, lanes: Lanes, now: float) -> list[Lease]:
        """Messages come one by one. Where many wait and there is room, the next ones are read from the database, in
        the order they are to be had, and their messages find them taken."""
        if not self._found and now - self._looked < _LOOK_UNTOLD_EVERY_S:
            return []
        self._looked = now
        leases = await self._store.claim(owner, room, LEASE_S, lanes)
        self._found = len(leases) == room
        for lease in leases:
            self._taken[lease.run_id] = True
        while len(self._taken) > _REMEMBERED:
            self._taken.popitem(last=False)
        return leases


def _declined(errand: Errand, why: str) -> None:
    errand.taken_up()
    errand.ended(why)


def _less(lanes: Lanes, leases: Sequence[Lease]) -> Lanes:
    """What is left of the room after these."""
    taken = Counter(lane_of(lease.run.kind, lease.run.resolved_strategy) for lease in leases)
    browsers = None if lanes.browsers is None else lanes.browsers - taken[Lane.BROWSER]
    crawls = None if lanes.crawls is None else lanes.crawls - taken[Lane.CRAWL]
    return lanes._replace(browsers=browsers, crawls=crawls)


def _only(lanes: Lanes, known: set[Lane]) -> Lanes:
    return Lanes(
        browsers=lanes.browsers if Lane.BROWSER in known else 0,
        crawls=lanes.crawls if Lane.CRAWL in known else 0,
        light=lanes.light if Lane.LIGHT in known else 0,
    )


def _has_room(lanes: Lanes, known: set[Lane]) -> bool:
    return any(left is None or left > 0 for left in _only(lanes, known))
