"""Turn a job into a queued run. The strategy is resolved once, and the reason is recorded."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from corral.domain.cost.spent import FREE, Prices, check_cost_limit
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import DiscoveredLink
from corral.domain.crawl.job_pages import check_pages, plan_of_job
from corral.domain.crawl.option_values import AUTO
from corral.domain.crawl.payload import CrawlAccess, plan_of, seeds_of
from corral.domain.errors import BadInput, JobNotFound, RunNotFound, WrongState
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import RunId
from corral.domain.jobs.job import CrawlMode, Job, Priority, Strategy
from corral.domain.net.proxy import UsualPolicy, connect_directly
from corral.domain.net.url import parse_target
from corral.domain.ports.execution import Prober
from corral.domain.ports.stores import EngineStore, RecipeStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.queues import Waker
from corral.domain.runs.retry import HELD_FOR_PAGE
from corral.domain.runs.run import CRAWL, LOCAL, PAGE, WORKFLOW, HoldReason, NewRun, Run, RunAction, spoken
from corral.domain.runs.strategy import Resolution, from_memory, is_proxied, needs_probe, resolve
from corral.domain.sites.recipe.recipe import StoredRecipe, for_page, recipe_key
from corral.domain.sites.site import fields_key
from corral.engine.usecases.crawls import crawl_run
from corral.engine.worker.kinds.registry import find_kind
from corral.runtime.new_ids import new_id

_MAX_RECIPES = 50


@dataclass(frozen=True, slots=True)
class Overrides:
    """Options of a job that a caller overrides for one run; None keeps the value of the job."""

    priority: Priority | None = None
    strategy: Strategy | None = None
    max_attempts: int | None = None


class Submitter:
    def __init__(
        self,
        store: EngineStore,
        prober: Prober,
        *,
        wake: Waker = lambda *_: None,
        abort: Callable[[str], None] = lambda _: None,
        usual_policy: UsualPolicy = connect_directly,
        prices: Prices = FREE,
    ) -> None:
        self._usual_policy = usual_policy
        self._store = store
        self._prober = prober
        self._wake = wake
        self._abort = abort
        self._prices = prices

    async def start(
        self, job_id: str, overrides: Overrides | None = None, key: IdempotencyKey | None = None
    ) -> tuple[Run, bool]:
        """Start a run of the job. For an idempotency key used before, return the earlier run and True."""
        if key is not None and (earlier_id := await self._store.idempotency.find(key)) is not None:
            return await self._store.runs.get(earlier_id), True
        stored = await self._store.jobs.get(job_id)
        run, drafts = await self.draft_run(stored.job, overrides or Overrides())
        run_id, replayed = await self._add(run, drafts, key)
        started = await self._store.runs.get(run_id)
        self._wake(started)
        return started, replayed

    async def submit(self, kind: str, document: dict[str, Any], *, max_attempts: int = 3) -> Run:
        """Start a run of a kind that needs no job; `document` holds the options of its payload."""
        spec = find_kind(kind)
        try:
            payload = spec.payload.parse(document)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"bad options for a run of kind {kind}: {error}", field="payload") from error
        run = spec.draft_run(payload, max_attempts=max_attempts)
        meta = {"resolved_strategy": run.resolved_strategy.value}
        run_id, _ = await self._add(run, first_events(run, meta), None)
        submitted = await self._store.runs.get(run_id)
        self._wake(submitted)
        return submitted

    async def _is_step(self, run: Run) -> bool:
        if run.parent_id is None:
            return False
        try:
            return (await self._store.runs.get(run.parent_id)).kind == WORKFLOW
        except RunNotFound:  # the workflow of the step was deleted
            return False

    async def retry(self, run_id: str, key: IdempotencyKey | None = None) -> tuple[Run, bool]:
        """Start a new run with the payload of an ended one, linked to it."""
        old = await self._store.runs.get(run_id)
        if not old.state.is_terminal:
            raise WrongState("retry a run that has not ended", spoken(old.state, old.hold_reason), terminal=False)
        if old.kind in (WORKFLOW, LOCAL) or await self._is_step(old):
            hint = "use `corral workflow recover ID`, which repeats nothing that completed"
            subject = f"a {old.kind} run" if old.kind in (WORKFLOW, LOCAL) else "a step of a workflow"
            raise BadInput(f"{subject} is not retried by itself", field="run_id", hint=hint)
        payload = old.payload
        if old.kind == PAGE:
            page = payload.read(PagePayload)
            # Resolve the recipe again: a person may have corrected it since.
            payload = Payload.of(replace(page, recipe=await self._recipe(page, old.resolved_strategy)))
        run = NewRun(
            id=RunId(new_id()),
            job_id=old.job_id,
            kind=old.kind,
            priority=old.priority,
            max_attempts=old.max_attempts,
            requested_strategy=old.requested_strategy,
            resolved_strategy=old.resolved_strategy,
            payload=payload,
            retry_of=old.id,
        )
        meta = {"resolved_strategy": run.resolved_strategy.value, "retry_of": old.id}
        new_run_id, replayed = await self._add(run, first_events(run, meta), key)
        started = await self._store.runs.get(new_run_id)
        self._wake(started)
        return started, replayed

    async def _add(self, run: NewRun, drafts: list[EventDraft], key: IdempotencyKey | None) -> tuple[str, bool]:
        """Store the run, and a crawl with its start items: without them it would have nothing to do."""
        if run.kind == CRAWL:
            # A job's results stay until their own retention expires.
            return await self._store.crawls.add(run, drafts, seeds_of_run(run), key, keep=run.job_id is not None)
        [run_id], replayed = await self._store.runs.add([(run, drafts)], key)
        return run_id, replayed

    async def apply_action(self, run_id: str, action: RunAction, detail: str | None = None) -> Run:
        """Cancel, pause or resume a run; `detail` is the signal for the script of a cancelled run."""
        if action is RunAction.RESUME:
            await self._refresh(run_id)
        run = await self._store.runs.apply_action(run_id, action, detail)
        if action is RunAction.RESUME:
            self._wake(run)
        else:
            self._abort(run_id)
        return run

    async def _refresh(self, run_id: str) -> None:
        """Apply a person's corrections of the job to a run that waited for them."""
        run = await self._store.runs.get(run_id)
        is_about_page = run.hold_reason is HoldReason.WAITING_FOR_HUMAN and run.failure_detail in HELD_FOR_PAGE
        if is_about_page and run.job_id is not None:
            with contextlib.suppress(JobNotFound):
                job = (await self._store.jobs.get(run.job_id)).job
                resumed = find_kind(run.kind).resume(run.payload, job)
                await self._store.runs.replace_held_payload(run_id, resumed)

    async def draft_run(
        self, job: Job, overrides: Overrides | None = None, extra: dict[str, Any] | None = None
    ) -> tuple[NewRun, list[EventDraft]]:
        """Return the run that the job would get now, with its first event, without storing it."""
        chosen = overrides or Overrides()
        requested = chosen.strategy or job.strategy
        job = replace(job, proxy=job.proxy or self._usual_policy(job.target_url))
        if job.crawl_mode is not CrawlMode.SINGLE:
            return await self._draft_crawl(replace(job, strategy=requested), chosen, extra or {})
        prices = self._prices.with_proxy() if is_proxied(job) else self._prices
        check_cost_limit(job.budget, prices)
        resolution = await self._resolve(job, requested)
        payload = PagePayload.of_job(job, prices)
        recipe = await self._recipe(payload, resolution.strategy)
        run = NewRun(
            id=RunId(new_id()),
            job_id=job.id,
            kind=PAGE,
            priority=job.priority if chosen.priority is None else chosen.priority,
            max_attempts=chosen.max_attempts or job.max_attempts,
            requested_strategy=requested,
            resolved_strategy=resolution.strategy,
            payload=Payload.of(replace(payload, recipe=recipe)),
        )
        meta = {**resolution.meta, **(extra or {})}
        if recipe:
            meta["recipe_id"] = recipe["id"]
        return run, first_events(run, meta)

    async def _draft_crawl(self, job: Job, chosen: Overrides, extra: dict[str, Any]) -> tuple[NewRun, list[EventDraft]]:
        check_pages(job)
        plan = plan_of_job(job, chosen.max_attempts or job.max_attempts, self._prices.for_policy(job.proxy))
        priority = job.priority if chosen.priority is None else chosen.priority
        access = CrawlAccess(
            proxy=job.proxy, verify_tls=job.verify_tls, requires_auth=job.requires_auth, quality=job.quality
        )
        run = crawl_run(
            plan,
            job.id,
            priority,
            trusted_hosts=job.trusted_hosts,
            requested=job.strategy,
            access=access,
            recipes=await self._recipes(job, plan),
        )
        reason = f"crawl_mode {job.crawl_mode.value}"
        meta = {"resolved_strategy": run.resolved_strategy.value, "reason": reason, **extra}
        return run, first_events(run, meta)

    async def _recipes(self, job: Job, plan: CrawlPlan) -> list[dict[str, Any]]:
        """Return the recipes for list items. Other crawls read pages for links, which a recipe does not provide."""
        is_for_others = not job.requires_auth and job.verify_tls
        if plan.listing is None or plan.strategy != AUTO or not is_for_others:
            return []
        recipes = await self._store.recipes.for_fields(parse_target(job.target_url).host, recipe_key(job.fields))
        return [recipe.payload() for recipe in recipes if recipe.is_offered][:_MAX_RECIPES]

    async def _recipe(self, payload: PagePayload, strategy: Strategy) -> dict[str, Any] | None:
        """Return the recipe of a replay; if it is None, the attempt reports that."""
        if strategy is not Strategy.API_REPLAY:
            return None
        recipe = await _find_recipe(self._store.recipes, payload.url, payload.fields)
        return recipe.payload() if recipe else None

    async def _resolve(self, job: Job, requested: Strategy) -> Resolution:
        if not needs_probe(job, requested):
            return resolve(job, requested, None)
        wanted = fields_key(spec.name for spec in job.fields)
        memories = await self._store.sites.memories(parse_target(job.target_url).host)
        recipe = await _find_recipe(self._store.recipes, job.target_url, job.fields)
        of_fields = [memory for memory in memories if memory.fields_key == wanted]
        remembered = from_memory(of_fields, has_recipe=recipe is not None)
        if remembered is not None:
            return remembered
        if is_proxied(job):
            return resolve(job, requested, None)
        trusted = frozenset(job.trusted_hosts)
        probe = await self._prober(job.target_url, job.fields, trusted, verifies_tls=job.verify_tls)
        return resolve(job, requested, probe)


def seeds_of_run(run: NewRun) -> list[DiscoveredLink]:
    """Return the start URLs of a run that is a crawl; none for any other run."""
    return seeds_of(plan_of(run.payload)) if run.kind == CRAWL else []


def first_events(run: NewRun, meta: dict[str, Any]) -> list[EventDraft]:
    """Return the first events of a run: its creation, and a warning if its TLS certificates are not verified."""
    drafts = [EventDraft(EventKind.CREATED, meta)]
    payload = run.payload.read(CommonPayload)
    if not payload.verify_tls:
        drafts.append(EventDraft(EventKind.TLS_UNVERIFIED, {"host": parse_target(payload.url).host}))
    return drafts


async def _find_recipe(store: RecipeStore, url: str, fields: Sequence[FieldSpec]) -> StoredRecipe | None:
    """Return the recipe that fetches the page without a browser, if one is stored."""
    try:
        target = parse_target(url)
    except BadInput:
        return None
    return for_page(await store.for_fields(target.host, recipe_key(fields)), target)
