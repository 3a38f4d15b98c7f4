"""Execute one attempt in the worker, and redact its outcome."""

import asyncio
import traceback
from dataclasses import replace
from datetime import datetime
from typing import Any

from corral.domain.cost.spent import SPENT, attempt_spent
from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.jobs.job import Strategy
from corral.domain.ports.execution import FrontierClient, RunKind, Task
from corral.domain.quality.run_profile import ObservedData
from corral.domain.redaction import redact, redact_nested
from corral.domain.runs.outcome import AttemptOutcome, Deferred, Failed, FailureCode, Outcome
from corral.domain.runs.page_budget import stop_by_budget
from corral.domain.runs.retry import RetryPolicy, decide
from corral.domain.runs.run import Lease, stop_margin_s
from corral.domain.runs.settlement import Settlement
from corral.domain.verdicts.page_profile import observe_page

_MAX_TRACEBACK = 8192
# Executors enforce the limit themselves, and know what used the time.
_MARGIN_S = 0.5


class _NoFrontier:
    async def step(self, report: BatchReport) -> Batch:
        raise RuntimeError(f"this process has no frontier for a run with items ({len(report.ended)} of them ended)")

    def notify(self, progress: dict[str, Any]) -> None:
        pass

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ARG002 - the signature of the port
        raise RuntimeError(f"this process has no node that could answer {name}")


_NO_FRONTIER = _NoFrontier()


async def perform(task: Task, kinds: dict[str, RunKind], frontier: FrontierClient = _NO_FRONTIER) -> Outcome:
    """Execute the task within its time limit. A bug of ours becomes an outcome, too."""
    kind = kinds.get(task.kind)
    if kind is None:
        available = ", ".join(sorted(kinds))
        return Failed(FailureCode.POLICY, f"no way to execute runs of kind {task.kind!r}; known: {available}", "kind")
    try:
        async with asyncio.timeout(task.timeout_s + _MARGIN_S + stop_margin_s(task.kind)):
            return redact_outcome(await kind.perform(task, frontier))
    except TimeoutError:
        return Failed(FailureCode.TIMEOUT, f"not done after {task.timeout_s:g} s", "total")
    except Exception as error:  # noqa: BLE001 - the one place where our own bug becomes an outcome
        text = "".join(traceback.format_exception(error))
        message = f"{type(error).__name__}: {error}"[:2000]
        return redact_outcome(Failed(FailureCode.UNKNOWN, message, "bug", traceback=text[-_MAX_TRACEBACK:]))


def redact_outcome(outcome: Outcome) -> Outcome:
    """Redact secrets in URLs for events and statistics. Records stay unchanged."""
    if isinstance(outcome, Deferred):
        return outcome
    stats = redact_nested(outcome.stats)
    if not isinstance(outcome, Failed):
        return replace(outcome, stats=stats)
    trace = redact(outcome.traceback) if outcome.traceback else None
    return replace(outcome, stats=stats, message=redact(outcome.message), traceback=trace)


def settlement_of(
    lease: Lease,
    outcome: AttemptOutcome,
    policy: RetryPolicy,
    *,
    now: datetime,
    took_s: float,
    data: ObservedData | None = None,
) -> Settlement:
    """Build the settlement. `data` belongs to a crawl; the outcome of a page has its own."""
    run = lease.run
    spent = attempt_spent(outcome.stats, took_s, in_browser=run.resolved_strategy is Strategy.BROWSER)
    transition = stop_by_budget(run, decide(run, outcome, policy, now), spent)
    entry: dict[str, Any] = {
        "attempt": run.attempt,
        "strategy": run.resolved_strategy.value,
        "epoch": run.epoch,
        "duration_s": round(took_s, 4),
        "outcome": "fetched",
        SPENT: spent._asdict(),
    }
    if isinstance(outcome, Failed):
        entry |= {"outcome": outcome.code.value, "detail": outcome.detail, "http_status": outcome.http_status}
    elif outcome.missing:
        entry |= {"outcome": FailureCode.EXTRACTION.value, "missing": list(outcome.missing)}
    recipe = None if isinstance(outcome, Failed) else outcome.recipe
    observed = data if data is not None and transition.to.is_terminal else None
    return Settlement(lease, transition, entry, recipe, outcome.artifacts, observed or observe_page(run, transition))


def out_of_time(took_s: float) -> Outcome:
    return Failed(FailureCode.TIMEOUT, f"stopped after {took_s:.1f} s, past its time limit", "attempt")


def report_self_cancel() -> Outcome:
    return Failed(FailureCode.UNKNOWN, "the attempt cancelled itself", "bug")
