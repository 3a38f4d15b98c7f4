"""No alert of a campaign is raised twice."""

from typing import Any

import pytest

from corral.domain.alerts.channel import AlertRules
from corral.domain.campaigns.raised_alerts import RaisedAlerts, ReportFinding
from corral.domain.campaigns.report import find_early_findings

SLOW = ReportFinding("a.test", "p95_seconds", "slow")
FAILING = ReportFinding("a.test", "error_rate", "failing")
ALSO_FAILING = ReportFinding("b.test", "error_rate", "failing, too")


def test_a_rule_raises_one_alert_per_channel_while_the_campaign_runs() -> None:
    raised = RaisedAlerts().plus({"ops": [FAILING]}, ["run 1"])
    assert raised.choose_new("ops", [FAILING, ALSO_FAILING, SLOW]) == [SLOW]
    assert raised.choose_new("mail", [FAILING]) == [FAILING]


def test_the_last_alert_names_what_no_earlier_one_has_named() -> None:
    raised = RaisedAlerts().plus({"ops": [FAILING]}, ["run 1"]).plus({"ops": [SLOW]}, ["run 2"])
    assert raised.choose_rest("ops", [FAILING, ALSO_FAILING, SLOW]) == [ALSO_FAILING]
    assert (raised.runs, raised.rounds) == (("run 1", "run 2"), 2)
    assert RaisedAlerts.of(raised.document(), raised.rounds) == raised
    assert RaisedAlerts.of({}, 0) == RaisedAlerts()


@pytest.mark.parametrize(
    "site, found",
    [
        ({"done": 4, "failed": 5, "error_rate": 0.56}, []),
        ({"done": 4, "failed": 6, "error_rate": 0.6}, ["error_rate"]),
        ({"done": 0, "failed": 1, "error_rate": 1.0, "finished_at": "2026-01-01T00:00:00Z"}, ["error_rate"]),
        ({"done": 9, "latency": {"p95_ms": 9000.0}}, []),
        ({"done": 10, "latency": {"p95_ms": 9000.0}}, ["p95_seconds"]),
        ({"done": 0, "breakers_open": ["a.test"]}, ["breaker"]),
        ({"status": "failed", "finished_at": "2026-01-01T00:00:00Z"}, ["status"]),
    ],
)
def test_rates_of_a_site_under_way_need_enough_pages(site: dict[str, Any], found: list[str]) -> None:
    plain = {"site": "a.test", "status": "running", "errors": {}, "latency": {}, "breakers_open": [], "left_out": {}}
    report = {"sites": [{**plain, **site}]}
    assert [each.rule for each in find_early_findings(report, AlertRules(p95_seconds=5.0))] == found
