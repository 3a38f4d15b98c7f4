"""What the verdict on the data of a run changes about its end. Pure."""

from dataclasses import replace
from typing import Any

from corral.domain.quality.judge import DataVerdict
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.outcome import Failed, FailureCode
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import RunAction, RunState

VERDICT, FINDINGS, ACCEPTED = "verdict", "verdict_findings", "verdict_accepted_at"
DATA_VERDICT = "data_verdict"  # the failure detail of a run that is partial because of it
_MAX_FINDINGS = 20
_MAX_TOLD = 3
_MAX_FAILED_SHARE = 0.1


def is_withheld(stats: dict[str, Any]) -> bool:
    """Whether the records of a run are kept apart: it was judged, and not accepted since."""
    return stats.get(VERDICT) in ("suspect", "broken") and ACCEPTED not in stats


def apply_verdict(transition: Transition, verdict: DataVerdict) -> Transition:
    """Return the end of the run with its verdict: a run that would have been completed is partial."""
    stats = {**transition.stats, VERDICT: verdict.grade.value}
    if verdict.is_ok:
        return replace(transition, stats=stats)
    findings = [finding.document() for finding in verdict.findings[:_MAX_FINDINGS]]
    stats[FINDINGS] = findings
    judged = EventDraft(EventKind.DATA_VERDICT, {VERDICT: verdict.grade.value, "findings": findings})
    events, action = transition.events, transition.action
    if transition.to is RunState.COMPLETED:
        action = RunAction.COMPLETE_PARTLY
        events = tuple(
            EventDraft(EventKind.PARTIAL, {**each.meta, "problems": {VERDICT: verdict.grade.value}})
            if each.kind is EventKind.COMPLETED
            else each
            for each in events
        )
    message = f"the data is {verdict.grade.value}: {describe_findings(findings)}"
    failure = transition.failure or Failed(FailureCode.EXTRACTION, message, DATA_VERDICT)
    # Before the event that ends the run: a reader of the stream stops there.
    return replace(transition, action=action, events=(judged, *events), stats=stats, failure=failure)


def describe_findings(findings: list[dict[str, Any]]) -> str:
    """Return one line: which fields, before and after."""
    told = [
        f"{_name_of(each)} {str(each['what']).replace('_', ' ')} {each['before']} → {each['after']}"
        for each in findings[:_MAX_TOLD]
    ]
    more = len(findings) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more > 0 else "")


def _name_of(finding: dict[str, Any]) -> str:
    where = f" on {finding['template']}" if finding.get("template") else ""
    return f"{finding['field'] or 'number of'}{where}"


def can_teach(transition: Transition) -> bool:
    """Whether a run with good data says what data of the job looks like.

    A crawl that was cut off, or that lost more than a few pages, has fewer records than a usual one.
    """
    if transition.to not in (RunState.COMPLETED, RunState.PARTIAL):
        return False
    stats = transition.stats
    failed, done = int(stats.get("failed", 0)), int(stats.get("done", 0))
    return stats.get("stopped_by") not in ("time", "proxy") and failed <= _MAX_FAILED_SHARE * (failed + done)
