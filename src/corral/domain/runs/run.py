"""One execution of a job, and the state machine of runs."""

from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from corral.domain.errors import WrongState
from corral.domain.ids import Owner, RunId
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.stored import Payload
from corral.domain.sites.session import SealedSession


class RunState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    HELD = "held"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


TERMINAL = frozenset({RunState.COMPLETED, RunState.PARTIAL, RunState.FAILED, RunState.CANCELLED})
LIVE = frozenset(RunState) - TERMINAL


class HoldReason(StrEnum):
    PAUSED = "paused"  # by a person, until a person resumes it
    WAITING_FOR_HUMAN = "waiting_for_human"  # captcha, login
    QUARANTINED = "quarantined"  # it killed too many workers; a person decides


# A caller that waits for the end of such a run can stop waiting: a person has to act first.
WAITS_FOR_PERSON = frozenset({HoldReason.WAITING_FOR_HUMAN, HoldReason.QUARANTINED})


class RunAction(StrEnum):
    """The actions that change the state of a run."""

    CLAIM = "claim"
    COMPLETE = "complete"
    COMPLETE_PARTLY = "complete_partly"
    FAIL = "fail"
    RETRY = "retry"  # counts an attempt
    RELEASE = "release"  # does not
    HOLD = "hold"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


_EDGES: dict[RunAction, tuple[frozenset[RunState], RunState]] = {
    RunAction.CLAIM: (frozenset({RunState.QUEUED}), RunState.RUNNING),
    RunAction.COMPLETE: (frozenset({RunState.RUNNING}), RunState.COMPLETED),
    RunAction.COMPLETE_PARTLY: (frozenset({RunState.RUNNING}), RunState.PARTIAL),
    RunAction.FAIL: (frozenset({RunState.RUNNING}), RunState.FAILED),
    RunAction.RETRY: (frozenset({RunState.RUNNING}), RunState.QUEUED),
    RunAction.RELEASE: (frozenset({RunState.RUNNING}), RunState.QUEUED),
    RunAction.HOLD: (frozenset({RunState.RUNNING}), RunState.HELD),
    RunAction.PAUSE: (frozenset({RunState.QUEUED, RunState.RUNNING}), RunState.HELD),
    RunAction.RESUME: (frozenset({RunState.HELD}), RunState.QUEUED),
    RunAction.CANCEL: (frozenset({RunState.QUEUED, RunState.RUNNING, RunState.HELD}), RunState.CANCELLED),
}


def sources(action: RunAction) -> frozenset[RunState]:
    """Return the states from which this action is allowed: the guard of its UPDATE."""
    return _EDGES[action][0]


def target(action: RunAction) -> RunState:
    return _EDGES[action][1]


def spoken(state: str, hold: str | None) -> str:
    """Return the public name of a state: a held run is named by its hold reason."""
    if state != RunState.HELD.value:
        return state
    # The failure code and the intervention show that a run is quarantined.
    return HoldReason.WAITING_FOR_HUMAN.value if hold in WAITS_FOR_PERSON else HoldReason.PAUSED.value


def advance(state: RunState, action: RunAction, hold: HoldReason | None = None) -> RunState:
    """Return the state after the action; raise WrongState if the table has no such edge."""
    allowed, to = _EDGES[action]
    if state not in allowed:
        raise WrongState(action.value.replace("_", " "), spoken(state, hold), terminal=state.is_terminal)
    return to


class NewRun(NamedTuple):
    """A run about to be written."""

    id: RunId
    job_id: str | None
    kind: str
    priority: Priority
    max_attempts: int
    requested_strategy: Strategy
    resolved_strategy: Strategy
    payload: Payload
    retry_of: RunId | None = None
    parent_id: RunId | None = None


class Run(NamedTuple):
    """A run as read from the database. A tuple, because creating a frozen dataclass takes six times as long."""

    id: RunId
    job_id: str | None
    kind: str
    state: RunState
    priority: Priority
    attempt: int
    max_attempts: int
    requested_strategy: Strategy
    resolved_strategy: Strategy
    payload: Payload
    epoch: int
    losses: int
    suspect: int  # a domain.runs.loss.Suspicion: how far apart from others it is executed
    due_at: datetime
    created_at: datetime
    stats: dict[str, Any]
    hold_reason: HoldReason | None = None
    owner: Owner | None = None
    lease_until: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    failure_code: str | None = None
    failure_detail: str | None = None
    error_message: str | None = None
    attempts: tuple[dict[str, Any], ...] = ()
    retry_of: RunId | None = None
    parent_id: RunId | None = None
    waiting_reason: str | None = None  # queued, because its host must not be requested yet
    interruptions: int = 0  # in a row: workers and nodes that ended while they held it, without its fault
    host_key: str | None = None  # the host that it fetches from, if it is a single one


PAGE = "page"
SURVEY = "survey"
SELFTEST = "selftest"
SCRIPT = "script"  # the kind of a run that executes a script
DATASET = "dataset"  # the kind of a run that builds an image dataset
RECONCILE = "reconcile"  # the kind of a run that compares expected keys with inventories
WORKFLOW = "workflow"  # a run whose children are its steps; no worker executes it
EXPORT = "export"  # writes records of runs to a file
DRAIN = "drain"  # waits until the queue of scraper tasks has no work left
WEBHOOK = "webhook"  # sends a document to a URL
LOCAL = "local"  # a step that a Python program executes itself; no node claims it
PROXY_REFRESH = "proxy_refresh"  # reads the sources of proxies and starts the checks
PROXY_CHECK = "proxy_check"  # checks a chunk of the proxy pool
CRAWL = "crawl"  # the kind of a run with items that are URLs
CRAWL_HELPER = "crawl_helper"  # a run that reads pages of its parent, a crawl
ALERT = "alert"  # the kind of a run that delivers an alert
WITH_ITEMS = frozenset({CRAWL, CRAWL_HELPER})
KIND_ALIASES: dict[str, str] = {"share": CRAWL_HELPER, "drill": SELFTEST}  # kinds as older versions wrote them


class Lanes(NamedTuple):
    """How many runs of each lane may be claimed; None is no limit."""

    browsers: int | None = None
    crawls: int | None = None
    light: int | None = None
    scripts: int | None = None
    suspects: int | None = None  # 0: the isolation worker is not free


EVERY_LANE = Lanes()

# A script has five seconds to end after its signal; then it is killed, which takes a moment, too.
_SCRIPT_STOPS_IN_S = 7.0
# The keeper counts the time of a script from its start, and the first script of a worker waits for the script host.
_SCRIPT_STARTS_IN_S = 15.0


def start_margin_s(kind: str) -> float:
    """Return how long a run of this kind may take until its own time limit begins."""
    return _SCRIPT_STARTS_IN_S if kind == SCRIPT else 0.0


def stop_margin_s(kind: str) -> float:
    """Return how long a run of this kind may take to stop after its time limit or a cancel."""
    return _SCRIPT_STOPS_IN_S if kind == SCRIPT else 0.0


class Lease(NamedTuple):
    """The right to execute a run until a time. Its epoch rises with each claim and fences every later write."""

    run: Run
    owner: Owner
    session: SealedSession | None = None  # of the job, if the run needs one
    seq: int = 0  # the number of the run's last event when it was claimed

    @property
    def run_id(self) -> RunId:
        return self.run.id

    @property
    def epoch(self) -> int:
        return self.run.epoch

    @property
    def key(self) -> tuple[str, int]:
        return (self.run.id, self.run.epoch)

    @property
    def login(self) -> SealedSession | None:
        """Return the session of the job, or the run's own if it has no job."""
        return self.session or self.run.payload.read(CommonPayload).login

    @property
    def kids(self) -> set[str]:
        """Return the ids of the vault keys that its worker needs."""
        payload, session = self.run.payload.read(CommonPayload), self.login
        proxy = payload.proxy
        sealed = [session.kid if session else None, proxy.kid if proxy else None, payload.secret_kid]
        return {kid for kid in sealed if kid is not None}
