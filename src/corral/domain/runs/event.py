"""Events: the history of a run. Each kind names the transition that it records; `fold` replays them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from corral.domain.runs.code_aliases import EVENT_KINDS
from corral.domain.runs.run import RunState


class EventKind(StrEnum):
    CREATED = "created"  # -> queued
    STARTED = "started"  # queued -> running
    COMPLETED = "completed"  # running -> completed
    PARTIAL = "partial"  # running -> partial
    FAILED = "failed"  # running -> failed
    ESCALATED = "escalated"  # with RETRY_SCHEDULED or RELEASED: the strategy changed
    RETRY_SCHEDULED = "retry_scheduled"  # running -> queued, one attempt more
    CANCELLED = "cancelled"  # queued, running, held -> cancelled
    PAUSED = "paused"  # queued, running -> held
    WAITING = "waiting"  # running -> held, for a person
    RESUMED = "resumed"  # held -> queued
    RELEASED = "released"  # running -> queued, the attempt does not count
    HOST_DEFERRED = "host_deferred"  # running -> queued, the attempt does not count: the host limiter deferred it
    WORKER_LOST = "worker_lost"  # running -> queued, the attempt does not count: the run may have caused it
    INTERRUPTED = "interrupted"  # running -> queued, nothing counts: its worker or node was killed or vanished
    QUARANTINED = "quarantined"  # running -> held, for a person: it killed too many workers
    STALE_WRITE_REFUSED = "stale_write_refused"  # nothing changed: a process without the lease tried to write
    SLOTS_MISSED = "slots_missed"  # with CREATED: schedule slots that passed while no node ran
    PROBED = "probed"  # with CREATED: why AUTO chose its strategy
    ROBOTS_TRUNCATED = "robots_truncated"  # nothing changed: robots.txt was read up to its first 500 KiB
    TLS_UNVERIFIED = "tls_unverified"  # with CREATED: the job accepts every certificate
    RECIPE_RECORDED = "recipe_recorded"  # with COMPLETED, PARTIAL: later runs may need no browser
    DATA_VERDICT = "data_verdict"  # with PARTIAL or FAILED: the data is worse than that of earlier runs
    KEY_PROBLEMS = "key_problems"  # with COMPLETED, PARTIAL: rows share a record key, or lack it
    DATA_ACCEPTED = "data_accepted"  # nothing changed: a person accepted the data in spite of its verdict
    HELPER_JOINED = "helper_joined"  # nothing changed: another worker shares the crawl
    HELPER_LEFT = "helper_left"  # nothing changed: its hosts return to the crawl

    @classmethod
    def _missing_(cls, value: object) -> "EventKind | None":
        current = EVENT_KINDS.get(str(value))
        return None if current is None else cls(current)


_MESSAGES = {
    EventKind.CREATED: ("info", "Run created"),
    EventKind.STARTED: ("info", "Run started"),
    EventKind.COMPLETED: ("info", "Run completed"),
    EventKind.PARTIAL: ("warn", "Run partially completed"),
    EventKind.FAILED: ("error", "Run failed"),
    EventKind.ESCALATED: ("warn", "Strategy escalated"),
    EventKind.RETRY_SCHEDULED: ("warn", "Retry scheduled"),
    EventKind.CANCELLED: ("warn", "Run cancelled"),
    EventKind.PAUSED: ("info", "Run paused"),
    EventKind.WAITING: ("warn", "Run waits for a person"),
    EventKind.RESUMED: ("info", "Run resumed"),
    EventKind.RELEASED: ("info", "Run released"),
    EventKind.HOST_DEFERRED: ("info", "Run waits for its host"),
    EventKind.WORKER_LOST: ("warn", "Worker lost"),
    EventKind.INTERRUPTED: ("info", "Run interrupted"),
    EventKind.QUARANTINED: ("error", "Run quarantined"),
    EventKind.STALE_WRITE_REFUSED: ("warn", "Stale write refused"),
    EventKind.SLOTS_MISSED: ("warn", "Schedule slots missed"),
    EventKind.PROBED: ("info", "Target probed"),
    EventKind.ROBOTS_TRUNCATED: ("warn", "robots.txt truncated"),
    EventKind.TLS_UNVERIFIED: ("warn", "Certificates are not verified"),
    EventKind.RECIPE_RECORDED: ("info", "Recipe recorded"),
    EventKind.DATA_VERDICT: ("warn", "Data verdict"),
    EventKind.KEY_PROBLEMS: ("warn", "Record keys are missing or doubled"),
    EventKind.DATA_ACCEPTED: ("info", "Data accepted"),
    EventKind.HELPER_JOINED: ("info", "Helper joined"),
    EventKind.HELPER_LEFT: ("info", "Helper left"),
}

_LEADS_TO = {
    EventKind.CREATED: RunState.QUEUED,
    EventKind.STARTED: RunState.RUNNING,
    EventKind.COMPLETED: RunState.COMPLETED,
    EventKind.PARTIAL: RunState.PARTIAL,
    EventKind.FAILED: RunState.FAILED,
    EventKind.RETRY_SCHEDULED: RunState.QUEUED,
    EventKind.CANCELLED: RunState.CANCELLED,
    EventKind.PAUSED: RunState.HELD,
    EventKind.WAITING: RunState.HELD,
    EventKind.RESUMED: RunState.QUEUED,
    EventKind.RELEASED: RunState.QUEUED,
    EventKind.HOST_DEFERRED: RunState.QUEUED,
    EventKind.WORKER_LOST: RunState.QUEUED,
    EventKind.INTERRUPTED: RunState.QUEUED,
    EventKind.QUARANTINED: RunState.HELD,
}


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event that has not been numbered yet."""

    kind: EventKind
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    position: int  # order over all runs
    run_id: str
    seq: int  # order within the run, from 1, without gaps
    kind: EventKind
    meta: dict[str, Any]
    created_at: datetime

    @property
    def level(self) -> str:
        return _MESSAGES[self.kind][0]

    @property
    def message(self) -> str:
        return _MESSAGES[self.kind][1]

    @property
    def is_last(self) -> bool:
        """True for the event after which the run never changes again."""
        state = _LEADS_TO.get(self.kind)
        return state is not None and state.is_terminal


def fold(kinds: Iterable[EventKind]) -> RunState | None:
    """Return the state that a history leads to. It must equal the state of the row."""
    state: RunState | None = None
    for kind in kinds:
        state = _LEADS_TO.get(kind, state)
    return state
