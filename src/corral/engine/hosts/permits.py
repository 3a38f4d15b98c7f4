"""The worker's side of the host limiter: visits take their slots here, from the node's loan.

The node lends slots of a healthy host to a worker until it recalls them. Meanwhile a visit costs no message, and the
worker reports the results once a second. For a host that is not healthy, it requests and reports each slot. The
messages are in `messages`.
"""

import asyncio
import bisect
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corral.domain.hosts.breaker import Sign
from corral.domain.hosts.limiter import Answer, host_key_of
from corral.domain.hosts.order import QueuedPage
from corral.domain.net.proxy import RouteKind
from corral.domain.net.url import Target
from corral.domain.runs.outcome import Deferred, Outcome, WaitReason
from corral.engine.hosts.messages import (
    CrawlDelay,
    FromLimiter,
    SlotGrant,
    SlotKind,
    SlotLoan,
    SlotRecall,
    SlotRefusal,
    SlotRequest,
    SlotWithdrawal,
    ToLimiter,
    VisitReport,
    VisitResult,
)
from corral.engine.hosts.stay import Stay, answer_of

REPORT_EVERY_S = 1.0
# Slots that stay unused for this many reports are returned.
_IDLE_ROUNDS = 2
_RESEND_DELAY_S = 60.0
_MAX_HOSTS = 10_000
# How long to reserve a slot for the next page in crawl order while only later pages request it. That page may itself
# wait for something that a later page holds, such as a browser.
_HOLD_S = 1.0


class _Waiter(NamedTuple):
    visit: "PermitVisit"
    turn: "asyncio.Future[Deferred | SlotKind]"
    page: QueuedPage | None  # set if the order of the crawl matters

    @property
    def is_next(self) -> bool:
        return self.page is None or self.page.is_first


@dataclass(slots=True, eq=False)
class _Loan:
    """The slots of one host in this worker."""

    free: int = 0
    used: int = 0
    owed: int = 0  # recalled slots that are still in use
    requested: int = 0  # slots without an answer yet
    at_once: int = 0
    waiters: "list[_Waiter]" = field(default_factory=list)  # ordered by visit number
    on_hold: "list[SlotKind]" = field(default_factory=list)  # slots reserved for pages that have not requested them yet
    hold_timer: asyncio.TimerHandle | None = None
    # The content of the next report.
    returned: int = 0
    succeeded: int = 0
    latency_s: float = 0.0  # total of the successful visits
    results: list[VisitResult] = field(default_factory=list)
    idle_rounds: int = 0
    is_report_scheduled: bool = False


class Permits:
    """The slots of one worker process. `say` sends a message to the node."""

    def __init__(self) -> None:
        self.say: Callable[[ToLimiter], None] = lambda _: None
        self._loans: dict[str, _Loan] = {}
        self._delays: dict[str, tuple[float, float]] = {}
        self._numbers = itertools.count(1)

    def visit(self, at_once: int = 0, queued: QueuedPage | None = None) -> "PermitVisit":
        return PermitVisit(self, at_once, next(self._numbers), queued)

    async def run(self) -> None:
        """Report once a second, and return idle slots."""
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            for host_key, loan in list(self._loans.items()):
                self._report_round(host_key, loan)

    def _report_round(self, host_key: str, loan: _Loan) -> None:
        loan.idle_rounds = loan.idle_rounds + 1 if loan.free and not loan.succeeded else 0
        if loan.idle_rounds >= _IDLE_ROUNDS:
            loan.returned, loan.free = loan.returned + loan.free, 0
        if loan.succeeded or loan.returned or loan.results:
            self._send_report(host_key, loan)
        if not (loan.free or loan.used or loan.requested or loan.waiters or loan.on_hold):
            del self._loans[host_key]

    # -- taking a slot -----------------------------------------------------------------------------

    def take(self, host_key: str) -> bool:
        """Take a lent slot without a message to the node. This is the usual case."""
        loan = self._loans.get(host_key)
        if loan is None or loan.free <= 0:
            return False
        loan.free -= 1
        loan.used += 1
        return True

    async def wait(
        self, host_key: str, at_once: int, visit: "PermitVisit", page: QueuedPage | None = None
    ) -> Deferred | SlotKind:
        loan = self._loans.setdefault(host_key, _Loan())
        loan.at_once = max(loan.at_once, at_once)
        turn: asyncio.Future[Deferred | SlotKind] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(visit, turn, page)
        # The visit that began first gets the next slot, even if it requested the slot later than another visit.
        bisect.insort(loan.waiters, waiter, key=_number)
        if page is not None:
            page.notify(self._offer)
            page.on_refusal = functools.partial(self._send_back, host_key, waiter)
        self._offer(host_key)
        if len(loan.waiters) > loan.requested + len(loan.on_hold):
            # One message covers all visits that start waiting in this iteration of the event loop.
            asyncio.get_running_loop().call_soon(self._request, host_key)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and isinstance(kind := turn.result(), SlotKind):
                self.leave(host_key, kind, Answer())
            elif waiter in loan.waiters:
                loan.waiters.remove(waiter)
                self._offer(host_key)
            raise
        finally:
            if page is not None:
                page.on_refusal = None

    def _send_back(self, host_key: str, waiter: _Waiter, deferred: Deferred) -> None:
        """Defer pages that wait here behind a deferred page."""
        loan = self._loans[host_key]
        if waiter not in loan.waiters or waiter.turn.done():
            return
        loan.waiters.remove(waiter)
        waiter.turn.set_result(deferred)
        if loan.requested > len(loan.waiters):
            loan.requested -= 1
            self.say(SlotWithdrawal(host_key, 1))

    def _request(self, host_key: str) -> None:
        loan = self._loans.get(host_key)
        if loan is None:
            return
        count = len(loan.waiters) - loan.requested - len(loan.on_hold)
        if count > 0:
            loan.requested += count
            self.say(SlotRequest(host_key, count, loan.at_once))

    # -- leaving -----------------------------------------------------------------------------------

    def leave(self, host_key: str, kind: SlotKind, answer: Answer) -> None:
        """Free a slot and report the answer of its visit."""
        if kind is SlotKind.LENT:
            self.free(host_key, kind)
        self.report(host_key, kind, answer)

    def free(self, host_key: str, kind: SlotKind) -> None:
        """Free a slot; the answer of its visit is reported later, as that of a lent slot."""
        if kind is not SlotKind.LENT:
            self.report(host_key, kind, Answer())
            return
        loan = self._loans.setdefault(host_key, _Loan())
        loan.used -= 1
        if loan.owed > 0:
            loan.owed -= 1
            loan.returned += 1
            self._report_soon(host_key, loan)
        else:
            loan.free += 1
            self._serve(host_key, loan)

    def report(self, host_key: str, kind: SlotKind, answer: Answer) -> None:
        """Report an answer; the node takes back a slot that was granted for one visit."""
        loan = self._loans.setdefault(host_key, _Loan())
        if kind is SlotKind.LENT and answer.is_plain and not (loan.results and answer.sign is Sign.WELL):
            if answer.sign is Sign.WELL:
                loan.succeeded += 1
                loan.latency_s += answer.latency_s or 0.0
            return
        loan.results.append(VisitResult(kind, answer.sign, answer.status, answer.latency_s, answer.retry_after_s))
        self._report_soon(host_key, loan)

    def _serve(self, host_key: str, loan: _Loan) -> None:
        while loan.free > 0 and loan.waiters:
            waiter = loan.waiters.pop(0)
            if not waiter.turn.done():
                loan.free -= 1
                loan.used += 1
                _admit(waiter, SlotKind.LENT)
        if loan.requested and not loan.waiters:
            self.say(SlotWithdrawal(host_key, loan.requested))
            loan.requested = 0

    def _report_soon(self, host_key: str, loan: _Loan) -> None:
        if not loan.is_report_scheduled:
            loan.is_report_scheduled = True
            asyncio.get_running_loop().call_soon(self._send_report, host_key, loan)

    def _send_report(self, host_key: str, loan: _Loan) -> None:
        mean_s = round(loan.latency_s / loan.succeeded, 4) if loan.succeeded else 0.0
        self.say(VisitReport(host_key, loan.returned, loan.succeeded, mean_s, tuple(loan.results)))
        loan.returned, loan.succeeded, loan.latency_s, loan.results, loan.is_report_scheduled = 0, 0, 0.0, [], False

    def set_delay(self, host_key: str, delay_s: float) -> None:
        """Apply the Crawl-delay of robots.txt. Return the loan at once: the node grants the next slot."""
        sent_s, at = self._delays.get(host_key, (0.0, 0.0))
        if sent_s == delay_s and time.monotonic() - at < _RESEND_DELAY_S:
            return
        if len(self._delays) >= _MAX_HOSTS:
            self._delays.clear()
        self._delays[host_key] = (delay_s, time.monotonic())
        self.say(CrawlDelay(host_key, delay_s))
        if host_key in self._loans:
            self._recall(host_key, None)

    # -- messages from the node --------------------------------------------------------------------

    def hear(self, message: FromLimiter) -> None:
        host_key = message.host_key
        loan = self._loans.setdefault(host_key, _Loan())
        match message:
            case SlotLoan():
                loan.requested = max(0, loan.requested - message.count)
                loan.free += message.count
                self._serve(host_key, loan)
            case SlotGrant():
                loan.requested = max(0, loan.requested - 1)
                self._hold(host_key, loan, message.kind)
            case SlotRefusal():
                loan.requested = max(0, loan.requested - len(message.wait_s))
                _refuse(loan, host_key, message.reason, message.wait_s)
            case SlotRecall():
                self._recall(host_key, message.count)

    def _hold(self, host_key: str, loan: _Loan, kind: SlotKind) -> None:
        loan.on_hold.append(kind)
        self._offer(host_key)
        if loan.on_hold and loan.hold_timer is None:
            loop = asyncio.get_running_loop()
            loan.hold_timer = loop.call_later(_HOLD_S, functools.partial(self._offer, host_key, is_overdue=True))

    def _offer(self, host_key: str, *, is_overdue: bool = False) -> None:
        """Give the slots on hold to pages that are next in the order of their crawls."""
        loan = self._loans.get(host_key)
        while loan is not None and loan.on_hold:
            kind = loan.on_hold.pop(0)
            waiters = [waiter for waiter in loan.waiters if not waiter.turn.done()]
            waiter = next((waiter for waiter in waiters if is_overdue or waiter.is_next), None)
            if waiter is not None:
                loan.waiters.remove(waiter)
                _admit(waiter, kind)
            elif waiters:
                loan.on_hold.insert(0, kind)
                return
            else:
                self.leave(host_key, kind, Answer())  # the visit that requested it has ended
        if loan is not None and loan.hold_timer is not None:
            loan.hold_timer.cancel()
            loan.hold_timer = None

    def _recall(self, host_key: str, count: int | None) -> None:
        """Return slots of the loan, or all of it if the count is None."""
        loan = self._loans[host_key]
        wanted = loan.free + loan.used - loan.owed if count is None else count
        returned = min(loan.free, wanted)
        loan.free -= returned
        loan.returned += returned
        loan.owed = min(loan.used, loan.owed + wanted - returned)
        if returned:
            self._report_soon(host_key, loan)


def _admit(waiter: _Waiter, kind: SlotKind) -> None:
    waiter.turn.set_result(kind)
    if waiter.page is not None:
        waiter.page.leave()


def _refuse(loan: _Loan, host_key: str, reason: WaitReason, seconds: Sequence[float]) -> None:
    """Defer the visits that began last: more may wait here than the node knows."""
    waiters = [waiter for waiter in loan.waiters if not waiter.turn.done()]
    remaining = max(0, len(waiters) - len(seconds))
    loan.waiters = waiters[:remaining]
    sent_back = waiters[remaining:]
    for waiter, wait_s in zip(sent_back, seconds, strict=False):
        waiter.turn.set_result(Deferred(host_key, reason, round(wait_s, 3)))
    for waiter in sent_back:
        deferred = waiter.turn.result()
        if waiter.page is not None and isinstance(deferred, Deferred):
            waiter.page.refuse(deferred)


def _number(waiter: _Waiter) -> int:
    return waiter.visit.number


class PermitVisit:
    """The slots of one page."""

    __slots__ = ("_at_once", "_host_key", "_permits", "_queued", "_stays", "number")

    def __init__(self, permits: Permits, at_once: int, number: int, queued: QueuedPage | None) -> None:
        self._permits = permits
        self._at_once = at_once
        self.number = number
        self._queued = queued
        self._stays: dict[str, Stay] = {}
        self._host_key: str | None = None  # the host requested last

    async def enter(self, target: Target, route: RouteKind = RouteKind.DIRECT) -> Deferred | None:
        host_key = host_key_of(target)
        stay = self._stays.get(host_key)
        if stay is None or stay.is_free:
            # A redirect to another host has no position in that host's order.
            page = self._queued if self._queued is not None and self._queued.host_key == host_key else None
            slot = await self._request_slot(host_key, page)
            if isinstance(slot, Deferred):
                return slot
            stay = self._stays[host_key] = Stay(slot)
        stay.status = stay.retry_after = None
        stay.route = route
        self._host_key = host_key
        return None

    async def _request_slot(self, host_key: str, page: QueuedPage | None) -> Deferred | SlotKind:
        if page is not None and page.refusal is not None:
            page.refuse(page.refusal)  # further pages may have joined the queue behind it
            return page.refusal
        if not self._permits.take(host_key):
            return await self._permits.wait(host_key, self._at_once, self, page)
        if page is not None:
            page.leave()
        return SlotKind.LENT

    def record_answer(self, target: Target, status: int, latency_s: float, retry_after: str | None) -> None:
        stay = self._stays.get(host_key_of(target))
        if stay is not None:
            stay.status, stay.latency_s, stay.retry_after = status, latency_s, retry_after

    def slow_down(self, target: Target, delay_s: float) -> None:
        self._permits.set_delay(host_key_of(target), delay_s)

    def free_slots(self) -> None:
        for host_key, stay in self._stays.items():
            # A probe keeps its slot until its verdict, so that no second one is sent before.
            if not stay.is_free and stay.kind is not SlotKind.PROBE:
                stay.is_free = True
                self._permits.free(host_key, stay.kind)

    def end(self, outcome: Outcome | None) -> None:
        """Report the outcome for the host that was requested last; earlier hosts only redirected to it."""
        stays, self._stays = self._stays, {}
        for host_key, stay in stays.items():
            if outcome is None:
                answer = Answer()
            elif host_key == self._host_key:
                answer = answer_of(stay, outcome)
            else:
                answer = Answer(Sign.WELL if stay.status else Sign.NOTHING, stay.status, stay.latency_s)
            if stay.is_free:
                self._permits.report(host_key, SlotKind.LENT, answer)
            else:
                self._permits.leave(host_key, stay.kind, answer)
