"""Execute a crawl, or a helper of one: fetch pages concurrently and report their results in small batches.

Memory does not grow with the frontier: links go to the store, and the next items come from it.
"""

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import structlog

from corral.domain.cost.spent import SPENT, Spent
from corral.domain.crawl.budgets import find_stop
from corral.domain.crawl.crawl import (
    GONE,
    LISTING,
    ItemState,
    StoppedBy,
    final_state,
    why_failed,
)
from corral.domain.crawl.item import (
    MAX_ROWS,
    PAGE,
    Batch,
    BatchReport,
    Change,
    Item,
    ItemResult,
    deferral_reason,
)
from corral.domain.crawl.item_decision import decide_item, follow_failed_list_page, is_end_of_list
from corral.domain.crawl.page_archive import split_by_size
from corral.domain.crawl.payload import CrawlHelperPayload, plan_of
from corral.domain.crawl.summary import count_omissions
from corral.domain.hosts.limiter import host_key_of_url
from corral.domain.hosts.order import HostOrder, Position
from corral.domain.lists.position import listing_position
from corral.domain.ports.crawling import CrawlVisitorPort, PageVisitor
from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.records.row_key import ROW_KEYS
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome, is_proxy_fault
from corral.domain.runs.retry import NEEDS_LOGIN, RetryPolicy
from corral.domain.runs.run import CRAWL_HELPER, RunState
from corral.engine.worker.kinds.crawl.adaptive_batch_size import AdaptiveBatchSize
from corral.engine.worker.kinds.crawl.batches import next_batch
from corral.engine.worker.kinds.crawl.memory import CrawlMemory
from corral.engine.worker.kinds.crawl.page_slots import CrawlSlots
from corral.engine.worker.kinds.crawl.proxy_watch import ProxyWatch

log = structlog.get_logger()

# A result waits at most this long before it is written.
_REPORT_EVERY_S = 0.02
# Prefetch factor: keep 3× the concurrency queued, so a finished page never waits for the next item.
_AHEAD = 3
# How often to poll the frontier while no item is due.
_POLL_EVERY_S = 1.0
_LAST_STEP_S = 5.0
# An idle helper polls at this interval, and leaves after this time.
_HELPER_POLL_S = 0.1
_LEAVE_AFTER_S = 5.0
_GONE = (404, 410)
_LOGGED_OUT = 3


class CrawlKind:
    def __init__(self, visitor: CrawlVisitorPort, policy: RetryPolicy | None = None) -> None:
        self._visitor = visitor
        self._policy = policy or RetryPolicy()

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        plan = plan_of(task.payload)
        slots = CrawlSlots()
        task = replace(task, order=HostOrder(), slots=slots)
        async with self._visitor.open(plan, task) as visitor:
            if isinstance(visitor, Failed):
                return visitor
            return await _Crawl(task, slots, frontier, visitor, self._policy).run()


class _Dismissed(Exception):
    """Raised when the crawl of this helper has ended."""


class _Crawl:
    def __init__(
        self, task: Task, slots: CrawlSlots, frontier: FrontierClient, visitor: PageVisitor, policy: RetryPolicy
    ) -> None:
        self._plan = plan = plan_of(task.payload)
        self._task = task
        self._frontier = frontier
        self._visitor = visitor
        self._policy = policy
        self._order = task.order or HostOrder()
        # Items that their host deferred, until the store has recorded it.
        self._sent_back: dict[int, tuple[str, Position, Deferred]] = {}
        self._ready: deque[Item] = deque()
        self._visits: dict[int, asyncio.Task[None]] = {}
        self._ended: list[ItemResult] = []
        self._wake = asyncio.Event()
        self._ends_at = float("inf")  # on the monotonic clock
        self._memory = CrawlMemory(plan)
        self._has_requested = True  # items, in the last step; only then does an empty answer mean that none is left
        self._batch_size = AdaptiveBatchSize(_AHEAD * plan.concurrency)
        self._is_helper = task.kind == CRAWL_HELPER
        self._slots = slots  # its limit is 0 until the first answer sets it
        slots.on_free = self._start
        self._stepped_at = self._busy_at = time.monotonic()
        self._is_done = False
        self._reported = 0
        self._start_failed = ""  # why the start page could not be read
        self._logged_out = 0  # pages in a row that asked for a login despite the session
        self._needs_login: Failed | None = None
        self._proxy = ProxyWatch(policy, plan.retry_attempts, task.run_id)

    async def run(self) -> Outcome:
        try:
            return await self._run_to_end()
        except _Dismissed:
            return self._helper_outcome()

    async def _run_to_end(self) -> Outcome:
        try:
            ran_out = await self._work()
        finally:
            for visit in self._visits.values():
                visit.cancel()
            await asyncio.gather(*self._visits.values(), return_exceptions=True)
        # Release the active items, so that no item stays leased without a worker that reads it.
        async with asyncio.timeout(None if ran_out is None else _LAST_STEP_S):
            self._ready.clear()
            if ran_out is not None:
                # Writing the links of a large page would exceed the remaining time, so the page is released and stays
                # pending.
                self._ended = [result for result in self._ended if len(result.found) <= MAX_ROWS]
            step = await self._step(want=0, is_last=True)
            while self._ended:
                step = await self._step(want=0, is_last=True)
        return self._helper_outcome() if self._is_helper else self._outcome(ran_out, step)

    def _helper_outcome(self) -> Outcome:
        """Return the outcome of a helper: its results belong to the crawl itself."""
        return Fetched({"helper": self._task.payload.read(CrawlHelperPayload).helper, "pages": self._reported})

    async def _work(self) -> StoppedBy | None:
        """Fetch and report until nothing is left to do, or the time is up."""
        step = await self._step()
        while True:
            self._start()
            is_idle = not (self._visits or self._ready or self._ended)
            self._is_done = is_idle and self._has_nothing(step)
            if self._is_done and self._may_leave():
                return None
            if self._needs_login is not None:
                return None
            if self._proxy.is_over:
                return StoppedBy.PROXY
            has_results = bool(self._ended)
            left_s = self._ends_at - time.monotonic()
            await self._wait(min(left_s, self._wait_limit_s(step, is_idle=is_idle)))
            if self._ends_at <= time.monotonic():
                return StoppedBy.TIME
            if is_idle or has_results or self._is_worth_reporting() or self._is_report_due(step):
                step = await self._step()

    def _has_nothing(self, step: Batch) -> bool:
        """Return whether no item is left for this worker: the others belong to helpers, or exceed a budget."""
        return step.next_due_s is None and not step.items and self._has_requested

    def _may_leave(self) -> bool:
        """Return whether this worker may leave. An idle helper stays a while: other workers may find pages for it."""
        return not self._is_helper or time.monotonic() - self._busy_at > _LEAVE_AFTER_S

    def _is_report_due(self, step: Batch) -> bool:
        """Return whether a report is due even without results: workers that share a crawl must learn of changes."""
        return step.is_shared and time.monotonic() - self._stepped_at >= _POLL_EVERY_S

    def _wait_limit_s(self, step: Batch, *, is_idle: bool) -> float:
        if is_idle and self._is_done:
            return _HELPER_POLL_S
        if is_idle:
            return self._batch_size.pause_s() or min(step.next_due_s or 0.0, _POLL_EVERY_S)
        return _REPORT_EVERY_S if self._ended else _POLL_EVERY_S

    async def _wait(self, seconds: float) -> None:
        """Wait until a report is worthwhile, or the time is up."""
        if self._is_worth_reporting():
            return
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    def _is_worth_reporting(self) -> bool:
        """Return whether half of the concurrency has ended: enough items are prefetched until the answer arrives."""
        return bool(self._ended) and (2 * len(self._ended) >= self._slots.limit or not self._visits)

    def _start(self) -> None:
        while self._ready and self._slots.has_room(len(self._visits)) and not self._proxy.is_paused:
            item = self._ready.popleft()
            if (held := self._memory.hold(item)) is not None:
                self._ended.append(held)
                continue
            self._order.begin(host_key_of_url(item.url) or "", _position(item))
            self._slots.begin(item.id)
            self._visits[item.id] = asyncio.create_task(self._visit(item), name=f"visit {item.id}")

    async def _visit(self, item: Item) -> None:
        began = time.monotonic()
        try:
            ended = await self._fetch_item(item)
            self._batch_size.note(ended if isinstance(ended, Deferred) else None)
            if isinstance(ended, Deferred):
                self._send_back_followers(item, ended)
                ended = self._result_of_deferral(item, ended)
            else:
                self._watch_login(item, ended)
                self._proxy.note(ended)
            if isinstance(ended, Failed):
                ended = self._result_of_failure(item, ended)
            ended = ended._replace(took_ms=round((time.monotonic() - began) * 1000), depth=item.depth)
            self._ended.append(self._memory.process_result(item, ended))
        finally:
            del self._visits[item.id]
            self._order.end(item.id)
            self._slots.end(item.id)
            if len(self._ended) <= 1 or self._is_worth_reporting():
                self._wake.set()
        self._start()

    def _send_back_followers(self, item: Item, deferred: Deferred) -> None:
        """Send back later pages of a host that deferred an earlier one: they must not overtake it."""
        if deferred.host != host_key_of_url(item.url):
            return
        self._sent_back[item.id] = deferred.host, _position(item), deferred
        self._ready = deque(ready for ready in self._ready if not self._must_follow(ready))

    def _must_follow(self, item: Item) -> bool:
        """Send an item back if its host deferred an earlier one and the store has not recorded that yet.

        The store then hands both out in order. An answer that the store gave before may still contain later items.
        """
        if not self._sent_back:
            return False
        host, position = host_key_of_url(item.url), _position(item)
        earlier = (deferred for key, other, deferred in self._sent_back.values() if key == host and other < position)
        deferred = next(earlier, None)
        if host is None or deferred is None:
            return False
        self._ended.append(self._result_of_deferral(item, deferred))
        self._sent_back[item.id] = host, position, deferred
        return True

    def _watch_login(self, item: Item, ended: ItemResult | Failed) -> None:
        """Detect an expired login: a start URL that asks for one, or three pages in a row."""
        is_out = isinstance(ended, Failed) and ended.code is FailureCode.BLOCKED and ended.detail in NEEDS_LOGIN
        if isinstance(ended, Failed) and not is_out:
            return
        self._logged_out = self._logged_out + 1 if is_out else 0
        if isinstance(ended, Failed) and (item.depth == 0 or self._logged_out >= _LOGGED_OUT):
            self._needs_login = ended

    async def _fetch_item(self, item: Item) -> ItemResult | Failed | Deferred:
        """Fetch one item. A bug of ours becomes a failure, so that the page is not tried forever."""
        try:
            return await self._visitor.visit(item, self._plan, self._task)
        except Exception as error:
            log.error("crawl_page_read_failed", url=item.url, exc_info=error)
            return Failed(FailureCode.UNKNOWN, f"{type(error).__name__}: {error}"[:2000], "bug")

    def _result_of_deferral(self, item: Item, deferred: Deferred) -> ItemResult:
        decided = decide_item(item.attempt, deferred, self._plan, datetime.now(UTC), key=item.key)
        reason = deferral_reason(deferred.reason, is_own_host=deferred.host == host_key_of_url(item.url))
        ended = ItemResult(item.id, item.key, decided.to, reason, deferred.message, decided.due_in_s)
        return ended._replace(counts=decided.counts_attempt)

    def _result_of_failure(self, item: Item, failure: Failed) -> ItemResult:
        if self._needs_login is not None and failure.detail in NEEDS_LOGIN:
            # The page is read again after the next login.
            return ItemResult(item.id, item.key, ItemState.PENDING, message=failure.message)._replace(counts=False)
        if (missing := self._result_of_missing(item, failure)) is not None:
            return missing
        if is_end_of_list(item, failure):
            message = f"it answers {failure.http_status}: the end of the list"
            return ItemResult(item.id, item.key, ItemState.SKIPPED, LISTING, message, http_status=failure.http_status)
        now = datetime.now(UTC)
        policy, is_start = self._policy, item.depth == 0
        faults = self._proxy.count_earlier_faults(item, failure)
        decided = decide_item(
            item.attempt, failure, self._plan, now, key=item.key, policy=policy, is_start=is_start, proxy_faults=faults
        )
        reason = f"{failure.code.value}:{failure.detail}" if failure.detail else failure.code.value
        # A page that robots.txt or our own rules exclude has not failed.
        is_ours = failure.code is FailureCode.POLICY and item.depth > 0
        # A missing sitemap is no failure, either.
        is_no_page = item.kind != PAGE and listing_position(item.kind) is None and decided.to is ItemState.FAILED
        to = ItemState.SKIPPED if is_ours or is_no_page else decided.to
        status = failure.http_status
        if item.depth == 0 and (to is ItemState.FAILED or is_proxy_fault(failure)):
            self._start_failed = failure.message
        ended = ItemResult(item.id, item.key, to, reason, failure.message, decided.due_in_s, http_status=status)
        ended = add_cost(ended, failure.stats)
        found = follow_failed_list_page(item, self._plan) if to is ItemState.FAILED else ()
        return ended._replace(counts=decided.counts_attempt, found=found)

    def _result_of_missing(self, item: Item, failure: Failed) -> ItemResult | None:
        """Return the result of a dead link; None for any other failure, or for a start URL."""
        if failure.http_status not in _GONE or item.kind != PAGE or (item.depth == 0 and item.earlier_version is None):
            return None
        is_known = item.earlier_version is not None
        message = f"it answers {failure.http_status}{' now' if is_known else ''}"
        reason = GONE if is_known else f"http_{failure.http_status}"
        ended = ItemResult(item.id, item.key, ItemState.MISSING, reason, message, http_status=failure.http_status)
        ended = add_cost(ended, failure.stats)
        return ended._replace(change=Change.GONE if is_known else None)

    async def _step(self, *, want: int | None = None, is_last: bool = False) -> Batch:
        batch, later = next_batch(self._ended)
        ended, too_large = split_by_size(batch)
        self._ended = [*too_large, *later]
        for result in ended:
            self._sent_back.pop(result.id, None)
        # Results that will be reported later count as held.
        unreported = (result.id for result in self._ended)
        holding = (*self._visits, *(item.id for item in self._ready), *unreported)
        if want is None:
            # Before the first answer, only the store knows how many pages this worker may read.
            is_first = self._slots.limit == 0 and not self._is_helper
            limit = self._plan.concurrency if is_first else self._slots.limit
            reading = len(self._visits) - len(self._slots)
            want = max(0, min(self._batch_size.size(), _AHEAD * limit) - len(holding) + reading)
        self._has_requested = want > 0
        traps = self._memory.take_report()
        under_way = max(self._slots.limit, len(self._slots))
        step = await self._frontier.step(
            BatchReport(tuple(ended), holding, want, is_last, traps, under_way, self._is_done)
        )
        if step.is_over:
            raise _Dismissed
        self._stepped_at = time.monotonic()
        self._slots.set_limit(self._plan.concurrency if step.at_once is None else step.at_once)
        self._reported += len(ended)
        if step.items or holding:
            self._busy_at = self._stepped_at
        self._memory.apply_answer(step)
        self._ready.extend(item for item in step.items if not self._must_follow(item))
        if step.left_s is not None:
            self._ends_at = time.monotonic() + step.left_s
        return step

    def _outcome(self, ran_out: StoppedBy | None, last: Batch) -> Outcome:
        if self._needs_login is not None:
            return self._needs_login
        counts, reasons = last.counts, last.reasons or {}
        stats: dict[str, Any] = {**counts._asdict(), "discovered": counts.discovered, "bytes": last.size}
        stats |= {SPENT: last.spent._asdict(), "latency": last.latency or {}}
        held_back = last.held_back or []
        stats |= {"reasons": reasons, "links_dropped": last.dropped, "held_back": held_back, "merged": last.merged}
        if last.changes is not None:
            stats["changes"] = {**dict.fromkeys(Change, 0), **last.changes}
        if last.row_keys is not None:
            stats[ROW_KEYS] = last.row_keys
        stop = find_stop(self._plan, counts, last.spent, reasons, ran_out)
        ran_out = stop.ran_out
        stats |= stop.stats
        stats["left_out"] = left_out = {**count_omissions(reasons, last.dropped), **stop.left_out}
        stats["left_out_examples"] = last.examples or {}
        stats["empty_fields"] = empty = last.empty_fields or {}
        is_ok = self._plan.partial_results_ok
        lacks = sum(left_out.values()) + len(empty)
        state = final_state(counts, ran_out=ran_out, partial_results_ok=is_ok, left_out=lacks)
        if state is RunState.COMPLETED:
            return Fetched(stats)
        problems = {"failed": counts.failed, "ran_out_of": ran_out, "left_out": left_out, "missing": list(empty)}
        if state is RunState.PARTIAL:
            return Fetched(stats, problems=problems)
        code, detail, message = why_failed(counts, reasons, ran_out=ran_out)
        if ran_out is StoppedBy.PROXY and self._proxy.last is not None:
            detail = self._proxy.last.detail or detail
        message += f": {self._start_failed}" if self._start_failed else ""
        return Failed(code, f"crawl failed: {message}", detail, stats={**stats, "problems": problems})


def add_cost(ended: ItemResult, stats: dict[str, Any]) -> ItemResult:
    """Add the cost of a failed page, as its visitor measured it."""
    spent = Spent.of(stats.get(SPENT) or {})._asdict()
    return ended._replace(**{name: number for name, number in spent.items() if name != "took_ms"})


def _position(item: Item) -> Position:
    return Position(item.is_deferred, item.rank, item.id)
