"""The profiles of a run by template, and their comparison with the history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from corral.domain.quality.judge import DataFinding, DataVerdict, has_history, judge
from corral.domain.quality.profile import Profile
from corral.domain.quality.thresholds import Thresholds

_MAX_TEMPLATES = 101  # as many as a crawl has patterns, and the pages that none of them matches


class ProfileKey(NamedTuple):
    """The key under which the history of similar runs is stored."""

    owner: str  # the job; empty for a crawl without one
    template: str  # of its pages: target and limits


@dataclass(slots=True)
class RunProfile:
    """The profiles of one run, or of all good runs so far: one for each URL pattern that has fields of its own."""

    templates: dict[str, Profile] = field(default_factory=dict)

    def merge(self, run: "RunProfile") -> None:
        """Learn from one more run."""
        for name, profile in run.templates.items():
            if name in self.templates or len(self.templates) < _MAX_TEMPLATES:
                self.templates.setdefault(name, Profile()).merge(profile)

    def adopt(self, run: "RunProfile", findings: Iterable[DataFinding]) -> None:
        """Learn from a run that a person accepted: where it differs, it replaces the history.

        As one of many runs of a long history, it would not prevent the next similar run from being suspect.
        """
        for finding in findings:
            history = self.templates.get(finding.template)
            if history is not None:
                history.replace_part(finding.field, run.templates.get(finding.template, Profile()))
        self.merge(run)

    def document(self) -> dict[str, Any]:
        return {"templates": {name: profile.document() for name, profile in self.templates.items()}}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "RunProfile":
        return cls({name: Profile.of(each) for name, each in document.get("templates", {}).items()})


class ObservedData(NamedTuple):
    """The data of a run that has just ended, before its verdict."""

    key: ProfileKey
    profile: RunProfile


def judge_run(history: RunProfile, run: RunProfile, thresholds: Thresholds) -> DataVerdict | None:
    """Compare a run with its history; return None if the history is too short."""
    if not thresholds.is_on:
        return None
    histories = {name: each for name, each in history.templates.items() if has_history(each, thresholds)}
    if not histories:
        return None
    findings: list[DataFinding] = []
    for name, profile in histories.items():
        verdict = judge(profile, run.templates.get(name, Profile(1.0)), thresholds)
        findings += [replace(finding, template=name) for finding in verdict.findings]
    return DataVerdict(tuple(findings))
