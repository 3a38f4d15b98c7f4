"""Where runs wait: in lanes of the database, by their cost, and in queues of a broker, by the nodes that serve them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from corral.domain.errors import BadInput
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.run import CRAWL, SCRIPT, Lanes


class Lane(StrEnum):
    LIGHT = "light"
    BROWSER = "browser"
    CRAWL = "crawl"
    SCRIPT = "script"


class Queue(StrEnum):
    HTTP = "http"
    BROWSER = "browser"
    SCRIPT = "script"


EVERY_QUEUE = tuple(Queue)


class Waiting(Protocol):
    """The data of a run that a hint needs."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def resolved_strategy(self) -> Strategy: ...
    @property
    def priority(self) -> Priority: ...


class Hint(NamedTuple):
    """A message that a run is due. It may be lost, duplicated or late: the database decides which node gets the run."""

    run_id: str
    queue: Queue
    lane: Lane
    priority: Priority = Priority.MEDIUM
    epoch: int = 0


class Waker(Protocol):
    """Send hints that these runs are due; without runs, that some run may be due."""

    def __call__(self, *waiting: Waiting) -> None: ...


def lane_of(kind: str, strategy: Strategy) -> Lane:
    if kind == CRAWL:
        return Lane.CRAWL
    if kind == SCRIPT:
        return Lane.SCRIPT
    return Lane.BROWSER if strategy is Strategy.BROWSER else Lane.LIGHT


def queue_of(kind: str, strategy: Strategy) -> Queue:
    if kind == SCRIPT:
        return Queue.SCRIPT
    return Queue.BROWSER if lane_of(kind, strategy) is Lane.BROWSER else Queue.HTTP


def hint_of(run: Waiting) -> Hint:
    kind, strategy = run.kind, run.resolved_strategy
    return Hint(run.id, queue_of(kind, strategy), lane_of(kind, strategy), run.priority)


def limit_to_queues(lanes: Lanes, queues: Sequence[Queue]) -> Lanes:
    """Return the capacity of a node that serves only these queues."""
    if Queue.HTTP not in queues:
        lanes = lanes._replace(light=0, crawls=0)
    if Queue.SCRIPT not in queues:
        lanes = lanes._replace(scripts=0)
    return lanes if Queue.BROWSER in queues else lanes._replace(browsers=0)


def parse_queues(text: str) -> tuple[Queue, ...]:
    """Parse a list of queues such as `http,browser`."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Queue)]
    if unknown or not names:
        queues = ", ".join(Queue)
        what = f"there is no queue {', '.join(unknown)}" if unknown else "no queue is named"
        raise BadInput(f"{what}; the queues are {queues}", field="queues", hint="e.g. --queues http,browser")
    return tuple(Queue(name) for name in dict.fromkeys(names))
