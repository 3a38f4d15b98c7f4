"""How a worker process executes a run."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.fields.spec import FieldSpec
from corral.domain.hosts.limiter import Visit
from corral.domain.hosts.order import HostOrder
from corral.domain.net.proxy import OpenProxy
from corral.domain.runs.outcome import Outcome
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.probe import Probe
from corral.domain.runs.run import Lease
from corral.domain.sites.session import SealedSession, SessionState


class PageSlots(Protocol):
    """Bounds how many pages of a crawl request hosts at a time."""

    def free(self, item_id: int) -> None:
        """Let the next page start: the response of this one is complete, and only parsing remains."""
        ...

    async def take(self, item_id: int) -> None:
        """Wait for a slot before a page is requested again; return at once if it holds one."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """The data of a run that an executor needs; it crosses the process boundary."""

    run_id: str
    epoch: int
    kind: str
    strategy: str
    attempt: int
    payload: Payload
    timeout_s: float
    # Sealed on its way; opened only inside the worker that needs it.
    session: SealedSession | SessionState | None = None
    # Opened from the payload inside the worker; it never crosses the boundary.
    proxy: OpenProxy | None = None
    # Its slots at hosts; created inside the worker.
    visit: Visit | None = None
    # For a crawl: the order in which its pages request each host; created inside the worker.
    order: HostOrder | None = None
    # For a crawl: how many of its pages may be requested at a time; created inside the worker.
    slots: PageSlots | None = None
    # How the browser renders a page of a crawl: a fetch.browser Rendering, created inside the worker.
    rendering: object | None = None
    job_id: str | None = None


def task_of(lease: Lease, timeout_s: float) -> Task:
    run = lease.run
    return Task(
        run_id=run.id,
        epoch=run.epoch,
        kind=run.kind,
        strategy=run.resolved_strategy,
        attempt=run.attempt,
        payload=run.payload,
        timeout_s=timeout_s,
        session=lease.login,
        job_id=run.job_id,
    )


class FrontierClient(Protocol):
    """The source of a run's items; reports their results in the same call."""

    async def step(self, report: BatchReport) -> Batch: ...

    def notify(self, progress: dict[str, Any]) -> None:
        """Send the progress of the run to the node, best effort."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Let the node read or write something in the database; see `engine.node.store_calls`."""
        ...


class AlertSender(Protocol):
    """Delivers the alert of a run."""

    async def send(self, task: Task) -> Outcome: ...


class RunKind(Protocol):
    """How runs of one kind are executed, inside a worker process."""

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome: ...


class Executor(Protocol):
    """One strategy to fetch a page."""

    async def execute(self, task: Task) -> Outcome: ...


class ScriptRunner(Protocol):
    """Executes scripts; `notify` receives progress and output while one runs."""

    async def execute(self, task: Task, notify: Callable[[dict[str, Any]], None]) -> Outcome: ...


StoreCall = Callable[[str, dict[str, Any]], Awaitable[Any]]
Notify = Callable[[dict[str, Any]], None]


class Reconciler(Protocol):
    """Compares expected keys with inventories; `call` reaches the database through the node."""

    async def execute(self, task: Task, call: StoreCall, notify: Notify) -> Outcome: ...


class Prober(Protocol):
    async def __call__(
        self, url: str, fields: Sequence[FieldSpec], trusted_hosts: frozenset[str], *, verifies_tls: bool = True
    ) -> Probe: ...
