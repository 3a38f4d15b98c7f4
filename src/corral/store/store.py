"""The store as the rest of Corral sees it: asynchronous, one transaction per method."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import DiscoveredLink, StoredItem
from corral.domain.crawl.page_archive import KeptPage
from corral.domain.finding import Finding
from corral.domain.jobs.defaults import JobDefaults
from corral.domain.jobs.job import DueJob, Job, StoredJob
from corral.domain.runs.artifact import StoredArtifact
from corral.domain.runs.event import Event, EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.intervention import Intervention, InterventionStatus
from corral.domain.runs.record import Record, RecordFilter
from corral.domain.runs.retention import Retention
from corral.domain.runs.run import Move, NewRun, Run, RunState
from corral.domain.sites.recipe.recipe import Lesson, StoredRecipe
from corral.domain.sites.session import CheckResult, NewSession, SealedSession, SessionInfo
from corral.domain.sites.site import KnownSite, Memory, Observation
from corral.store.database import Database
from corral.store.maintenance import Upkeep
from corral.store.queries import (
    artifacts,
    audit,
    events,
    feed,
    idempotency,
    job_defaults,
    jobs,
    records,
    retention,
    stored_pages,
)
from corral.store.queries.crawl import crawls, frontier
from corral.store.queries.runs import interventions, pinned_runs, runs
from corral.store.queries.sites import recipes, sessions, sites
from corral.store.store_hosts import HostMethods
from corral.store.store_shares import StepMethods
from corral.store.tx import Tx


def _op(function: Callable[..., Any], *args: Any) -> Callable[[Tx], Any]:
    return lambda tx: function(tx, *args)


class Store(Upkeep, HostMethods, StepMethods):
    def __init__(self, database: Database) -> None:
        self._db = database

    # -- jobs --------------------------------------------------------------------------------------

    async def add_job(self, job: Job, next_slot_ms: int | None, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        found: tuple[str, bool] = await self._db.write(_op(jobs.add, job, next_slot_ms, key))
        return found

    async def job(self, job_id: str) -> StoredJob:
        found: StoredJob = await self._db.read(_op(jobs.get, job_id))
        return found

    async def newest_jobs(self, before: str | None, limit: int) -> list[StoredJob]:
        found: list[StoredJob] = await self._db.read(_op(jobs.newest, before, limit))
        return found

    async def update_job(self, before: Job, after: Job, next_slot_ms: int | None) -> bool:
        updated: bool = await self._db.write(_op(jobs.update, before, after, next_slot_ms))
        return updated

    async def created_by(self, key: IdempotencyKey) -> str | None:
        found: str | None = await self._db.read(_op(idempotency.seen, key))
        return found

    async def delete_job(self, job_id: str) -> None:
        await self._db.write(_op(jobs.delete, job_id))

    async def due_jobs(self, limit: int) -> list[DueJob]:
        found: list[DueJob] = await self._db.read(_op(jobs.due, limit))
        return found

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
        fired: bool = await self._db.write(
            lambda tx: jobs.fire(tx, due, (slot_ms, next_slot_ms), run, drafts, seeds=seeds)
        )
        return fired

    # -- runs --------------------------------------------------------------------------------------

    async def add_runs(
        self, new: Sequence[tuple[NewRun, Sequence[EventDraft]]], key: IdempotencyKey | None = None
    ) -> tuple[list[str], bool]:
        found: tuple[list[str], bool] = await self._db.write(_op(runs.add, new, key))
        return found

    async def run(self, run_id: str) -> Run:
        found: Run = await self._db.read(_op(runs.get, run_id))
        return found

    async def newest_runs(
        self, job_id: str | None, state: RunState | None, before: str | None, limit: int
    ) -> list[Run]:
        found: list[Run] = await self._db.read(_op(runs.newest, job_id, state, before, limit))
        return found

    async def move(self, run_id: str, what: Move) -> Run:
        found: Run = await self._db.write(_op(runs.move, run_id, what))
        return found

    async def count_live(self) -> dict[str, int]:
        found: dict[str, int] = await self._db.read(_op(runs.count_live))
        return found

    # -- crawls ------------------------------------------------------------------------------------

    async def add_crawl(
        self,
        run: NewRun,
        drafts: Sequence[EventDraft],
        seeds: Sequence[DiscoveredLink],
        key: IdempotencyKey | None = None,
        keep: bool = False,
    ) -> tuple[str, bool]:
        def add(tx: Tx) -> tuple[str, bool]:
            run_id, is_replayed = frontier.add_crawl(tx, run, drafts, seeds, key)
            if keep and not is_replayed:
                pinned_runs.keep(tx, run_id)
            return run_id, is_replayed

        found: tuple[str, bool] = await self._db.write(add)
        return found

    async def crawl_now(self, run_id: str) -> crawls.CrawlNow:
        found: crawls.CrawlNow = await self._db.read(_op(crawls.now, run_id))
        return found

    async def crawl_items(self, run_id: str, state: ItemState, after: int, limit: int) -> list[StoredItem]:
        found: list[StoredItem] = await self._db.read(_op(crawls.in_state, run_id, state, after, limit))
        return found

    async def newest_crawls(self, states: Sequence[RunState] | None, limit: int) -> list[tuple[Run, crawls.CrawlNow]]:
        found: list[tuple[Run, crawls.CrawlNow]] = await self._db.read(_op(crawls.newest, states, limit))
        return found

    async def crawl_reasons(self, run_id: str) -> list[tuple[str, str, int]]:
        found: list[tuple[str, str, int]] = await self._db.read_slow(_op(crawls.reasons, run_id))
        return found

    async def crawl_changes(self, run_id: str) -> dict[str, int]:
        found: dict[str, int] = await self._db.read_slow(_op(crawls.changes, run_id))
        return found

    async def crawl_examples(self, run_id: str, reasons: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = await self._db.read_slow(_op(crawls.examples, run_id, reasons))
        return found

    async def crawl_held_back(self, run_id: str, limit: int = 20) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._db.read_slow(_op(crawls.held_back, run_id, limit))
        return found

    async def crawl_gone(self, run_id: str, limit: int) -> list[str]:
        found: list[str] = await self._db.read_slow(_op(crawls.gone, run_id, limit))
        return found

    async def crawl_statistics(self) -> crawls.CrawlStatistics:
        found: crawls.CrawlStatistics = await self._db.read_slow(crawls.statistics)
        return found

    async def way_to(self, run_id: str, url_key: str) -> list[StoredItem]:
        found: list[StoredItem] = await self._db.read(_op(crawls.way_to, run_id, url_key))
        return found

    # -- histories ---------------------------------------------------------------------------------

    async def events_of(self, run_id: str, after: int, limit: int) -> list[Event]:
        found: list[Event] = await self._db.read(_op(events.of_run, run_id, after, limit))
        return found

    async def feed(self, after: int, limit: int) -> list[Event]:
        found: list[Event] = await self._db.read(_op(feed.feed, after, limit))
        return found

    async def last_position(self) -> int:
        found: int = await self._db.read(_op(feed.last_position))
        return found

    async def records_of(self, run_id: str, after: str, limit: int) -> list[Record]:
        found: list[Record] = await self._db.read(_op(records.of_run, run_id, after, limit))
        return found

    async def next_records(self, run_id: str, after: str) -> list[Record]:
        found: list[Record] = await self._db.read(_op(stored_pages.next_records, run_id, after))
        return found

    async def next_pages(self, run_id: str, after: int) -> list[KeptPage]:
        found: list[KeptPage] = await self._db.read(_op(stored_pages.next_pages, run_id, after))
        return found

    async def count_pages(self, run_id: str) -> int:
        found: int = await self._db.read_slow(_op(stored_pages.count, run_id))
        return found

    async def newest_records(self, wanted: RecordFilter, before: str | None, limit: int) -> list[Record]:
        found: list[Record] = await self._db.read(_op(records.newest, wanted, before, limit))
        return found

    async def record_statistics(self, wanted: RecordFilter) -> tuple[int, int, int, int | None, int | None]:
        found: tuple[int, int, int, int | None, int | None] = await self._db.read_slow(_op(records.statistics, wanted))
        return found

    async def delete_record(self, record_id: str) -> None:
        await self._db.write(_op(records.delete, record_id))

    # -- sites -------------------------------------------------------------------------------------

    async def site(self, host: str) -> list[Memory]:
        found: list[Memory] = await self._db.read(_op(sites.of_host, host))
        return found

    async def learn(self, seen: Sequence[Observation]) -> None:
        await self._db.write(_op(sites.learn, seen))

    async def known_sites(self, limit: int) -> list[KnownSite]:
        found: list[KnownSite] = await self._db.read_slow(_op(sites.known, limit))
        return found

    async def save_recipe(self, lesson: Lesson) -> StoredRecipe | None:
        saved: StoredRecipe | None = await self._db.write(_op(recipes.save, lesson))
        return saved

    async def replace_held_payload(self, run_id: str, payload: dict[str, Any]) -> None:
        await self._db.write(_op(runs.replace_held_payload, run_id, payload))

    async def mark_recipe_failed(self, recipe_id: str, version: int) -> None:
        await self._db.write(_op(recipes.mark_failed, recipe_id, version))

    async def recipe(self, recipe_id: str) -> StoredRecipe:
        found: StoredRecipe = await self._db.read(_op(recipes.get, recipe_id))
        return found

    async def recipes_for(self, host: str, fields_key: str) -> list[StoredRecipe]:
        found: list[StoredRecipe] = await self._db.read(_op(recipes.of_fields, host, fields_key))
        return found

    async def newest_recipes(self, host: str | None, before: str | None, limit: int) -> list[StoredRecipe]:
        found: list[StoredRecipe] = await self._db.read(_op(recipes.newest, host, before, limit))
        return found

    async def change_recipe(self, recipe_id: str, document: dict[str, Any] | None, *, pinned: bool) -> StoredRecipe:
        changed: StoredRecipe = await self._db.write(lambda tx: recipes.change(tx, recipe_id, document, pinned=pinned))
        return changed

    async def delete_recipe(self, recipe_id: str) -> None:
        await self._db.write(_op(recipes.delete, recipe_id))

    # -- sessions ----------------------------------------------------------------------------------

    async def session_named(self, job_id: str, name: str) -> tuple[str, int] | None:
        found: tuple[str, int] | None = await self._db.read(_op(sessions.named, job_id, name))
        return found

    async def put_session(self, new: NewSession, key: IdempotencyKey | None = None) -> tuple[str, bool]:
        found: tuple[str, bool] = await self._db.write(_op(sessions.put, new, key))
        return found

    async def session(self, session_id: str) -> SessionInfo:
        found: SessionInfo = await self._db.read(_op(sessions.get, session_id))
        return found

    async def newest_sessions(self, job_id: str | None, before: str | None, limit: int) -> list[SessionInfo]:
        found: list[SessionInfo] = await self._db.read(_op(sessions.newest, job_id, before, limit))
        return found

    async def sealed_session(self, session_id: str) -> SealedSession:
        found: SealedSession = await self._db.read(_op(sessions.sealed, session_id))
        return found

    async def sessions_under_other_keys(self, kid: str, after: str, limit: int) -> list[SealedSession]:
        found: list[SealedSession] = await self._db.read(_op(sessions.under_other_keys, kid, after, limit))
        return found

    async def rewrap_session(self, sealed: SealedSession, old_kid: str) -> bool:
        done: bool = await self._db.write(_op(sessions.rewrap, sealed, old_kid))
        return done

    async def note_session_check(self, session_id: str, version: int, result: CheckResult) -> None:
        await self._db.write(_op(sessions.note_check, session_id, version, result))

    async def session_kids(self) -> dict[str, int]:
        def both(tx: Tx) -> dict[str, int]:
            return dict(Counter(sessions.kids(tx)) + Counter(jobs.kids(tx)))

        found: dict[str, int] = await self._db.read(both)
        return found

    async def jobs_under_other_keys(self, kid: str, after: str, limit: int) -> list[Job]:
        found: list[Job] = await self._db.read(_op(jobs.under_other_keys, kid, after, limit))
        return found

    async def delete_session(self, session_id: str) -> None:
        await self._db.write(_op(sessions.delete, session_id))

    # -- interventions -----------------------------------------------------------------------------

    async def intervention(self, intervention_id: str) -> Intervention:
        found: Intervention = await self._db.read(_op(interventions.get, intervention_id))
        return found

    async def newest_interventions(
        self, status: InterventionStatus | None, before: str | None, limit: int
    ) -> list[Intervention]:
        found: list[Intervention] = await self._db.read(_op(interventions.newest, status, before, limit))
        return found

    async def resolve_intervention(
        self, intervention_id: str, session: NewSession | None = None, note: Mapping[str, str] | None = None
    ) -> tuple[Intervention, Run]:
        done = _op(interventions.resolve, intervention_id, session, note)
        found: tuple[Intervention, Run] = await self._db.write(done)
        return found

    # -- defaults ----------------------------------------------------------------------------------

    async def job_defaults(self) -> JobDefaults:
        found: JobDefaults = await self._db.read(job_defaults.read)
        return found

    async def change_job_defaults(self, changes: Mapping[str, Any]) -> JobDefaults:
        found: JobDefaults = await self._db.write(_op(job_defaults.change, changes))
        return found

    # -- artifacts ---------------------------------------------------------------------------------

    async def artifacts_of(self, run_id: str) -> list[StoredArtifact]:
        found: list[StoredArtifact] = await self._db.read(_op(artifacts.of_run, run_id))
        return found

    async def artifact(self, run_id: str, artifact_id: str) -> StoredArtifact:
        found: StoredArtifact = await self._db.read(_op(artifacts.get, run_id, artifact_id))
        return found

    async def artifact_ids(self) -> frozenset[str]:
        found: frozenset[str] = await self._db.read_slow(artifacts.ids)
        return found

    async def forget_artifacts(self, artifact_ids: Sequence[str]) -> None:
        await self._db.write(_op(artifacts.forget, artifact_ids))

    # -- upkeep ------------------------------------------------------------------------------------

    async def prune(self, policy: Retention, batch: int = 200) -> int:
        pruned: int = await self._db.write(_op(retention.prune, policy, batch), essential=True)
        return pruned

    async def findings(self) -> list[Finding]:
        found: list[Finding] = await self._db.read_slow(_op(audit.findings))
        return found

    async def check_damage(self) -> None:
        """StorageUnusable where the database has been damaged since it was opened. Looks at most every few seconds."""
        damage = self._db.damage
        if damage.is_check_due():
            await self._db.read_slow(damage.check)
        if damage.problem is not None:
            raise damage.problem

    async def ping(self) -> None:
        """Prove that a write would go through."""
        await self._db.write(_nothing)

    def relay_ballast(self) -> None:
        self._db.relay_ballast()

    async def close(self) -> None:
        await self._db.close()


def _nothing(_: Tx) -> None:
    return None
