"""The alerts that a campaign has raised, so that none is raised twice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ReportFinding(NamedTuple):
    """A site, and the rule that it breaks."""

    site: str
    rule: str  # status, error_rate, p95_seconds, breaker, left_out
    message: str


@dataclass(frozen=True, slots=True)
class RaisedAlerts:
    """By channel, the site and rule of each finding that an alert has named."""

    by_channel: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    runs: tuple[str, ...] = ()  # that deliver them
    rounds: int = 0  # how often alerts were raised; the next round is written only if it has not changed

    @staticmethod
    def of(document: Mapping[str, Any], rounds: int) -> "RaisedAlerts":
        channels = document.get("channels") or {}
        by_channel = {channel: frozenset((site, rule) for site, rule in pairs) for channel, pairs in channels.items()}
        return RaisedAlerts(by_channel, tuple(document.get("runs") or ()), rounds)

    def document(self) -> dict[str, Any]:
        channels = {channel: sorted(map(list, pairs)) for channel, pairs in self.by_channel.items()}
        return {"channels": channels, "runs": list(self.runs)}

    def choose_new(self, channel: str, findings: Iterable[ReportFinding]) -> list[ReportFinding]:
        """Return the findings for an alert of a running campaign: those of rules that raised none yet.

        Further sites that break the same rule are named at the end, so that a bad day raises one alert per rule.
        """
        rules = {rule for _, rule in self.by_channel.get(channel, ())}
        return [each for each in findings if each.rule not in rules]

    def choose_rest(self, channel: str, findings: Iterable[ReportFinding]) -> list[ReportFinding]:
        """Return the findings for the alert at the end: those that no alert has named."""
        raised = self.by_channel.get(channel, frozenset())
        return [each for each in findings if (each.site, each.rule) not in raised]

    def plus(self, raised: Mapping[str, Sequence[ReportFinding]], runs: Iterable[str]) -> "RaisedAlerts":
        """Return the alerts after one more round; `runs` deliver it."""
        merged = dict(self.by_channel)
        for channel, findings in raised.items():
            merged[channel] = merged.get(channel, frozenset()) | {(each.site, each.rule) for each in findings}
        return RaisedAlerts(merged, (*self.runs, *runs), self.rounds + 1)
