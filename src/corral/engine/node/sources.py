"""Sources of runs for a node. The database determines the order; messages only wake the node and are acknowledged."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from corral.domain.hosts.claiming import HostRoom
from corral.domain.ids import Owner
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.event import EventDraft
from corral.domain.runs.queues import EVERY_QUEUE, Queue, limit_to_queues
from corral.domain.runs.run import DRAIN, Lanes, Lease, NewRun
from corral.engine.node.crawl_helpers import Helpers
from corral.engine.node.pool import Key
from corral.engine.node.renewer import LEASE_S

# A busy node drops a message if its run is still queued after this time; the database keeps the run.
_WAIT_S = 5.0
_REMEMBERED = 10_000


class RunSource(Protocol):
    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]: ...

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        """Claim runs that help with a crawl, if the node has nothing else to start. No message names these runs."""
        ...


class PollingSource:
    """Claims due runs by priority and age."""

    def __init__(self, store: EngineStore, queues: Sequence[Queue] = EVERY_QUEUE) -> None:
        self._store = store
        self._helpers = Helpers(store.crawls)
        self._queues = queues

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:
        return await self._store.runs.claim(owner, room, LEASE_S, limit_to_queues(lanes, self._queues), hosts)

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        return await self._helpers.claim(owner, room if Queue.HTTP in self._queues else 0)


class SingleRunSource:
    """Claims the one run of a command such as `corral scrape`."""

    def __init__(self, store: EngineStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._helpers = Helpers(store.crawls, run_id)

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:  # noqa: ARG002 - there is one
        return await self._store.runs.claim_one(self._run_id, owner, LEASE_S, hosts)

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        return await self._helpers.claim(owner, room)


class WorkflowSource:
    """Claims the child runs of one workflow, for a command that executes it.

    Once it has claimed a step that waits for the queue, it also claims the scripts of the queue: no other node may be
    there to execute them.
    """

    def __init__(self, store: EngineStore, workflow_id: str) -> None:
        self._store = store
        self._workflow_id = workflow_id
        self._helpers = Helpers(store.crawls)
        self._drains = False
        self.on_drain: Callable[[], None] = lambda: None

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:
        claim = self._store.workflows.claim_children
        claimed = await claim(self._workflow_id, owner, room, LEASE_S, lanes=lanes, hosts=hosts)
        if not self._drains and any(lease.run.kind == DRAIN for lease in claimed):
            self._drains = True
            self.on_drain()
        if claimed or not self._drains:
            return claimed
        scripts = limit_to_queues(lanes, (Queue.SCRIPT,))
        return await self._store.runs.claim(owner, room, LEASE_S, scripts, hosts)

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        return await self._helpers.claim(owner, room)


class RunSetSource:
    """Claims the runs of a command that starts several; `list_ids` returns the ones that have not ended."""

    def __init__(self, store: EngineStore, list_ids: Callable[[], Awaitable[Sequence[str]]]) -> None:
        self._store = store
        self._list_ids = list_ids

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:  # noqa: ARG002 - they use no lane
        claimed: list[Lease] = []
        for run_id in await self._list_ids():
            if len(claimed) < room:
                claimed += await self._store.runs.claim_one(run_id, owner, LEASE_S, hosts)
        return claimed

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:  # noqa: ARG002 - none of them is a crawl
        return []


class ChosenRunsSource:
    """Claims only the runs that a command or a program chose."""

    def __init__(self, store: EngineStore) -> None:
        self._store = store
        self._chosen: dict[str, Helpers] = {}

    def choose(self, run_ids: Iterable[str]) -> None:
        self._chosen |= {run_id: Helpers(self._store.crawls, run_id) for run_id in run_ids}

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:
        limit = room if lanes.crawls is None else min(room, lanes.crawls)
        leases: list[Lease] = []
        for run_id in list(self._chosen):  # more may be chosen while a claim is written
            if len(leases) >= limit:
                break
            leases += await self._store.runs.claim_one(run_id, owner, LEASE_S, hosts)
        return leases

    async def helpers(self, owner: Owner, room: int) -> list[Lease]:
        for helpers in list(self._chosen.values()):
            leases = await helpers.claim(owner, room)
            if leases:
                return leases
        return []


class NewRunSource(SingleRunSource):
    """Adds the one run of a command with its first claim, in one transaction: no other node can take it."""

    def __init__(self, store: EngineStore, new: NewRun, drafts: Sequence[EventDraft]) -> None:
        super().__init__(store, new.id)
        self._new: tuple[NewRun, Sequence[EventDraft]] | None = (new, drafts)

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:
        if self._new is None:
            return await super().claim(owner, room, lanes, hosts)
        leases = await self._store.runs.add_claimed(*self._new, owner, LEASE_S)
        self._new = None
        return leases


class RunDelivery(NamedTuple):
    """A message that names a run, with callbacks for its claim and its end."""

    run_id: str
    report_start: Callable[[], None]
    report_end: Callable[[str], None]


NOT_CLAIMED = "not claimed: executed by another node, ended, or not due"
LEFT_IN_QUEUE = "left in the database: older runs come first"


class MessageSource(PollingSource):
    """Wakes up for messages, and tells the broker which of the named runs this node executes.

    The order of the database decides what is claimed, never a message: a message may be lost, late or duplicated, and
    an older run may have none.
    """

    def __init__(
        self, store: EngineStore, queues: Sequence[Queue], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(store, queues)
        self._clock = clock
        self._waiting: OrderedDict[str, list[tuple[RunDelivery, float]]] = OrderedDict()  # by run, with arrival times
        self._executing: dict[Key, list[RunDelivery]] = {}
        self._keys: dict[str, Key] = {}  # deliveries of the runs executed here
        self._ended: OrderedDict[str, None] = OrderedDict()  # runs executed here whose messages may still arrive
        self.message_count = 0
        self.wake: Callable[[], None] = lambda: None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def has_executing(self) -> bool:
        return bool(self._keys)

    def deliver(self, delivery: RunDelivery) -> None:
        self.message_count += 1
        run_id = delivery.run_id
        if run_id in self._keys:
            self._executing[self._keys[run_id]].append(delivery)
            delivery.report_start()
        elif run_id in self._ended:
            _decline(delivery, NOT_CLAIMED)
        else:
            self._waiting.setdefault(run_id, []).append((delivery, self._clock()))
            self.wake()

    async def claim(self, owner: Owner, room: int, lanes: Lanes, hosts: HostRoom) -> list[Lease]:
        waiting_before = list(self._waiting)
        leases = await super().claim(owner, room, lanes, hosts)
        for lease in leases:
            self._keys[lease.run_id] = lease.key
            self._ended.pop(lease.run_id, None)
            deliveries = [delivery for delivery, _ in self._waiting.pop(lease.run_id, ())]
            self._executing[lease.key] = deliveries
            for delivery in deliveries:
                delivery.report_start()
        if len(leases) < room:
            for run_id in waiting_before:
                self._give_up(run_id, NOT_CLAIMED)
        else:
            self._give_up_late()
        return leases

    def _give_up_late(self) -> None:
        before = self._clock() - _WAIT_S
        while self._waiting:
            run_id, deliveries = next(iter(self._waiting.items()))
            if deliveries[0][1] > before:
                return
            self._give_up(run_id, LEFT_IN_QUEUE)

    def _give_up(self, run_id: str, why: str) -> None:
        for delivery, _ in self._waiting.pop(run_id, ()):
            _decline(delivery, why)

    def forget(self, held_keys: Iterable[Key]) -> None:
        """Report the end of runs that are no longer executed."""
        for key in self._executing.keys() - set(held_keys):
            for delivery in self._executing.pop(key):
                delivery.report_end("executed")
            if self._keys.get(key[0]) == key:
                del self._keys[key[0]]
            self._ended[key[0]] = None
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)


def _decline(delivery: RunDelivery, why: str) -> None:
    delivery.report_start()
    delivery.report_end(why)
