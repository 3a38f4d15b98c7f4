"""Crawls as people see them: started at once, whatever the target does; looked at while they run."""

from collections.abc import Callable, Sequence
from typing import Protocol

from corral.domain.address import EgressPolicy, check_literal
from corral.domain.canonical import canonical_url, url_key
from corral.domain.crawl import CrawlPlan
from corral.domain.event import EventDraft, EventKind
from corral.domain.idempotency import IdempotencyKey
from corral.domain.ids import RunId, new_id
from corral.domain.item import Found, short_key
from corral.domain.job import Priority, Strategy
from corral.domain.run import CRAWL, NewRun, Run
from corral.domain.url import parse_target

# How much later than the crawl's own clock the node steps in.
_MARGIN_S = 60.0
_LONGEST_S = 30 * 86_400.0


class CrawlStore(Protocol):
    async def add_crawl(
        self,
        run: NewRun,
        drafts: Sequence[EventDraft],
        seeds: Sequence[Found],
        key: IdempotencyKey | None = None,
        keep: bool = False,
    ) -> tuple[str, bool]:
        """Write a run with where it begins. With a key seen before: the id from then, and True."""
        ...

    async def created_by(self, key: IdempotencyKey) -> str | None: ...

    async def run(self, run_id: str) -> Run: ...


class Crawls:
    def __init__(self, store: CrawlStore, policy: EgressPolicy, wake: Callable[[], None]) -> None:
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
    ) -> tuple[Run, bool]:
        """A crawl of this plan, queued. Nobody asks the target first: it may take its time, or hang.

        One to `keep` is not forgotten a while after its end.
        """
        if key is not None and (known := await self._store.created_by(key)) is not None:
            return await self._store.run(known), True
        seeds = {seed.key: seed for seed in (self._seed(url, trusted_hosts) for url in plan.start_urls)}
        run = NewRun(
            id=RunId(new_id()),
            job_id=None,
            kind=CRAWL,
            priority=priority,
            max_attempts=1,  # its items are tried again, each for itself
            requested_strategy=Strategy.HTTP,
            resolved_strategy=Strategy.HTTP,
            payload={
                "url": plan.start_urls[0],
                "crawl": plan.document(),
                "trusted_hosts": list(trusted_hosts),
                "timeout_s": (plan.max_seconds or _LONGEST_S) + _MARGIN_S,
                "about": about or {},
            },
        )
        meta = {"resolved_strategy": run.resolved_strategy.value, "start_urls": len(seeds)}
        drafts = [EventDraft(EventKind.CREATED, meta)]
        run_id, replayed = await self._store.add_crawl(run, drafts, list(seeds.values()), key, keep)
        self._wake()
        return await self._store.run(run_id), replayed

    def _seed(self, url: str, trusted_hosts: Sequence[str]) -> Found:
        target = parse_target(url, field="url")
        check_literal(target, self._policy, field="url", trusted_hosts=frozenset(trusted_hosts))
        return Found(canonical_url(target), short_key(url_key(target)), target.authority, 0)
