"""The host limiter of a node: which process may request which host, and when. Everything that fetches goes through it.

`messages` has the protocol between a worker and its node. `LimiterBackend` stores the state that outlives the process.
"""

import asyncio
import functools
import math
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import structlog

from corral.domain.hosts.breaker import Breaker, Sign
from corral.domain.hosts.limiter import Answer, HostCondition, HostRules, RunRoom, SitePace, Wait
from corral.domain.hosts.quota import QUOTA_S, QuotaGrant
from corral.domain.runs.outcome import WaitReason
from corral.engine.hosts.host_state import HostState, LimiterBackend, PendingRequest, SlotHolder
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
)
from corral.engine.hosts.permits import Permits

log = structlog.get_logger()

_CRAWL_DELAY_TTL_S = 3600.0
_MAX_HOSTS = 20_000
# A report covers many visits; at most this many of them raise the concurrency of the host.
_MAX_SUCCESSES = 10
# How long requests wait before they are deferred, while other nodes hold all slots of the host.
_SHORT_S = 1.0
_HANDED_OVER_S = 5.0  # the same, if enough slots exist but another node has not returned them yet


class HostLimiter:
    def __init__(
        self,
        rules: HostRules,
        backend: LimiterBackend,
        *,
        pace_of: Callable[[str], SitePace | None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._rules = rules
        self._backend = backend
        self._pace_of = pace_of  # by host key, from the site configurations
        self.clock = clock
        self._chance = chance
        self.hosts: dict[str, HostState] = {}
        self.watched: set[str] = set()  # hosts that are not healthy
        self.short: dict[str, float] = {}  # hosts whose slots other nodes hold, and when to request again
        self.messages = 0  # number of messages from workers

    def rules_of(self, host: HostState) -> HostRules:
        pace = replace(self._rules.pace, concurrency=max(self._rules.pace.concurrency, host.at_once))
        configured = self._pace_of(host.host_key)
        if configured is not None:
            pace = configured.over(pace)
        if host.pace_override is not None:
            pace = host.pace_override.over(pace)
        if host.crawl_delay_s is not None and host.crawl_delay_until > self.clock():
            pace = replace(pace, crawl_delay_s=host.crawl_delay_s)
        return replace(self._rules, pace=pace)

    def host(self, host_key: str) -> HostState:
        host = self.hosts.get(host_key)
        if host is None:
            if len(self.hosts) >= _MAX_HOSTS:
                self._forget_idle()
            host = self.hosts[host_key] = HostState(host_key)
        return host

    def _forget_idle(self) -> None:
        for host_key, host in list(self.hosts.items()):
            if (
                host.is_idle
                and not host.quota
                and host_key not in self.watched
                and host.condition.breaker.failures == 0
            ):
                self.short.pop(host_key, None)
                del self.hosts[host_key]

    # -- before runs are claimed ---------------------------------------------------------------------

    def run_room(self, host_key: str, held: int) -> RunRoom:
        """Return how many more runs of this host this node should claim."""
        host, now = self.hosts.get(host_key), self.clock()
        if host is None:
            return HostCondition().run_room(now, self.rules_of(HostState(host_key)), held)
        if self.short.get(host_key, 0.0) > now:
            return RunRoom(0, WaitReason.PACE, self.short[host_key] - now)
        slots = host.slots(now) if host.is_contested_at(now) else math.inf
        return host.condition.run_room(now, self.rules_of(host), held, slots)

    # -- messages from workers -----------------------------------------------------------------------

    def hear(self, holder: SlotHolder, message: ToLimiter) -> None:
        self.messages += 1
        host = self.host(message.host_key)
        match message:
            case SlotRequest():
                self._add_requests(host, holder, message.count, message.concurrency)
            case SlotWithdrawal():
                _forget(host.pending, holder, message.count)
                self._serve(host)
            case VisitReport():
                self._apply_report(host, holder, message)
            case CrawlDelay():
                self._apply_crawl_delay(host, message.delay_s)

    def _apply_crawl_delay(self, host: HostState, delay_s: float) -> None:
        now = self.clock()
        is_new = host.crawl_delay_until <= now
        host.crawl_delay_s, host.crawl_delay_until = delay_s, now + _CRAWL_DELAY_TTL_S
        if is_new and +host.lent:  # a visit in a lent slot has just begun: the next one comes a delay later
            self._postpone(host, now, self.rules_of(host))
        self._serve(host)

    def _postpone(self, host: HostState, now: float, rules: HostRules) -> None:
        """Let the next request begin no earlier than one delay from now."""
        pace = host.condition.pace
        pace = replace(pace, next_at=max(pace.next_at, now + host.condition.delay_s(rules)))
        host.condition = replace(host.condition, pace=pace)

    def _add_requests(self, host: HostState, holder: SlotHolder, count: int, at_once: int) -> None:
        host.at_once = max(host.at_once, at_once)
        now, rules = self.clock(), self.rules_of(host)
        wait_s = moment_s = host.condition.moment_s(rules)
        if not host.slots(now):
            has_pause = host.condition.delay_s(rules) > 0 or rules.pace.max_concurrency == 1
            wait_s = max(moment_s, _SHORT_S if has_pause else _HANDED_OVER_S)
        until = now + wait_s
        host.pending.extend(PendingRequest(holder, until) for _ in range(count))
        self._serve(host)

    def _apply_report(self, host: HostState, holder: SlotHolder, report: VisitReport) -> None:
        returned, succeeded = report.returned, report.succeeded
        now, rules, before = self.clock(), self.rules_of(host), host.condition
        for _ in range(min(succeeded, _MAX_SUCCESSES)):
            host.condition = host.condition.after(Answer(Sign.WELL, 200, report.latency_s or None), now, rules)
        if succeeded > _MAX_SUCCESSES:
            host.condition = replace(
                host.condition, breaker=host.condition.breaker.count_well(succeeded - _MAX_SUCCESSES)
            )
        probed = False
        for result in report.results:
            was_probe = result.kind is SlotKind.PROBE and host.prober is holder
            answer = Answer(result.sign, result.status, result.latency_s, result.retry_after_s)
            host.condition = host.condition.after(answer, now, rules, was_probe=was_probe)
            probed = probed or was_probe
        freed = min(host.lent[holder], returned + sum(result.kind is not SlotKind.LENT for result in report.results))
        host.lent[holder] -= freed
        host.called[holder] = max(0, host.called[holder] - returned)
        host.condition = host.condition.lent(-freed)
        self._follow_up(host, before, probed=probed)
        if freed and not host.is_asking and host.condition.pace.active <= host.quota < host.held:
            self._backend.request_quota(host)  # slots beyond our quota came back: other nodes wait for them
        self._serve(host)

    def _follow_up(self, host: HostState, before: HostCondition, *, probed: bool) -> None:
        """Publish a change that other nodes need to know."""
        was, now = before.breaker, host.condition.breaker
        if probed:
            host.prober = None
            if now.opened_at is None:
                log.info("breaker_closed", host=host.host_key)
            self._backend.probe_ended(host)
        elif was.opened_at is None and now.opened_at is not None:
            log.warning(
                "breaker_opened",
                host=host.host_key,
                failures=now.failures,
                for_s=self._rules.breaker.open_s,
            )
            self._backend.save_opened(host)
        elif was.failures != now.failures or before.pace.blocked_until != host.condition.pace.blocked_until:
            self._backend.save_change(host)

    def remove_holder(self, holder: SlotHolder) -> None:
        """Forget a worker that has ended, and take back its slots."""
        for host in list(self.hosts.values()):
            count = host.lent.pop(holder, 0)
            host.called.pop(holder, None)
            host.pending = deque(request for request in host.pending if request.holder is not holder)
            before = host.condition
            host.condition = host.condition.lent(-count)
            if host.prober is holder:
                host.condition = host.condition.after(Answer(), self.clock(), self.rules_of(host), was_probe=True)
                self._follow_up(host, before, probed=True)
            if count:
                self._serve(host)

    # -- granting slots ------------------------------------------------------------------------------

    def _is_plain(self, host: HostState, now: float, rules: HostRules) -> bool:
        is_plain = host.condition.is_plain(now, rules)
        if not is_plain:
            self.watched.add(host.host_key)
            if not host.is_recalled:
                host.is_recalled = True
                for holder, count in host.lent.items():
                    if count:
                        holder.send([SlotRecall(host.host_key, None)])
        elif host.host_key in self.watched:
            self.watched.discard(host.host_key)
            host.is_recalled = False
            self._backend.save_recovery(host)
        return is_plain

    def wake(self, host: HostState) -> None:
        """Serve waiting requests after a change that no message announced."""
        self._serve(host)

    def _serve(self, host: HostState) -> None:
        if host.timer is not None:
            host.timer.cancel()
            host.timer = None
        now, rules = self.clock(), self.rules_of(host)
        if self._is_plain(host, now, rules):
            self._lend(host, now, rules)
        elif host.slots(now):
            self._grant(host, now, rules)
        if not host.pending:
            if not +host.lent:
                host.at_once = 0
            return
        if not host.is_asking and host.slots(now) < rules.pace.max_concurrency and not host.is_contested_at(now):
            self._backend.request_quota(host)
        if not (host.is_taking_probe or host.is_asking):
            self._send_away_late(host, now, rules)
            self._arm(host, now, rules)

    def apply_quota(self, host: HostState, grant: QuotaGrant, requested_at: float, in_use: int = 0) -> None:
        """Apply the quota of this node; recall slots that are lent beyond it."""
        now, rules, had = self.clock(), self.rules_of(host), host.held
        host.is_asking, host.is_contested = False, grant.is_contested
        host.quota, host.quota_until = grant.slots, requested_at + QUOTA_S
        host.held = max(grant.slots, in_use)
        if grant.slots:
            self.short.pop(host.host_key, None)
        if grant.is_contested and grant.slots and not had:  # another node may have requested the host a moment ago
            self._postpone(host, now, rules)
        over = host.condition.pace.active - grant.slots - host.called.total()
        for holder, count in host.lent.items():
            called = min(over, count - host.called[holder])
            if called > 0:
                over -= called
                host.called[holder] += called
                holder.send([SlotRecall(host.host_key, called)])
        self._serve(host)

    def _lend(self, host: HostState, now: float, rules: HostRules) -> None:
        room = max(0, min(host.condition.pace.at_once(rules.pace), host.slots(now)) - host.condition.pace.active)
        loans: Counter[SlotHolder] = Counter()
        while host.pending and room > 0:
            loans[host.pending.popleft().holder] += 1
            room -= 1
        for holder, count in loans.items():
            host.lent[holder] += count
            host.condition = host.condition.lent(count)
            holder.send([SlotLoan(host.host_key, count)])
        if host.pending:
            self._call_back_for(host)

    def _call_back_for(self, host: HostState) -> None:
        """Recall slots from workers that hold more than they use, or more than their share."""
        wanted = Counter(request.holder for request in host.pending)
        share = max(1, host.condition.pace.active // len({*wanted, *+host.lent}))
        for holder, count in host.lent.items():
            over = count - share if holder in wanted else count
            called = min(over, wanted.total() - wanted[holder]) - host.called[holder]
            if called > 0:
                host.called[holder] += called
                holder.send([SlotRecall(host.host_key, called)])

    def _grant(self, host: HostState, now: float, rules: HostRules) -> None:
        """Grant one slot at a time, each with its own message."""
        while host.pending and not host.is_taking_probe and host.condition.pace.active < host.slots(now):
            wait = host.condition.wait(now, rules)
            if wait is not None:
                if math.isfinite(wait.seconds) and now + wait.seconds > host.pending[0].until:
                    self._send_away(host, len(host.pending), wait, rules)
                return
            if host.condition.breaker.opened_at is not None:
                host.is_taking_probe = True
                self._backend.take_probe(host)
                return
            self._let_in(host, now, rules, SlotKind.ONCE)

    def _let_in(self, host: HostState, now: float, rules: HostRules, kind: SlotKind) -> None:
        holder = host.pending.popleft().holder
        host.lent[holder] += 1
        host.condition = host.condition.start(now, rules, host.draw(self._chance))
        if kind is SlotKind.PROBE:
            host.prober = holder
        holder.send([SlotGrant(host.host_key, kind)])
        self._backend.let_in(host)

    def apply_probe(self, host: HostState, stored: Breaker | None) -> None:
        """Apply the answer of the store: the probe is ours, or the stored breaker applies (clocks may differ)."""
        host.is_taking_probe = False
        now, rules = self.clock(), self.rules_of(host)
        is_ours = stored is None and host.condition.breaker.opened_at is not None
        if stored is not None:
            host.condition = replace(host.condition, breaker=stored)
        elif is_ours and host.pending:
            log.info("breaker_probe_started", host=host.host_key)
            self._let_in(host, now, rules, SlotKind.PROBE)
        elif is_ours:  # the worker that requested it has ended
            self._backend.probe_ended(host)
        self._serve(host)

    # -- deferring requests --------------------------------------------------------------------------

    def _send_away_late(self, host: HostState, now: float, rules: HostRules) -> None:
        late = sum(request.until <= now for request in host.pending)
        if late:
            if host.condition.delay_s(rules) > 0:
                late = len(host.pending)  # later requests must not overtake the deferred ones
            wait = host.condition.wait(now, rules) or Wait(WaitReason.PACE, host.condition.interval_s(rules))
            if not host.slots(now):
                wait, self.short[host.host_key] = Wait(WaitReason.PACE, _SHORT_S), now + _SHORT_S
            self._send_away(host, late, wait, rules)

    def _send_away(self, host: HostState, count: int, wait: Wait, rules: HostRules) -> None:
        """Defer the oldest waiting requests, each with the time to try again."""
        times: dict[SlotHolder, list[float]] = {}
        host.sent_away += count
        for number in range(count):
            request = host.pending.popleft()
            seconds = wait.seconds if math.isfinite(wait.seconds) else host.condition.interval_s(rules)
            if wait.reason is not WaitReason.BREAKER:
                seconds += number * host.condition.interval_s(rules)
            times.setdefault(request.holder, []).append(round(seconds, 3))
        for holder, wait_times_s in times.items():
            holder.send([SlotRefusal(host.host_key, wait.reason, tuple(wait_times_s))])

    def _arm(self, host: HostState, now: float, rules: HostRules) -> None:
        if not host.pending:
            return
        wait = host.condition.wait(now, rules)
        at = host.pending[0].until
        if wait is not None and math.isfinite(wait.seconds):
            at = min(at, now + wait.seconds)
        host.timer = asyncio.get_running_loop().call_later(max(0.001, at - now), self._serve, host)


class InProcessHolder:
    """A client in the node's own process, which requests slots as a worker does."""

    def __init__(self, permits: Permits) -> None:
        self._permits = permits

    def enter(self, limiter: HostLimiter) -> None:
        self._permits.say = functools.partial(limiter.hear, self)

    def send(self, messages: Sequence[FromLimiter]) -> None:
        for message in messages:
            asyncio.get_running_loop().call_soon(self._permits.hear, message)


def _forget(pending: deque[PendingRequest], holder: SlotHolder, count: int) -> None:
    """Drop the latest requests of a worker whose visits got slots in another way."""
    for index in range(len(pending) - 1, -1, -1):
        if count and pending[index].holder is holder:
            del pending[index]
            count -= 1
