"""Nodes, the runs they hold, and the queues they serve."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from corral.domain.ids import Owner
from corral.domain.jobs.job import Priority
from corral.domain.runs.queues import Queue

# Four times the interval of heartbeats: a late one on a busy machine does not make a node lost.
LOST_AFTER_S = 10.0
FORGOTTEN_AFTER_S = 3600.0
# A start takes a few seconds; work that waits longer has no node.
NEGLECTED_AFTER_S = 30.0


class NodeRole(StrEnum):
    EMBEDDED = "embedded"  # beside the API, in `corral up`
    WORKER = "worker"  # by itself
    SINGLE = "single"  # for one run of a command at a terminal


class NodeState(StrEnum):
    LIVE = "live"
    STOPPING = "stopping"  # it finishes its runs and claims no more
    LOST = "lost"  # not seen for a while: it died, or cannot reach the database


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """The description that a node stores at its start."""

    owner: Owner
    host: str
    pid: int
    role: NodeRole
    transport: str
    queues: tuple[str, ...]  # the queues that it serves
    concurrency: int  # runs at once, over all of its processes
    version: str


@dataclass(frozen=True, slots=True)
class HeldRun:
    id: str
    kind: str
    job_id: str | None
    since: datetime | None  # its claim
    lease_left_s: float  # below zero: it has expired, and the next sweep requeues the run


@dataclass(frozen=True, slots=True)
class NodeStatus:
    info: NodeInfo
    processes: int  # worker processes at its last heartbeat
    is_stopping: bool
    started_at: datetime
    seen_s: float  # seconds since its last heartbeat
    holding: int = 0
    runs: tuple[HeldRun, ...] = ()  # the oldest of them

    @property
    def state(self) -> NodeState:
        if self.seen_s > LOST_AFTER_S:
            return NodeState.LOST
        return NodeState.STOPPING if self.is_stopping else NodeState.LIVE


@dataclass(frozen=True, slots=True)
class Band:
    """The runs of one priority in a queue, counted."""

    priority: Priority
    due: int = 0
    later: int = 0  # queued, with a due time in the future
    held: int = 0  # for a person, or for its host


@dataclass(frozen=True, slots=True)
class QueueNow:
    name: Queue
    bands: tuple[Band, ...]
    running: int = 0
    oldest_s: float | None = None  # how long the oldest due run has waited

    @property
    def due(self) -> int:
        return sum(band.due for band in self.bands)

    @property
    def later(self) -> int:
        return sum(band.later for band in self.bands)

    @property
    def held(self) -> int:
        return sum(band.held for band in self.bands)


@dataclass(frozen=True, slots=True)
class Neglect:
    """Due work in a queue that no living node serves."""

    queue: Queue
    waited_s: float

    @property
    def sentence(self) -> str:
        return f"runs of the queue {self.queue.value} have waited for {self.waited_s:.0f} s and no node serves it"


@dataclass(frozen=True, slots=True)
class BrokerNow:
    """The state of the broker, if there is one. Its messages are hints; the database decides."""

    messages: Mapping[Queue, int] | None  # None if the broker does not report them
    problem: str | None = None


REMEDY = "start one with `corral worker`, or everything with `corral up`"


def find_served_queues(nodes: Iterable[NodeStatus]) -> frozenset[str]:
    """Return the queues that at least one living node serves."""
    return frozenset(queue for node in nodes if node.state is NodeState.LIVE for queue in node.info.queues)


def find_neglected(oldest_s: dict[Queue, float], by: frozenset[str], after_s: float) -> list[Neglect]:
    return [
        Neglect(name, waited_s) for name, waited_s in oldest_s.items() if name.value not in by and waited_s >= after_s
    ]


def troubles(nodes: Sequence[NodeStatus], queues: Sequence[QueueNow]) -> list[str]:
    """Return one sentence per problem. A run without a node is reported at once, however short its wait."""
    oldest_s = {queue.name: queue.oldest_s for queue in queues if queue.oldest_s is not None}
    by = find_served_queues(nodes)
    sentences = []
    for queue in queues:
        if find_neglected({queue.name: oldest_s[queue.name]} if queue.name in oldest_s else {}, by, 0.0):
            are = "1 run is" if queue.due == 1 else f"{queue.due:,} runs are"
            sentences.append(f"{are} due in the queue {queue.name.value} and no node serves it; {REMEDY}")
    return sentences
