"""The store, by subject. Every method is one transaction.

A class of the engine that needs one subject takes that port; a class that needs several takes `EngineStore`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from corral.domain.crawl.crawl import Bounds
from corral.domain.crawl.item import Batch, BatchReport, DiscoveredLink
from corral.domain.hosts.claiming import ANY_HOST, HostRoom
from corral.domain.hosts.limiter import Parking, StoredHost
from corral.domain.hosts.quota import QuotaGrant, QuotaRequest
from corral.domain.ids import Owner
from corral.domain.jobs.job import DueJob, Job, StoredJob
from corral.domain.ports.campaigns import AlertStore
from corral.domain.ports.coverage import CoverageStore
from corral.domain.ports.datasets import DatasetStore
from corral.domain.ports.proxies import ProxyStore
from corral.domain.ports.workflows import WorkflowStore
from corral.domain.queue.task import ImportReport, QueueFile
from corral.domain.runs.event import Event, EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import Intervention
from corral.domain.runs.loss import Loss
from corral.domain.runs.node import NodeInfo
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.queues import Hint
from corral.domain.runs.record import Record, RecordFilter
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import EVERY_LANE, Lanes, Lease, NewRun, Run, RunAction, RunState
from corral.domain.runs.settlement import Settlement
from corral.domain.sites.recipe.recipe import RecordedRecipe, StoredRecipe
from corral.domain.sites.session import CheckResult, NewSession, SealedSession, SessionInfo
from corral.domain.sites.site import Memory, Observation


class JobStore(Protocol):
    async def add(self, job: Job, next_slot_ms: int | None, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        """Write a job. With a key used before, return the id from then and True."""
        ...

    async def get(self, job_id: str) -> StoredJob: ...

    async def update(self, before: Job, after: Job, next_slot_ms: int | None) -> bool:
        """Write the change if the stored job still equals `before`; False if it was changed concurrently."""
        ...

    async def due(self, limit: int) -> list[DueJob]:
        """Return the scheduled jobs whose slot has come."""
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
        """Start the run of a slot once; False if another node has. A crawl begins with its seeds."""
        ...

    async def list_under_other_keys(self, kid: str, after: str, limit: int) -> list[Job]:
        """Return jobs whose proxy is sealed under another key than `kid`."""
        ...


class IdempotencyStore(Protocol):
    async def find(self, key: IdempotencyKey) -> str | None:
        """Return the id of what this key created before; None for a new key."""
        ...


class RunStore(Protocol):
    """Runs and leases. Writes with a lease are fenced: a lost lease writes nothing."""

    @property
    def writes_in_order(self) -> bool:
        """True if writes are committed in the order of the calls."""
        ...

    async def newest(self, job_id: str | None, state: RunState | None, before: str | None, limit: int) -> list[Run]:
        """Return runs, newest first, older than the id `before`."""
        ...

    async def add(
        self, new: Sequence[tuple[NewRun, Sequence[EventDraft]]], key: IdempotencyKey | None = None
    ) -> tuple[list[str], bool]: ...

    async def get(self, run_id: str) -> Run: ...

    async def replace_held_payload(self, run_id: str, payload: Payload) -> None:
        """Replace the payload of a held run; a run in another state keeps its payload."""
        ...

    async def apply_action(self, run_id: str, action: RunAction, detail: str | None = None) -> Run:
        """Apply the action a person requested; WrongState if the run's state forbids it.

        `detail` is the signal for the script of a run that is cancelled.
        """
        ...

    async def claim(
        self, owner: Owner, limit: int, lease_s: float, lanes: Lanes = EVERY_LANE, hosts: HostRoom = ANY_HOST
    ) -> list[Lease]:
        """Lease due runs by band and age, within the room of their lanes and hosts."""
        ...

    async def add_claimed(self, new: NewRun, drafts: Sequence[EventDraft], owner: Owner, lease_s: float) -> list[Lease]:
        """Add a run and lease it in one transaction: no other node sees it queued."""
        ...

    async def claim_one(self, run_id: str, owner: Owner, lease_s: float, hosts: HostRoom = ANY_HOST) -> list[Lease]: ...

    async def due_again(self, within_s: float, limit: int) -> list[Hint]:
        """Return runs that were requeued, for example for a retry, and became due within this time."""
        ...

    def renew_from_thread(
        self, leases: Sequence[tuple[str, int]], owner: Owner, lease_s: float
    ) -> set[tuple[str, int]]:
        """Renew leases without an event loop; a lease missing from the result was lost."""
        ...

    async def settle_all(self, settlements: Sequence[Settlement]) -> list[bool]: ...

    async def accept_data(self, run_id: str) -> Run:
        """Stop withholding the records of a run; raise NothingToAccept if they are not withheld."""
        ...

    async def note_progress(self, lease: Lease, stats: dict[str, Any]) -> None:
        """Replace the statistics of a run that is being executed, if its lease still holds."""
        ...

    async def release(self, leases: Sequence[Lease], reason: str) -> int: ...

    async def lose(self, lost: Sequence[Loss]) -> int: ...

    async def reap(self, limit: int = 500) -> int: ...


class CrawlStore(Protocol):
    async def add(
        self,
        run: NewRun,
        drafts: Sequence[EventDraft],
        seeds: Sequence[DiscoveredLink],
        key: IdempotencyKey | None = None,
        keep: bool = False,
    ) -> tuple[str, bool]:
        """Write a crawl run with its seeds. With a key used before, return the id from then and True."""
        ...

    async def newest(self, states: Sequence[RunState] | None, limit: int) -> Sequence[tuple[Run, object]]: ...

    async def claim_helpers(self, owner: Owner, limit: int, lease_s: float, crawl: str | None = None) -> list[Lease]:
        """Lease helper runs, of one crawl or of any."""
        ...

    async def step(self, lease: Lease, report: BatchReport, bounds: Bounds) -> Batch | None:
        """Write the results of items and lease more of them, for a helper too; None if the lease was lost."""
        ...

    async def count_reasons(self, run_id: str) -> list[tuple[str, str, int]]:
        """Return the number of items by state and reason."""
        ...

    async def examples_of(self, run_id: str, reasons: Sequence[str]) -> dict[str, str]:
        """Return one URL for each of these reasons."""
        ...

    async def trap_groups(self, run_id: str) -> list[dict[str, Any]]:
        """Return the URLs that trap detection deferred, by rule and template, with an example of each."""
        ...

    async def count_row_keys(self, run_id: str, key: Sequence[str]) -> dict[str, Any]:
        """Count rows that share their key with another row, with examples, and rows without a key."""
        ...

    async def count_changes(self, run_id: str) -> dict[str, int]:
        """Return the number of pages by kind of change since an earlier crawl."""
        ...


class HostStore(Protocol):
    """The state of host limiters, and the runs that wait for a host. Times are seconds from now."""

    async def changes_since(self, since_ms: int, limit: int) -> tuple[list[StoredHost], int]:
        """Return the hosts written since then (0: ever), and the time to pass in the next call."""
        ...

    async def get(self, host_key: str) -> StoredHost | None: ...

    async def forget(self, older_than_s: float) -> int:
        """Delete hosts not written for this time and without a pace set by a person."""
        ...

    async def touch(self, observed: Sequence[tuple[str, int, float]]) -> None:
        """Write consecutive failures and remaining Retry-After seconds of hosts whose breaker is closed."""
        ...

    async def open_breaker(self, host_key: str, failures: int, blocked_s: float) -> None: ...

    async def take_probe(self, host_key: str, open_s: float, probe_s: float) -> bool:
        """True for one caller only, once the breaker has been open long enough."""
        ...

    async def end_probe(self, host_key: str, failures: int, opened_ago_s: float | None) -> int:
        """Write the result of the probe; if it closed the breaker, everything that waited becomes due."""
        ...

    async def park(self, parkings: Sequence[Parking]) -> int: ...

    async def release_pages(self, host_key: str) -> int:
        """Make every crawl page that waits for this host due."""
        ...

    async def release_probe_page(self, host_key: str) -> int:
        """Make one crawl page due that can probe the host, unless a run waits for it already."""
        ...

    async def take_quotas(self, owner: Owner, requests: Sequence[QuotaRequest]) -> list[QuotaGrant]:
        """Reserve slots of hosts for this node."""
        ...

    async def find_contested(self, owner: Owner) -> dict[str, bool]:
        """Return the hosts that this node and another one use; True if another node waits for its first slot."""
        ...

    async def renew_quotas(self, owner: Owner) -> None: ...

    async def drop_quotas(self, owner: Owner, host_keys: Sequence[str]) -> None: ...


class SiteStore(Protocol):
    async def memories(self, host: str) -> list[Memory]:
        """Return what earlier runs learned about a host, by strategy."""
        ...

    async def learn(self, observations: Sequence[Observation]) -> None: ...


class RecipeStore(Protocol):
    async def for_fields(self, host: str, fields_key: str) -> list[StoredRecipe]:
        """Return every recipe for these fields on the host, for any of its pages."""
        ...

    async def mark_failed(self, recipe_id: str, version: int) -> None:
        """Record that a replay of this version failed: it is not offered again until its shape changes."""
        ...

    async def save(self, recorded: RecordedRecipe) -> StoredRecipe | None:
        """Save a recorded recipe; return None if it is stored already or a person pinned another one."""
        ...


class SessionStore(Protocol):
    """Sessions as the vault sealed them."""

    async def find(self, job_id: str, name: str) -> tuple[str, int] | None:
        """Return the id and version of the session with this name."""
        ...

    async def put(self, new: NewSession, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        """Write a session or its next version; SessionChanged if that version was written concurrently."""
        ...

    async def get(self, session_id: str) -> SessionInfo: ...

    async def newest(self, job_id: str | None, before: str | None, limit: int) -> list[SessionInfo]: ...

    async def get_sealed(self, session_id: str) -> SealedSession: ...

    async def list_under_other_keys(self, kid: str, after: str, limit: int) -> list[SealedSession]: ...

    async def rewrap(self, sealed: SealedSession, old_kid: str) -> bool: ...

    async def note_check(self, session_id: str, version: int, result: CheckResult) -> None: ...

    async def count_keys(self) -> dict[str, int]:
        """Return the number of sessions and job proxies sealed under each key."""
        ...


class InterventionStore(Protocol):
    async def get(self, intervention_id: str) -> Intervention: ...

    async def resolve(
        self, intervention_id: str, session: NewSession | None = None, note: Mapping[str, str] | None = None
    ) -> tuple[Intervention, Run]: ...


class RecordStore(Protocol):
    async def next_batch(self, run_id: str, after: str) -> list[Record]:
        """Return the next records of a run, as many as fit into memory; none at the end."""
        ...

    async def statistics(self, wanted: RecordFilter) -> tuple[int, int, int, int | None, int | None]: ...


class ArtifactStore(Protocol):
    async def list_ids(self) -> frozenset[str]:
        """Return the ids of all artifacts that runs refer to."""
        ...

    async def forget(self, artifact_ids: Sequence[str]) -> None: ...


class EventStore(Protocol):
    async def of_run(self, run_id: str, after: int, limit: int) -> list[Event]: ...

    async def feed(self, after: int, limit: int) -> list[Event]: ...

    async def last_position(self) -> int: ...


class NodeStore(Protocol):
    async def heartbeat(self, info: NodeInfo, processes: int, *, is_stopping: bool) -> None: ...

    async def remove(self, owner: Owner) -> None: ...


class Maintenance(Protocol):
    async def prune(self, policy: Retention, batch: int = 200) -> int: ...

    async def purge(self, rows: int = 1_000) -> bool:
        """Delete some rows of forgotten crawls; False when none are left."""
        ...

    def restore_reserve(self) -> None:
        """Reserve disk space again after the reserve was used."""
        ...


class QueueStore(Protocol):
    async def add(self, file: QueueFile, registry: str) -> ImportReport: ...

    async def note_ends(self) -> int:
        """Write the end of every task whose run has ended."""
        ...

    async def has_work(self, registry: str) -> bool: ...


class EngineStore(Protocol):
    """All ports of a store that the engine needs."""

    @property
    def jobs(self) -> JobStore: ...
    @property
    def idempotency(self) -> IdempotencyStore: ...
    @property
    def runs(self) -> RunStore: ...
    @property
    def crawls(self) -> CrawlStore: ...
    @property
    def hosts(self) -> HostStore: ...
    @property
    def sites(self) -> SiteStore: ...
    @property
    def recipes(self) -> RecipeStore: ...
    @property
    def sessions(self) -> SessionStore: ...
    @property
    def interventions(self) -> InterventionStore: ...
    @property
    def records(self) -> RecordStore: ...
    @property
    def artifacts(self) -> ArtifactStore: ...
    @property
    def events(self) -> EventStore: ...
    @property
    def nodes(self) -> NodeStore: ...
    @property
    def maintenance(self) -> Maintenance: ...
    @property
    def coverage(self) -> CoverageStore: ...
    @property
    def queue(self) -> QueueStore: ...
    @property
    def workflows(self) -> WorkflowStore: ...
    @property
    def proxies(self) -> ProxyStore: ...
    @property
    def datasets(self) -> DatasetStore: ...
    @property
    def alerts(self) -> AlertStore: ...
