"""The pace of a host: the number of concurrent requests and the delay between them, reduced when it is overloaded.

A pace is an immutable value: `start` and `finish` return the next one. Randomness is passed in as a number between 0
and 1, so that a pace can be replayed. Times are seconds of the steady clock.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_SUFFERS = frozenset({429, 503})
_LATENCY_WEIGHT = 0.1
# A mean latency this many times the best one, and above a second, means that the host is overloaded.
_LATENCY_RISE = 3.0
_SLOW_S = 1.0
_BEST_FADES_BY = 1.01  # the best latency decays: one quick answer must not remain the measure forever
_MAX_RETRY_AFTER_S = 3600.0
# Slow down at most once per interval: with many requests in flight, one bad moment counts once.
_SLOWS_EVERY_S = 1.0
_FIRST_DELAY_S = 0.5  # doubling needs a delay to start from
_SPEEDS_UP_BY = 0.1  # concurrency gained per good answer: ten answers for one more request
_DELAY_FADES_TO = 0.9


@dataclass(frozen=True, slots=True)
class PaceRules:
    concurrency: int = 8
    delay_s: float = 0.0
    jitter: float = 0.5  # a delay of 1 s is 0.5 to 1.5 s
    max_delay_s: float = 60.0
    crawl_delay_s: float | None = None  # set by robots.txt; the delay is never shorter

    @property
    def least_delay_s(self) -> float:
        return max(self.delay_s, min(self.crawl_delay_s or 0.0, self.max_delay_s))

    @property
    def max_concurrency(self) -> int:
        # A host that asks for a delay between requests gets one request at a time.
        return 1 if self.crawl_delay_s else self.concurrency


@dataclass(frozen=True, slots=True)
class Pace:
    active: int = 0
    allowed: float = math.inf  # learned concurrency; the rules limit it
    delay_s: float = 0.0  # learned delay; the rules set its minimum
    next_at: float = 0.0
    blocked_until: float = 0.0  # set by Retry-After
    slowed_at: float = -math.inf
    latency_s: float = 0.0  # moving average
    best_latency_s: float = math.inf

    def may_start(self, now: float, rules: PaceRules) -> float:
        """Return the seconds until the next request may start; 0 for now, infinite if another one must end first."""
        if self.active >= self.at_once(rules):
            return math.inf
        # Bounded: a clock that was set back must not block a host for hours.
        until_next = min(self.next_at - now, 2 * rules.max_delay_s)
        return max(0.0, until_next, min(self.blocked_until - now, _MAX_RETRY_AFTER_S))

    def at_once(self, rules: PaceRules) -> int:
        return max(1, int(min(self.allowed, rules.max_concurrency)))

    def start(self, now: float, rules: PaceRules, chance: float) -> "Pace":
        """Record a request. `chance`, from 0 to 1, varies the delay so that requests do not synchronize."""
        delay_s = max(self.delay_s, rules.delay_s) * (1 + rules.jitter * (2 * chance - 1))
        # Jitter never shortens the delay that the host asked for.
        delay_s = max(delay_s, min(rules.crawl_delay_s or 0.0, rules.max_delay_s))
        return replace(self, active=self.active + 1, next_at=now + delay_s)

    def finish(
        self,
        now: float,
        rules: PaceRules,
        *,
        status: int | None = None,
        latency_s: float | None = None,
        retry_after_s: float | None = None,
    ) -> "Pace":
        """Record the end of a request. Without a status, only the number of active requests changes."""
        pace = replace(self, active=max(0, self.active - 1))
        if status is None:
            return pace
        if latency_s is not None:
            pace = _with_latency(pace, latency_s)
        if status in _SUFFERS and retry_after_s is not None:
            wait_s = max(1.0, min(_MAX_RETRY_AFTER_S, retry_after_s))
            pace = replace(pace, blocked_until=max(pace.blocked_until, now + wait_s))
        if status in _SUFFERS or _is_straining(pace):
            return _slower(pace, now, rules)
        return _faster(pace, rules) if status < 500 else pace

    def document(self) -> dict[str, Any]:
        """Return the state that outlives the process, without active requests.

        Infinity becomes None, because JSON lacks it.
        """
        return {
            "allowed": _finite(self.allowed),
            "delay_s": self.delay_s,
            "next_at": self.next_at,
            "blocked_until": self.blocked_until,
            "slowed_at": _finite(self.slowed_at),
            "latency_s": self.latency_s,
            "best_latency_s": _finite(self.best_latency_s),
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> "Pace":
        stored = {name: value for name, value in document.items() if name in _STORED_FIELDS and value is not None}
        return Pace(**stored)


_STORED_FIELDS = frozenset(
    {"allowed", "delay_s", "next_at", "blocked_until", "slowed_at", "latency_s", "best_latency_s"}
)


def _is_straining(pace: Pace) -> bool:
    return pace.latency_s > max(_SLOW_S, _LATENCY_RISE * pace.best_latency_s)


def _with_latency(pace: Pace, latency_s: float) -> Pace:
    if pace.latency_s == 0.0:
        return replace(pace, latency_s=latency_s, best_latency_s=latency_s)
    mean_s = pace.latency_s + _LATENCY_WEIGHT * (latency_s - pace.latency_s)
    return replace(pace, latency_s=mean_s, best_latency_s=min(pace.best_latency_s * _BEST_FADES_BY, mean_s))


def _slower(pace: Pace, now: float, rules: PaceRules) -> Pace:
    if 0 <= now - pace.slowed_at < _SLOWS_EVERY_S:
        return pace
    current_s = max(pace.delay_s, rules.least_delay_s)
    return replace(
        pace,
        allowed=max(1.0, min(pace.allowed, rules.concurrency) / 2),
        delay_s=min(rules.max_delay_s, max(_FIRST_DELAY_S, 2 * current_s)),
        slowed_at=now,
    )


def _faster(pace: Pace, rules: PaceRules) -> Pace:
    if pace.delay_s == 0.0 and pace.allowed >= rules.concurrency:
        return pace  # the usual case
    delay_s = pace.delay_s * _DELAY_FADES_TO
    return replace(
        pace,
        allowed=min(float(rules.concurrency), pace.allowed + _SPEEDS_UP_BY),
        delay_s=delay_s if delay_s > max(0.01, rules.least_delay_s) else 0.0,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
