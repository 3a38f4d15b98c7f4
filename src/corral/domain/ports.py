"""What the siblings offer each other: `engine` is written against these, `wiring` puts the real ones in."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from corral.domain.crawl.crawl import Bounds
from corral.domain.crawl.item import Batch, BatchReport, DiscoveredLink
from corral.domain.hosts.claiming import ANY_HOST, HostRoom
from corral.domain.hosts.limiter import Parking, StoredHost
from corral.domain.hosts.quota import Given, PartAsk
from corral.domain.ids import Owner
from corral.domain.jobs.job import DueJob, FieldSpec, Job, StoredJob
from corral.domain.runs.event import Event, EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import Intervention
from corral.domain.runs.loss import Loss
from corral.domain.runs.node import WorkerCard
from corral.domain.runs.outcome import Outcome, Task
from corral.domain.runs.probe import Probe
from corral.domain.runs.queues import Hint
from corral.domain.runs.record import Record
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import EVERY_LANE, Lanes, Lease, Move, NewRun, Run
from corral.domain.runs.settlement import Settlement
from corral.domain.sites.recipe.recipe import Lesson, StoredRecipe
from corral.domain.sites.session import CheckResult, NewSession, SealedSession, SessionInfo
from corral.domain.sites.site import Memory, Observation


class JobStore(Protocol):
    async def add_job(self, job: Job, next_slot_ms: int | None, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        """Write a job. With a key seen before: the id from then, and True."""
        ...

    async def job(self, job_id: str) -> StoredJob: ...

    async def created_by(self, key: IdempotencyKey) -> str | None:
        """What this key created before; None where it is new."""
        ...

    async def update_job(self, before: Job, after: Job, next_slot_ms: int | None) -> bool:
        """Write the change where the job still is as it was; False where somebody else changed it."""
        ...

    async def due_jobs(self, limit: int) -> list[DueJob]:
        """Scheduled jobs whose slot has come."""
        ...

    async def fire(
        self,
        due: DueJob,
        slot_ms: int,
        next_slot_ms: int,
        run: NewRun,
        drafts: Sequence[EventDraft],
        *,
        seeds: Sequence[DiscoveredLink] = (),
    ) -> bool:
        """Start the run of a slot, once; False where somebody else did. A crawl begins with its seeds."""
        ...


class RunStore(Protocol):
    async def add_runs(
        self, new: Sequence[tuple[NewRun, Sequence[EventDraft]]], key: IdempotencyKey | None = None
    ) -> tuple[list[str], bool]: ...

    async def add_crawl(
        self,
        run: NewRun,
        drafts: Sequence[EventDraft],
        seeds: Sequence[DiscoveredLink],
        key: IdempotencyKey | None = None,
        keep: bool = False,
    ) -> tuple[str, bool]:
        """Write a run with where it begins. With a key seen before: the id from then, and True."""
        ...

    async def run(self, run_id: str) -> Run: ...

    async def replace_held_payload(self, run_id: str, payload: dict[str, Any]) -> None:
        """What a held run goes on with; a run that is not held keeps what it has."""
        ...

    async def move(self, run_id: str, what: Move) -> Run:
        """What a person asked for; WrongState where the run's state forbids it."""
        ...


class LeaseStore(Protocol):
    """Every method is one transaction, and fenced: a lease that was lost writes nothing."""

    @property
    def writes_in_order(self) -> bool:
        """True where what is asked for first is never committed after what was asked for later."""
        ...

    async def claim(
        self, owner: Owner, limit: int, lease_s: float, lanes: Lanes = EVERY_LANE, hosts: HostRoom = ANY_HOST
    ) -> list[Lease]:
        """Due runs by band and age, within the room of their lanes and hosts."""
        ...

    async def due_again(self, within_s: float, limit: int) -> list[Hint]:
        """Runs that wait anew, for a retry say, and have become due within this time."""
        ...

    async def claim_one(self, run_id: str, owner: Owner, lease_s: float, hosts: HostRoom = ANY_HOST) -> list[Lease]: ...

    async def claim_helpers(self, owner: Owner, limit: int, lease_s: float, crawl: str | None = None) -> list[Lease]:
        """Runs that help with a crawl, of one crawl or of any."""
        ...

    def renew_from_thread(
        self, leases: Sequence[tuple[str, int]], owner: Owner, lease_s: float
    ) -> set[tuple[str, int]]:
        """Prolong leases without the help of an event loop; what is missing from the answer was lost."""
        ...

    async def settle_all(self, settlements: Sequence[Settlement]) -> list[bool]: ...

    async def crawl_step(self, lease: Lease, report: BatchReport, bounds: Bounds) -> Batch | None:
        """Write what became of items and lease more, also of a helper; None where the run is not ours any more."""
        ...

    async def crawl_reasons(self, run_id: str) -> list[tuple[str, str, int]]:
        """How many items are in which state for which reason."""
        ...

    async def next_records(self, run_id: str, after: str) -> list[Record]:
        """What follows, as much as fits into memory whatever is in it; nothing at the end."""
        ...

    async def crawl_examples(self, run_id: str, reasons: Sequence[str]) -> dict[str, str]:
        """For each of these reasons, an address that has it."""
        ...

    async def crawl_held_back(self, run_id: str) -> list[dict[str, Any]]:
        """Addresses that trap detection held back, by rule and template, with an example of each."""
        ...

    async def crawl_changes(self, run_id: str) -> dict[str, int]:
        """How many pages changed in which way since an earlier crawl."""
        ...

    async def release(self, leases: Sequence[Lease], reason: str) -> int: ...

    async def lose(self, losses: Sequence[Loss]) -> int: ...

    async def reap(self, limit: int = 500) -> int: ...

    async def prune(self, policy: Retention, batch: int = 200) -> int: ...

    async def clear_leftovers(self, rows: int = 1_000) -> bool:
        """Remove some of what is left of forgotten crawls; False where nothing is."""
        ...

    def relay_ballast(self) -> None: ...


class SiteStore(Protocol):
    async def site(self, host: str) -> list[Memory]:
        """Everything remembered of a host."""
        ...

    async def learn(self, seen: Sequence[Observation]) -> None: ...

    async def recipes_for(self, host: str, fields_key: str) -> list[StoredRecipe]:
        """Every recipe for these fields on the host, whichever its pages."""
        ...

    async def mark_recipe_failed(self, recipe_id: str, version: int) -> None:
        """A replay of this version failed: the recipe is not offered again until its shape changes."""
        ...

    async def save_recipe(self, lesson: Lesson) -> StoredRecipe | None:
        """Keep what a run was taught; None where it is known already, or pinned otherwise by a person."""
        ...


class SessionStore(Protocol):
    """Sessions as the vault sealed them, and what waits for one."""

    async def session_named(self, job_id: str, name: str) -> tuple[str, int] | None:
        """Id and version of the session of this name."""
        ...

    async def put_session(self, new: NewSession, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        """Write a session or its next version; SessionChanged where somebody else wrote that version first."""
        ...

    async def session(self, session_id: str) -> SessionInfo: ...

    async def sealed_session(self, session_id: str) -> SealedSession: ...

    async def sessions_under_other_keys(self, kid: str, after: str, limit: int) -> list[SealedSession]: ...

    async def jobs_under_other_keys(self, kid: str, after: str, limit: int) -> list[Job]: ...

    async def update_job(self, before: Job, after: Job, next_slot_ms: int | None) -> bool: ...

    async def rewrap_session(self, sealed: SealedSession, old_kid: str) -> bool: ...

    async def note_session_check(self, session_id: str, version: int, result: CheckResult) -> None: ...

    async def session_kids(self) -> dict[str, int]:
        """How many sessions, and proxies of jobs, need which key."""
        ...

    async def intervention(self, intervention_id: str) -> Intervention: ...

    async def resolve_intervention(
        self, intervention_id: str, session: NewSession | None = None, note: Mapping[str, str] | None = None
    ) -> tuple[Intervention, Run]: ...


class ArtifactStore(Protocol):
    async def artifact_ids(self) -> frozenset[str]:
        """Every artifact that a run names."""
        ...

    async def forget_artifacts(self, artifact_ids: Sequence[str]) -> None: ...


class EventStore(Protocol):
    async def events_of(self, run_id: str, after: int, limit: int) -> list[Event]: ...

    async def feed(self, after: int, limit: int) -> list[Event]: ...

    async def last_position(self) -> int: ...


class GateStore(Protocol):
    """What the gates of hosts keep, and the runs that wait for one. Times are seconds from now."""

    async def changed_hosts(self, since_ms: int, limit: int) -> tuple[list[StoredHost], int]:
        """Hosts of which something was written since then (0: ever), and from when on to ask next time."""
        ...

    async def stored_host(self, place: str) -> StoredHost | None: ...

    async def forget_hosts(self, older_than_s: float) -> int:
        """Those of which nothing was written for so long, and nobody has said anything."""
        ...

    async def touch_hosts(self, seen: Sequence[tuple[str, int, float]]) -> None:
        """Of hosts with a closed breaker: failures in a row, and how long they asked to be left alone."""
        ...

    async def open_breaker(self, place: str, failures: int, blocked_s: float) -> None: ...

    async def take_probe(self, place: str, open_s: float, probe_s: float) -> bool:
        """True for one caller alone, once the breaker has been open for long enough."""
        ...

    async def end_probe(self, place: str, failures: int, opened_ago_s: float | None) -> int:
        """Write what the probe has shown; where it closed the breaker, all that waited is due."""
        ...

    async def park(self, parkings: Sequence[Parking]) -> int: ...

    async def let_go(self, place: str) -> int: ...

    async def call_up(self, place: str) -> int: ...

    async def take_parts(self, owner: Owner, asks: Sequence[PartAsk]) -> list[Given]:
        """Of the turns of hosts, so many are this node's from now on."""
        ...

    async def contested_parts(self, owner: Owner) -> dict[str, bool]:
        """The hosts that this node and another one ask; whether one of those waits for its first turn."""
        ...

    async def renew_parts(self, owner: Owner) -> None: ...

    async def drop_parts(self, owner: Owner, places: Sequence[str]) -> None: ...


class RollStore(Protocol):
    """Who works, on record."""

    async def worker_seen(self, card: WorkerCard, processes: int, *, is_stopping: bool) -> None: ...

    async def strike_worker(self, owner: Owner) -> None: ...


class NodeStore(LeaseStore, GateStore, Protocol):
    """All that a node needs of a store."""


class EngineStore(JobStore, RunStore, LeaseStore, EventStore, SiteStore, Protocol):
    """All that the engine needs of a store."""


class FrontierClient(Protocol):
    """Where a run with items gets them, and says what became of them."""

    async def step(self, report: BatchReport) -> Batch: ...


class RunKind(Protocol):
    """How runs of one kind are executed, inside a worker process."""

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome: ...


class Executor(Protocol):
    """One way of getting a page."""

    async def execute(self, task: Task) -> Outcome: ...


class Prober(Protocol):
    async def __call__(
        self, url: str, fields: Sequence[FieldSpec], trusted_hosts: frozenset[str], *, verifies_tls: bool = True
    ) -> Probe: ...
