"""What happens to a run after an attempt: one pure decision, returned as a value."""

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from corral.domain.jobs.job import OnTrouble, Strategy
from corral.domain.net.retry_after import parse_retry_after, retry_after_s
from corral.domain.redaction import redact
from corral.domain.runs.completeness.flaws import flaw_of
from corral.domain.runs.completeness.found_before import carry_fields, earlier_fields, is_filled
from corral.domain.runs.completeness.script_content import flaw_of_scripts
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.intervention import InterventionDraft, InterventionKind
from corral.domain.runs.outcome import AttemptOutcome, Failed, FailureCode, Fetched, is_proxy_fault, may_try_proxy_again
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.payload.script import ScriptPayload
from corral.domain.runs.run import LOCAL, SCRIPT, Run, RunAction, RunState, target

# What the problems of an answer say of a field whose selector was cut off.
TOO_SLOW = "limit:selector"
ESCALATES_TO = {Strategy.HTTP: Strategy.BROWSER, Strategy.API_REPLAY: Strategy.BROWSER}

# Codes after which the same request may well succeed.
RETRIED = frozenset(
    {
        FailureCode.BLOCKED,
        FailureCode.RATE_LIMITED,
        FailureCode.TIMEOUT,
        FailureCode.NETWORK,
        FailureCode.UNKNOWN,
    }
)
# What a script, or a handler of a Python program, may do better the next time.
_SCRIPT_RETRIED = frozenset({"exit", "signal", "protocol", "script", "records_file", "exception"})
_ESCALATED = frozenset({FailureCode.BLOCKED, FailureCode.RATE_LIMITED})
# A replay that ends so is not repeated: the browser gets the page. Where the host asks for patience it gets it.
_GIVES_UP_REPLAY = frozenset(
    {
        FailureCode.BLOCKED,
        FailureCode.BAD_RESPONSE,
        FailureCode.EXTRACTION,
        FailureCode.LIMIT,
        FailureCode.NETWORK,
        FailureCode.TIMEOUT,
    }
)
# Blocked for want of a login: trying again changes nothing until a person has logged in.
NEEDS_LOGIN = frozenset({"no_session", "session_expired"})
CAPTCHA = "captcha"
FIELDS_MISSING = "fields_missing"
# The details of failures that a person can help with: see OnTrouble.
HELD_FOR_PAGE = frozenset({CAPTCHA, FIELDS_MISSING})
# Its browser ended under it, by itself or by another page: that says little about this one.
_BROWSER_CRASH = "browser_crash"
_POOL_PAUSE_S = 2.0  # longest pause: another proxy may be better at once


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    base_s: float = 10.0
    factor: float = 3.0
    cap_s: float = 300.0
    jitter: float = 0.2
    # The longest accepted Retry-After; a run that is told to wait longer fails with that reason.
    max_wait_s: float = 3600.0
    # The strategies of this installation: escalating to a missing browser would hide the real failure.
    offers: frozenset[Strategy] = frozenset(Strategy)


@dataclass(frozen=True, slots=True)
class Transition:
    """A move of the state machine with all that has to be written beside it."""

    action: RunAction
    events: tuple[EventDraft, ...]
    due_in_s: float = 0.0
    strategy: Strategy | None = None  # None keeps the one it has
    failure: Failed | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    records: tuple[dict[str, Any], ...] = ()
    details: tuple[dict[str, Any], ...] = ()  # of the records, in their order
    intervention: InterventionDraft | None = None  # what a person has to do before it goes on

    @property
    def to(self) -> RunState:
        return target(self.action)


def decide(run: Run, outcome: AttemptOutcome, policy: RetryPolicy, now: datetime) -> Transition:
    """The transition a running run makes after this outcome, with what was noticed on the way."""
    transition = _decide_outcome(run, outcome, policy, now)
    if transition.action is RunAction.FAIL and transition.failure is not None:
        transition = _with_what_was_found(run, transition.failure) or transition
    elif not transition.to.is_terminal:
        transition = replace(transition, stats={**transition.stats, **carry_fields(run, outcome)})
    noticed = _add_notices(outcome.stats)
    return replace(transition, events=(*noticed, *transition.events)) if noticed else transition


def _with_what_was_found(run: Run, failure: Failed) -> Transition | None:
    """A run whose browser failed, or did not even start, keeps the fields that an attempt before it found."""
    found = earlier_fields(run)
    if found is None:
        return None
    records, missing = found
    problems = {**failure.stats.get("problems", {}), "missing": missing, "last_attempt": failure.message}
    stats = {**failure.stats, "problems": problems}
    return Transition(
        action=RunAction.COMPLETE_PARTLY,
        events=(EventDraft(EventKind.PARTIAL, {"stats": stats, "problems": problems, **_describe_attempt(failure)}),),
        failure=failure,
        stats=stats,
        records=records,
    )


def _add_notices(stats: dict[str, Any]) -> tuple[EventDraft, ...]:
    """What an executor has to say that changes nothing."""
    cut = stats.get("robots_truncated")
    return (EventDraft(EventKind.ROBOTS_TRUNCATED, cut),) if isinstance(cut, dict) else ()


def _decide_outcome(run: Run, outcome: AttemptOutcome, policy: RetryPolicy, now: datetime) -> Transition:
    if isinstance(outcome, Fetched):
        return _after_answer(run, outcome, policy, now)
    if outcome.code is FailureCode.BLOCKED and outcome.detail in NEEDS_LOGIN:
        return _hold(run, outcome, InterventionKind.LOGIN)
    if _is_stuck_at_captcha(run, outcome, policy):
        return _hold(run, outcome, InterventionKind.CAPTCHA)
    if _fell_with_its_browser(run, outcome) or _is_failed_by_proxy(run, outcome):
        return _give_back(run, outcome, policy)
    if _recipe_is_useless(run, outcome) and _can_escalate(run, policy):
        return _give_to_the_browser(run, outcome)
    if not _may_retry(run, outcome):
        return _fail(outcome)
    told_s = parse_retry_after(outcome.retry_after, now)
    if told_s is not None and told_s > policy.max_wait_s:
        return _fail(outcome, retry_after_s=round(told_s, 3))
    wait_s = retry_after_s(outcome.retry_after, now)
    escalates = outcome.code in _ESCALATED and _can_escalate(run, policy)
    return _retry(run, outcome, policy, now, wait_s=wait_s, escalates=escalates)


def _after_answer(run: Run, outcome: Fetched, policy: RetryPolicy, now: datetime) -> Transition:
    if outcome.problems:
        return Transition(
            action=RunAction.COMPLETE_PARTLY,
            events=(EventDraft(EventKind.PARTIAL, {"stats": outcome.stats, "problems": outcome.problems}),),
            failure=outcome.flaw,
            stats={**outcome.stats, "problems": outcome.problems},
            records=outcome.records,
        )
    if not outcome.missing:
        return _after_whole_answer(run, outcome, policy)
    failure = _of_missing(outcome)
    is_page = not outcome.stats.get("is_binary")
    if is_page and run.resolved_strategy is Strategy.API_REPLAY and _can_escalate(run, policy):
        return _give_to_the_browser(run, failure)
    may_escalate = failure.code is FailureCode.EXTRACTION and is_page and _can_escalate(run, policy)
    if run.attempt < run.max_attempts and may_escalate:
        return _retry(run, failure, policy, now, wait_s=None, escalates=True)
    if run.payload.read(PagePayload).on_missing is OnTrouble.WAIT:
        return _hold(run, failure, InterventionKind.MISSING_FIELD)
    found = any(is_filled(record) for record in outcome.records)
    if not found:
        return _fail(failure)
    # By field, why it was not looked for to the end; and what is not there.
    problems = {**outcome.stats.get("problems", {}), "missing": list(outcome.missing)}
    return _complete_partly(outcome, failure, problems)


def _after_whole_answer(run: Run, outcome: Fetched, policy: RetryPolicy) -> Transition:
    unrun = flaw_of_scripts(run, outcome)
    if unrun is not None and _can_escalate(run, policy):
        return _give_to_the_browser(run, unrun)
    if (flaw := unrun or flaw_of(outcome)) is not None:
        return _complete_partly(outcome, flaw, outcome.stats.get("problems", {}))
    return Transition(
        action=RunAction.COMPLETE,
        events=(EventDraft(EventKind.COMPLETED, {"stats": outcome.stats}),),
        stats=outcome.stats,
        records=outcome.records,
        details=outcome.details,
    )


def _complete_partly(outcome: Fetched, failure: Failed, problems: dict[str, Any]) -> Transition:
    return Transition(
        action=RunAction.COMPLETE_PARTLY,
        events=(EventDraft(EventKind.PARTIAL, {"stats": outcome.stats, "problems": problems}),),
        failure=failure,
        stats={**outcome.stats, "problems": problems},
        records=outcome.records,
        details=outcome.details,
    )


def _of_missing(outcome: Fetched) -> Failed:
    """Not there, or there is no knowing: a selector that takes too long here will do so in a browser, too.

    Of what is no page a browser finds nothing either; it would only refuse the download.
    """
    problems = outcome.stats.get("problems", {})
    names = ", ".join(outcome.missing)
    if all(problems.get(name) == TOO_SLOW for name in outcome.missing):
        message = f"the selector or pattern takes too long on this page: {names}"
        return Failed(FailureCode.LIMIT, message, "selector", stats=outcome.stats)
    return Failed(
        FailureCode.EXTRACTION, f"{_why_missing(outcome.stats)}: {names}", FIELDS_MISSING, stats=outcome.stats
    )


def _why_missing(stats: dict[str, Any]) -> str:
    if stats.get("is_packed"):
        return "not found, because the answer is packed with gzip and does not say so"
    if stats.get("is_binary"):
        return f"not found, because it is no page but {stats.get('content_type') or 'binary data'}"
    if stats.get("content_length") == 0:
        return f"not found, because the target answered {stats.get('http_status')} with nothing at all"
    return "not found on the page"


def _can_escalate(run: Run, policy: RetryPolicy) -> bool:
    return run.kind != SCRIPT and ESCALATES_TO.get(run.resolved_strategy) in policy.offers


def _recipe_is_useless(run: Run, failure: Failed) -> bool:
    """True where the page may be had although its replay failed, or could not be tried for want of a recipe."""
    if run.resolved_strategy is not Strategy.API_REPLAY:
        return False
    if (failure.code, failure.detail) == (FailureCode.NETWORK, "proxy"):
        return False  # the browser would go through the same proxy
    return failure.code in _GIVES_UP_REPLAY or (failure.code, failure.detail) == (FailureCode.POLICY, "no_recipe")


def _give_to_the_browser(run: Run, failure: Failed) -> Transition:
    """At once, and the attempt is not counted: a run does not fail for what was tried to spare the browser."""
    to = ESCALATES_TO[run.resolved_strategy]
    return Transition(
        action=RunAction.RELEASE,
        events=(
            EventDraft(EventKind.ESCALATED, {"from": run.resolved_strategy.value, "to": to.value}),
            EventDraft(EventKind.RELEASED, {"reason": failure.detail, **_describe_attempt(failure)}),
        ),
        strategy=to,
        failure=failure,
        stats=failure.stats,
    )


def _may_retry(run: Run, failure: Failed) -> bool:
    if run.attempt >= run.max_attempts or is_proxy_fault(failure):
        return False
    if run.kind in (SCRIPT, LOCAL) and failure.code is FailureCode.BAD_RESPONSE:
        return failure.detail in _SCRIPT_RETRIED or (failure.detail or "").startswith("http_5")
    if failure.code is FailureCode.BAD_RESPONSE:
        return failure.http_status is not None and failure.http_status >= 500
    return failure.code in RETRIED


def _is_stuck_at_captcha(run: Run, failure: Failed, policy: RetryPolicy) -> bool:
    """A browser may be let through where plain HTTP is not, so the person is asked after the browser was tried."""
    if failure.code is not FailureCode.BLOCKED or failure.detail != CAPTCHA:
        return False
    if run.payload.read(PagePayload).on_captcha is not OnTrouble.WAIT:
        return False
    return run.attempt >= run.max_attempts or not _can_escalate(run, policy)


def _hold(run: Run, failure: Failed, kind: InterventionKind) -> Transition:
    url = run.payload.read(CommonPayload).url
    return Transition(
        action=RunAction.HOLD,
        events=(EventDraft(EventKind.WAITING, {"kind": kind.value, **_describe_attempt(failure)}),),
        failure=failure,
        stats=failure.stats,
        intervention=InterventionDraft(kind, failure.message, redact(url) if url else None),
    )


def _fell_with_its_browser(run: Run, failure: Failed) -> bool:
    """True the first time; a page whose browser falls again is taken for the reason."""
    if failure.code is not FailureCode.UNKNOWN or failure.detail != _BROWSER_CRASH:
        return False
    return all(entry.get("detail") != _BROWSER_CRASH for entry in run.attempts)


def _is_failed_by_proxy(run: Run, failure: Failed) -> bool:
    return may_try_proxy_again(failure, _count_proxy_faults(run), run.max_attempts)


def _count_proxy_faults(run: Run) -> int:
    return sum(1 for entry in run.attempts if entry.get("detail") in ("proxy", "no_proxy"))


def _give_back(run: Run, failure: Failed, policy: RetryPolicy) -> Transition:
    """At once after a crash of the browser; later where proxies were the cause."""
    due_in_s = 0.0
    if failure.detail != _BROWSER_CRASH:
        pause_s = backoff_s(policy, _count_proxy_faults(run) + 1, seed=run.id)
        has_others = failure.detail == "proxy" and "pool_tries" in failure.stats
        due_in_s = min(_POOL_PAUSE_S, pause_s) if has_others else pause_s
    return Transition(
        action=RunAction.RELEASE,
        events=(EventDraft(EventKind.RELEASED, {"reason": failure.detail, **_describe_attempt(failure)}),),
        due_in_s=due_in_s,
        failure=failure,
        stats=failure.stats,
    )


def _fail(failure: Failed, **more: Any) -> Transition:
    return Transition(
        action=RunAction.FAIL,
        events=(EventDraft(EventKind.FAILED, {**_describe_attempt(failure), **more}),),
        failure=failure,
        stats={**failure.stats, **more},
        records=failure.records,
    )


def _retry(
    run: Run, failure: Failed, policy: RetryPolicy, now: datetime, *, wait_s: float | None, escalates: bool
) -> Transition:
    delay_s = wait_s if wait_s is not None else backoff_s(_policy_of(run, policy), run.attempt, seed=run.id)
    events = []
    strategy = ESCALATES_TO[run.resolved_strategy] if escalates else None
    if strategy is not None:
        events.append(EventDraft(EventKind.ESCALATED, {"from": run.resolved_strategy.value, "to": strategy.value}))
    due_at = now + timedelta(seconds=delay_s)
    meta = {
        "attempt": run.attempt + 1,
        "delay_s": round(delay_s, 3),
        "due_at": due_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **_describe_attempt(failure),
    }
    events.append(EventDraft(EventKind.RETRY_SCHEDULED, meta))
    return Transition(
        action=RunAction.RETRY,
        events=tuple(events),
        due_in_s=delay_s,
        strategy=strategy,
        failure=failure,
        stats=failure.stats,
    )


def _policy_of(run: Run, policy: RetryPolicy) -> RetryPolicy:
    """A step of a workflow waits 1, 2, 4, 8 … seconds; a scraper may have a backoff of its own."""
    if run.parent_id is not None:
        return replace(policy, base_s=1.0, factor=2.0, jitter=0.0)
    if run.kind != SCRIPT:
        return policy
    payload = run.payload.read(ScriptPayload)
    return replace(policy, base_s=payload.retry_base_s or policy.base_s, cap_s=payload.retry_cap_s or policy.cap_s)


def _describe_attempt(failure: Failed) -> dict[str, Any]:
    meta: dict[str, Any] = {"failure_code": failure.code.value, "error_message": failure.message}
    if failure.detail:
        meta["failure_detail"] = failure.detail
    if failure.traceback:
        meta["traceback"] = failure.traceback
    if "output" in failure.stats:  # of a script: the end of what it printed
        meta["output"] = failure.stats["output"]
    return meta


def backoff_s(policy: RetryPolicy, attempt: int, *, seed: str) -> float:
    """`min(cap, base·factor^(attempt-1))`, spread by the jitter; the seed makes it repeatable."""
    # The exponent is bounded because a float power overflows long before attempts run out.
    plain_s = min(policy.cap_s, policy.base_s * policy.factor ** min(attempt - 1, 64))
    digest = hashlib.blake2b(f"{seed}:{attempt}".encode(), digest_size=8).digest()
    unit = int.from_bytes(digest, "big") / 2**64
    return plain_s * (1 + policy.jitter * (2 * unit - 1))
