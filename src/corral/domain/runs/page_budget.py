"""The budget of a run that fetches one page. It limits all attempts together."""

from typing import Any

from corral.domain.cost.spent import Spent, find_exceeded, run_spent
from corral.domain.jobs.job import Strategy
from corral.domain.runs.completeness.found_before import earlier_fields
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import PAGE, Run, RunAction

# No page answers faster: an attempt with less time left would only fail.
_LEAST_S = 0.1
DETAIL = "budget"


def limit_attempt_s(run: Run, timeout_s: float) -> float:
    """Return the time limit of the next attempt: at most what the budget of the run has left."""
    if run.kind != PAGE or (budget := run.payload.read(PagePayload).budget).is_empty:
        return timeout_s
    spent = run_spent(run.attempts)
    limits_s = [timeout_s]
    if budget.seconds is not None:
        limits_s.append(budget.seconds - spent.took_ms / 1000)
    if budget.browser_seconds is not None and run.resolved_strategy is Strategy.BROWSER:
        limits_s.append(budget.browser_seconds - spent.browser_ms / 1000)
    return max(_LEAST_S, min(limits_s))


def stop_by_budget(run: Run, transition: Transition, attempt: Spent) -> Transition:
    """Return the transition, or the end of the run as partial if its budget allows no further attempt.

    `attempt` is what the attempt used that has just ended.
    """
    is_next = transition.action in (RunAction.RETRY, RunAction.RELEASE)
    if not is_next or run.kind != PAGE:
        return transition
    limit = _find_limit(run, run_spent(run.attempts).plus(attempt))
    if limit is None:
        return transition
    rule = f"budget.{limit}"
    last = transition.failure.message if transition.failure is not None else ""
    failure = Failed(FailureCode.LIMIT, f"stopped by {rule}; the last attempt: {last}", DETAIL)
    problems: dict[str, Any] = {"left_out": {rule: 1}, "last_attempt": last}
    # An earlier attempt may have found some of the fields.
    records, missing = earlier_fields(run._replace(stats=transition.stats)) or ((), [])
    if missing:
        problems["missing"] = missing
    stats = {**transition.stats, "budget": rule, "left_out": {rule: 1}, "problems": problems}
    event = EventDraft(EventKind.PARTIAL, {"stats": stats, "problems": problems, "error_message": failure.message})
    return Transition(RunAction.COMPLETE_PARTLY, (event,), failure=failure, stats=stats, records=records)


def _find_limit(run: Run, spent: Spent) -> str | None:
    payload = run.payload.read(PagePayload)
    budget = payload.budget
    if budget.seconds is not None and spent.took_ms / 1000 > budget.seconds - _LEAST_S:
        return "seconds"
    if budget.browser_seconds is not None and spent.browser_ms / 1000 > budget.browser_seconds - _LEAST_S:
        return "browser_seconds"
    return find_exceeded(budget, payload.prices, spent)
