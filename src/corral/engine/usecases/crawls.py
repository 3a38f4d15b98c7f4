"""Start crawls, and read their state while they run."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.option_values import LAST
from corral.domain.crawl.payload import USUAL, CrawlAccess, crawl_payload, plan_of, seeds_of
from corral.domain.errors import BadInput, RunNotFound
from corral.domain.ids import JobId, RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.proxy import UsualPolicy, connect_directly
from corral.domain.net.url import parse_target
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import CRAWL, NewRun, Run, RunState
from corral.engine.usecases.jobs import check_plan_fields
from corral.runtime.new_ids import new_id

_MAX_CANDIDATES = 200


class Crawls:
    def __init__(
        self, store: EngineStore, policy: EgressPolicy, wake: Waker, usual_policy: UsualPolicy = connect_directly
    ) -> None:
        self._usual_policy = usual_policy
        self._store = store
        self._policy = policy
        self._wake = wake

    async def start(
        self,
        plan: CrawlPlan,
        *,
        priority: Priority = Priority.MEDIUM,
        trusted_hosts: Sequence[str] = (),
        about: dict[str, object] | None = None,
        key: IdempotencyKey | None = None,
        keep: bool = False,
        access: CrawlAccess = USUAL,
    ) -> tuple[Run, bool]:
        """Queue a crawl of this plan. The target is not probed, because it may be slow or hang.

        With `keep`, retention does not delete it.
        """
        if key is not None and (earlier_id := await self._store.idempotency.find(key)) is not None:
            return await self._store.runs.get(earlier_id), True
        plan = await self._find_comparison(plan)
        check_plan_fields(plan)
        for url in plan.start_urls:
            target = parse_target(url, field="url")
            check_literal(target, self._policy, field="url", trusted_hosts=frozenset(trusted_hosts))
        seeds = seeds_of(plan)
        access = replace(access, proxy=access.proxy or self._usual_policy(plan.start_urls[0]))
        run = crawl_run(plan, None, priority, trusted_hosts=trusted_hosts, about=about, access=access)
        meta = {"resolved_strategy": run.resolved_strategy.value, "start_urls": len(plan.start_urls)}
        drafts = [EventDraft(EventKind.CREATED, meta)]
        if not access.verify_tls:
            drafts.append(EventDraft(EventKind.TLS_UNVERIFIED, {"host": parse_target(plan.start_urls[0]).host}))
        run_id, replayed = await self._store.crawls.add(run, drafts, seeds, key, keep)
        started = await self._store.runs.get(run_id)
        self._wake(started)
        return started, replayed

    async def _find_comparison(self, plan: CrawlPlan) -> CrawlPlan:
        """Resolve `since` to a run; raise BadInput if no crawl is comparable."""
        if plan.since is None:
            return plan
        if has_own_code(plan):
            message = "a crawl with own code cannot be compared with an earlier one"
            raise BadInput(message, field="since", hint="leave out since, or parse")
        if plan.since == LAST:
            ended = [state for state in RunState if state.is_terminal]
            crawls = await self._store.crawls.newest(ended, _MAX_CANDIDATES)
            earlier_plans = ((run, plan_of(run.payload)) for run, _ in crawls)
            newest = next((run for run, before in earlier_plans if _is_comparable(before, plan)), None)
            return replace(plan, since=None if newest is None else newest.id)
        try:
            earlier = await self._store.runs.get(plan.since)
        except RunNotFound:
            raise BadInput(f"there is no run {plan.since}", field="since", hint="see `corral run list`") from None
        if earlier.kind != CRAWL or not earlier.state.is_terminal:
            problem = "has not ended" if earlier.kind == CRAWL else "is no crawl"
            raise BadInput(f"run {plan.since} {problem}", field="since", hint="name a crawl that has ended")
        if not _has_same_fields(plan_of(earlier.payload), plan):
            raise BadInput(f"run {plan.since} collected other fields", field="since", hint="leave it out once")
        return plan


def _is_comparable(before: CrawlPlan, plan: CrawlPlan) -> bool:
    """Return whether `plan` can reuse records of `before`: an unchanged page keeps its record, with its fields."""
    return before.start_urls == plan.start_urls and _has_same_fields(before, plan)


def _has_same_fields(before: CrawlPlan, plan: CrawlPlan) -> bool:
    return (before.fields, before.page_fields) == (plan.fields, plan.page_fields)


def has_own_code(plan: CrawlPlan) -> bool:
    patterns = (spec for pattern in plan.page_fields for spec in pattern["fields"])
    return any(spec.get("code") is not None for spec in (*plan.fields, *patterns))


def crawl_run(
    plan: CrawlPlan,
    job_id: str | None,
    priority: Priority,
    *,
    trusted_hosts: Sequence[str] = (),
    requested: Strategy | None = None,
    about: dict[str, object] | None = None,
    access: CrawlAccess = USUAL,
    recipes: Sequence[dict[str, Any]] = (),
) -> NewRun:
    payload = crawl_payload(plan, trusted_hosts, access, about or {}, recipes)
    return NewRun(
        id=RunId(new_id()),
        job_id=None if job_id is None else JobId(job_id),
        kind=CRAWL,
        priority=priority,
        max_attempts=1,  # the items are retried individually
        requested_strategy=requested or Strategy(plan.strategy),
        resolved_strategy=Strategy.BROWSER if plan.strategy == Strategy.BROWSER else Strategy.HTTP,
        payload=Payload.of(payload),
    )
