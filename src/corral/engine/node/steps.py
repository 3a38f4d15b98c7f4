"""The node's side of runs with items: it writes their reports and returns the next items."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

import structlog

from corral.domain.crawl.crawl import CrawlPlan, ItemState
from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.crawl.payload import CrawlHelperPayload, plan_of
from corral.domain.crawl.summary import count_omissions
from corral.domain.ports.stores import EngineStore
from corral.domain.quality.run_profile import ObservedData
from corral.domain.runs.completeness.empty_fields import FieldCount
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.run import CRAWL, CRAWL_HELPER, Lease
from corral.domain.verdicts.crawl_profile import CrawlProfile, profile_key_of_crawl
from corral.engine.held_lease import HeldLease
from corral.engine.node.pool import Key, WorkerProcess
from corral.engine.worker import messages

log = structlog.get_logger()

_MAX_REASONS = 200


class BatchWriter(Protocol):
    async def __call__(
        self, write: Callable[[], Awaitable[Batch | None]], *, makes_room: bool = True
    ) -> Batch | None: ...


class Steps:
    def __init__(
        self,
        store: EngineStore,
        until_stored: BatchWriter,
        write: Callable[[Coroutine[Any, Any, Any]], None],
        wake: Callable[[], None] = lambda: None,
        lost: Callable[[set[Key]], None] = lambda _: None,
    ) -> None:
        self._wake = wake
        self._lost = lost
        self._store = store
        self._until_stored = until_stored
        self._write = write

    def take_report(self, worker: WorkerProcess, held: HeldLease, report: BatchReport) -> None:
        self._write(self._write_report(worker, held, report))

    async def _write_report(self, worker: WorkerProcess, held: HeldLease, report: BatchReport) -> None:
        lease = held.lease
        plan = plan_of(lease.run.payload)
        try:
            # The progress of a crawl frees no capacity for more runs.
            step = await self._until_stored(
                lambda: self._store.crawls.step(lease, report, plan.bounds), makes_room=False
            )
            if step is not None and report.is_last and lease.run.kind == CRAWL:
                step = step._replace(reasons=_by_reason(await self._store.crawls.count_reasons(lease.run_id)))
                left_out = list(count_omissions(step.reasons or {}, 0))
                step = step._replace(examples=await self._store.crawls.examples_of(lease.run_id, left_out))
                step = step._replace(empty_fields=await self._read_records(held, plan, step.counts.done))
                step = step._replace(held_back=await self._store.crawls.trap_groups(lease.run_id))
                if plan.record_key:
                    step = step._replace(
                        row_keys=await self._store.crawls.count_row_keys(lease.run_id, plan.record_key)
                    )
                if plan.since is not None:
                    step = step._replace(changes=await self._store.crawls.count_changes(lease.run_id))
        except Exception as error:
            # The database works and rejects this report: the run fails.
            log.error("crawl_report_refused", run=lease.run_id, exc_info=error)
            worker.send([messages.refuse_report(lease, f"{type(error).__name__}: {error}"[:500])])
            return
        if step is None:  # the lease is lost; the renewer would notice it a moment later
            self._lost({lease.key})
        else:
            worker.send([messages.send_batch(lease, step._replace(left_s=_time_left_s(lease, plan)))])
            if step.helpers:
                self._wake()

    async def _read_records(self, held: HeldLease, plan: CrawlPlan, pages: int) -> dict[str, int]:
        """Profile the data for its verdict, and return the fields that are mostly empty.

        Both are read from the stored rows: the counts of a worker would be lost with it.
        """
        run = held.lease.run
        checks_quality = run.payload.read(CommonPayload).quality.is_on
        count, profile, after = FieldCount(plan.fields_for), CrawlProfile(plan), ""
        if not profile.has_fields and not checks_quality:
            return {}
        while not profile.is_enough and (batch := await self._store.records.next_batch(run.id, after)):
            after = batch[-1].id
            count.add(record.data for record in batch)
            profile.add(record.data for record in batch)
        if checks_quality:
            held.data = ObservedData(profile_key_of_crawl(run.job_id, plan), profile.finish(pages))
        return count.mostly_empty() if profile.has_fields else {}


def _by_reason(counts: Sequence[tuple[str, str, int]]) -> dict[str, int]:
    """Count the reasons of ended items, most frequent first. Pending items may have a reason, but do not count."""
    totals: Counter[str] = Counter()
    for state, reason, count in counts:
        if state != ItemState.PENDING:
            totals[reason] += count
    return dict(totals.most_common(_MAX_REASONS))


def _time_left_s(lease: Lease, plan: CrawlPlan) -> float | None:
    """Return the remaining time, counted from the first start: a crash gains no time."""
    started_at = lease.run.started_at
    began = None if started_at is None else started_at.timestamp()
    if lease.run.kind == CRAWL_HELPER:  # a helper has no time limit of its own
        began = lease.run.payload.read(CrawlHelperPayload).crawl_started or began
    return None if plan.max_seconds is None or began is None else plan.max_seconds - (time.time() - began)
