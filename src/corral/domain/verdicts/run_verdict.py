"""Apply the verdict on the data of a run to its end. Pure."""

from dataclasses import replace
from typing import Any

from corral.domain.quality.judge import DataVerdict
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import RunAction, RunState

VERDICT, FINDINGS, ACCEPTED = "verdict", "verdict_findings", "verdict_accepted_at"
DATA_VERDICT = "data_verdict"  # the failure detail of a run that the verdict makes partial
_MAX_FINDINGS = 20
_MAX_DESCRIBED = 3
_MAX_FAILED_SHARE = 0.1


def is_withheld(stats: dict[str, Any]) -> bool:
    """Return whether the records of a run are withheld: the verdict is bad, and no person has accepted the data."""
    return stats.get(VERDICT) in ("suspect", "broken") and ACCEPTED not in stats


def apply_verdict(transition: Transition, verdict: DataVerdict) -> Transition:
    """Return the end of the run with its verdict: a run that would have been completed is partial."""
    stats = {**transition.stats, VERDICT: verdict.grade.value}
    if verdict.is_ok:
        return replace(transition, stats=stats)
    findings = [finding.document() for finding in verdict.findings[:_MAX_FINDINGS]]
    stats[FINDINGS] = findings
    verdict_event = EventDraft(EventKind.DATA_VERDICT, {VERDICT: verdict.grade.value, "findings": findings})
    events, action = transition.events, transition.action
    if transition.to is RunState.COMPLETED:
        action = RunAction.COMPLETE_PARTLY
        events = tuple(
            EventDraft(EventKind.PARTIAL, {**event.meta, "problems": {VERDICT: verdict.grade.value}})
            if event.kind is EventKind.COMPLETED
            else event
            for event in events
        )
    message = f"the data is {verdict.grade.value}: {describe_findings(findings)}"
    failure = transition.failure or Failed(FailureCode.EXTRACTION, message, DATA_VERDICT)
    # Before the event that ends the run: a reader of the stream stops there.
    return replace(transition, action=action, events=(verdict_event, *events), stats=stats, failure=failure)


def describe_findings(findings: list[dict[str, Any]]) -> str:
    """Return one line with the fields, and their values before and after."""
    described = [
        f"{_name_of(each)} {str(each['what']).replace('_', ' ')} {each['before']} → {each['after']}"
        for each in findings[:_MAX_DESCRIBED]
    ]
    more = len(findings) - len(described)
    return "; ".join(described) + (f"; and {more} more" if more > 0 else "")


def _name_of(finding: dict[str, Any]) -> str:
    where = f" on {finding['template']}" if finding.get("template") else ""
    return f"{finding['field'] or 'number of'}{where}"


def can_teach(transition: Transition) -> bool:
    """Return whether a run with good data shows what the data of the job usually looks like.

    A crawl that was stopped early, or that lost more than a few pages, has fewer records than usual.
    """
    if transition.to not in (RunState.COMPLETED, RunState.PARTIAL):
        return False
    stats = transition.stats
    failed, done = int(stats.get("failed", 0)), int(stats.get("done", 0))
    return stats.get("stopped_by") not in ("time", "proxy") and failed <= _MAX_FAILED_SHARE * (failed + done)
