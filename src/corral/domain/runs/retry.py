"""Decide what happens to a run after an attempt. Pure: the decision is a value."""

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

# The problem of a field whose selector reached its time limit.
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
# Failures of a script, or of a handler of a Python program, that a retry may avoid.
_SCRIPT_RETRIED = frozenset({"exit", "signal", "protocol", "script", "records_file", "exception"})
_ESCALATED = frozenset({FailureCode.BLOCKED, FailureCode.RATE_LIMITED})
# A replay that fails like this is not repeated: the browser fetches the page. After RATE_LIMITED, the run waits first.
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
# Blocked without a valid login: a retry is useless until a person has logged in.
NEEDS_LOGIN = frozenset({"no_session", "session_expired"})
CAPTCHA = "captcha"
FIELDS_MISSING = "fields_missing"
# The details of failures that a person can help with: see OnTrouble.
HELD_FOR_PAGE = frozenset({CAPTCHA, FIELDS_MISSING})
# The browser crashed, perhaps because of another page: the first crash does not count against this one.
_BROWSER_CRASH = "browser_crash"
_POOL_PAUSE_S = 2.0  # longest pause: another proxy may be better at once


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    base_s: float = 10.0
    factor: float = 3.0
    cap_s: float = 300.0
    jitter: float = 0.2
    # The longest accepted Retry-After; a run that would have to wait longer fails.
    max_wait_s: float = 3600.0
    # The strategies of this installation: escalating to a missing browser would hide the real failure.
    offers: frozenset[Strategy] = frozenset(Strategy)


@dataclass(frozen=True, slots=True)
class Transition:
    """A transition of the state machine, with everything that is written with it."""

    action: RunAction
    events: tuple[EventDraft, ...]
    due_in_s: float = 0.0
    strategy: Strategy | None = None  # None keeps the current one
    failure: Failed | None = None
    stats: dict[str, Any] = field(default_factory=dict)
    records: tuple[dict[str, Any], ...] = ()
    details: tuple[dict[str, Any], ...] = ()  # of the records, in their order
    intervention: InterventionDraft | None = None  # what a person has to do before the run continues

    @property
    def to(self) -> RunState:
        return target(self.action)


def decide(run: Run, outcome: AttemptOutcome, policy: RetryPolicy, now: datetime) -> Transition:
    """Return the transition of a running run after this outcome, with the notices of the executor as events."""
    transition = _decide_outcome(run, outcome, policy, now)
    if transition.action is RunAction.FAIL and transition.failure is not None:
        transition = _keep_earlier_fields(run, transition.failure) or transition
    elif not transition.to.is_terminal:
        transition = replace(transition, stats={**transition.stats, **carry_fields(run, outcome)})
    noticed = _add_notices(outcome.stats)
    return replace(transition, events=(*noticed, *transition.events)) if noticed else transition


def _keep_earlier_fields(run: Run, failure: Failed) -> Transition | None:
    """Return a partial end with the fields that an earlier attempt found; None without such fields."""
    earlier = earlier_fields(run)
    if earlier is None:
        return None
    records, missing = earlier
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
    """Return the events for notices of an executor that do not change the state."""
    cut = stats.get("robots_truncated")
    return (EventDraft(EventKind.ROBOTS_TRUNCATED, cut),) if isinstance(cut, dict) else ()


def _decide_outcome(run: Run, outcome: AttemptOutcome, policy: RetryPolicy, now: datetime) -> Transition:
    if isinstance(outcome, Fetched):
        return _after_answer(run, outcome, policy, now)
    if outcome.code is FailureCode.BLOCKED and outcome.detail in NEEDS_LOGIN:
        return _hold(run, outcome, InterventionKind.LOGIN)
    if _is_stuck_at_captcha(run, outcome, policy):
        return _hold(run, outcome, InterventionKind.CAPTCHA)
    if _is_first_browser_crash(run, outcome) or _is_failed_by_proxy(run, outcome):
        return _release(run, outcome, policy)
    if _recipe_is_useless(run, outcome) and _can_escalate(run, policy):
        return _release_to_browser(run, outcome)
    if not _may_retry(run, outcome):
        return _fail(outcome)
    requested_s = parse_retry_after(outcome.retry_after, now)
    if requested_s is not None and requested_s > policy.max_wait_s:
        return _fail(outcome, retry_after_s=round(requested_s, 3))
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
    failure = _missing_failure(outcome)
    is_page = not outcome.stats.get("is_binary")
    if is_page and run.resolved_strategy is Strategy.API_REPLAY and _can_escalate(run, policy):
        return _release_to_browser(run, failure)
    may_escalate = failure.code is FailureCode.EXTRACTION and is_page and _can_escalate(run, policy)
    if run.attempt < run.max_attempts and may_escalate:
        return _retry(run, failure, policy, now, wait_s=None, escalates=True)
    if run.payload.read(PagePayload).on_missing is OnTrouble.WAIT:
        return _hold(run, failure, InterventionKind.MISSING_FIELD)
    has_values = any(is_filled(record) for record in outcome.records)
    if not has_values:
        return _fail(failure)
    # The problems of fields whose search was cut short, and the missing fields.
    problems = {**outcome.stats.get("problems", {}), "missing": list(outcome.missing)}
    return _complete_partly(outcome, failure, problems)


def _after_whole_answer(run: Run, outcome: Fetched, policy: RetryPolicy) -> Transition:
    unrun = flaw_of_scripts(run, outcome)
    if unrun is not None and _can_escalate(run, policy):
        return _release_to_browser(run, unrun)
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


def _missing_failure(outcome: Fetched) -> Failed:
    """Return the failure for missing fields.

    A selector that took too long here would do so in a browser, too, so that counts as a limit.
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
        return "not found: the answer is gzip data without a Content-Encoding header"
    if stats.get("is_binary"):
        return f"not found: the answer is not a page but {stats.get('content_type') or 'binary data'}"
    if stats.get("content_length") == 0:
        return f"not found: the target answered {stats.get('http_status')} with an empty body"
    return "not found on the page"


def _can_escalate(run: Run, policy: RetryPolicy) -> bool:
    return run.kind != SCRIPT and ESCALATES_TO.get(run.resolved_strategy) in policy.offers


def _recipe_is_useless(run: Run, failure: Failed) -> bool:
    """True if the browser may get the page although its replay failed, or had no recipe."""
    if run.resolved_strategy is not Strategy.API_REPLAY:
        return False
    if (failure.code, failure.detail) == (FailureCode.NETWORK, "proxy"):
        return False  # the browser would go through the same proxy
    return failure.code in _GIVES_UP_REPLAY or (failure.code, failure.detail) == (FailureCode.POLICY, "no_recipe")


def _release_to_browser(run: Run, failure: Failed) -> Transition:
    """Release the run for the browser at once. The attempt does not count: a cheaper strategy must not fail a run."""
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
    """Return whether a person has to pass the captcha: only after the browser, which may get through, was tried."""
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


def _is_first_browser_crash(run: Run, failure: Failed) -> bool:
    """True for the first crash of the browser; at the second one, the page counts as the cause."""
    if failure.code is not FailureCode.UNKNOWN or failure.detail != _BROWSER_CRASH:
        return False
    return all(entry.get("detail") != _BROWSER_CRASH for entry in run.attempts)


def _is_failed_by_proxy(run: Run, failure: Failed) -> bool:
    return may_try_proxy_again(failure, _count_proxy_faults(run), run.max_attempts)


def _count_proxy_faults(run: Run) -> int:
    return sum(1 for entry in run.attempts if entry.get("detail") in ("proxy", "no_proxy"))


def _release(run: Run, failure: Failed, policy: RetryPolicy) -> Transition:
    """Release the run: at once after a crash of the browser, later if proxies were the cause."""
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
    """Return the policy of a run: steps of a workflow wait 1, 2, 4, 8 … seconds; a scraper may set its backoff."""
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
    if "output" in failure.stats:  # the end of the output of a script
        meta["output"] = failure.stats["output"]
    return meta


def backoff_s(policy: RetryPolicy, attempt: int, *, seed: str) -> float:
    """Return `min(cap, base·factor^(attempt-1))`, spread by the jitter; the seed makes it repeatable."""
    # The exponent is bounded because a float power overflows long before attempts run out.
    plain_s = min(policy.cap_s, policy.base_s * policy.factor ** min(attempt - 1, 64))
    digest = hashlib.blake2b(f"{seed}:{attempt}".encode(), digest_size=8).digest()
    unit = int.from_bytes(digest, "big") / 2**64
    return plain_s * (1 + policy.jitter * (2 * unit - 1))
