import hashlib
import hmac
import json
from typing import Any

import pytest

from corral.domain.alerts.channel import AlertRules, ChannelDraft, ChannelKind, OpenChannel
from corral.domain.alerts.message import make_campaign_message, make_test_message, sign, slack_body, webhook_body
from corral.domain.campaigns.latency import LatencyHistogram
from corral.domain.campaigns.report import count_errors, find_findings, render_text
from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy
from corral.domain.secret import Secret

SECRET = Secret("sixteen characters")


def a_site(**changed: Any) -> dict[str, Any]:
    plain = {
        "site": "a.test",
        "status": "completed",
        "error_rate": 0.0,
        "errors": {},
        "latency": {},
        "breakers_open": [],
        "left_out": {},
        "stopped_by": None,
        "error_message": None,
        "proxy": None,
    }
    return {**plain, **changed}


@pytest.mark.parametrize(
    "site, rules, found",
    [
        (a_site(), {}, []),
        (a_site(status="failed", error_message="nothing answered"), {}, ["status"]),
        (a_site(status="failed"), {"statuses": ["cancelled"]}, []),
        (a_site(error_rate=0.21, errors={"timeout": 3}), {}, ["error_rate"]),
        (a_site(error_rate=0.21), {"error_rate": 0.5}, []),
        (a_site(latency={"p95_ms": 2500.0}), {"p95_seconds": 2}, ["p95_seconds"]),
        (a_site(latency={"p95_ms": 2500.0}), {}, []),
        (a_site(breakers_open=["a.test"]), {}, ["breaker"]),
        (a_site(breakers_open=["a.test"]), {"breakers": False}, []),
        (a_site(left_out={"budget.requests": 4}), {}, ["left_out"]),
    ],
)
def test_each_rule_finds_its_own(site: dict[str, Any], rules: dict[str, Any], found: list[str]) -> None:
    assert [each.rule for each in find_findings({"sites": [site]}, AlertRules.of(rules))] == found


def test_bad_rules_and_channels_are_refused() -> None:
    for rules in ({"error_rate": 2}, {"p95_seconds": 0}, {"statuses": ["ill"]}, {"breakers": 1}, {"colour": "red"}):
        with pytest.raises(BadInput):
            AlertRules.of(rules)
    for draft, field in (
        (ChannelDraft("bad name", ChannelKind.SLACK, "https://hooks.example/x"), "name"),
        (ChannelDraft("a", ChannelKind.WEBHOOK, "https://hooks.example/x"), "secret"),
        (ChannelDraft("a", ChannelKind.WEBHOOK, "https://hooks.example/x", Secret("short")), "secret"),
        (ChannelDraft("a", ChannelKind.SLACK, "http://169.254.169.254/x"), "url"),
        (ChannelDraft("a", ChannelKind.EMAIL), "to"),
        (ChannelDraft("a", ChannelKind.EMAIL, to=("x@example.com\nBcc: y@example.com",)), "to"),
    ):
        with pytest.raises(BadInput) as refused:
            draft.check(EgressPolicy(()))
        assert refused.value.field == field


def test_a_channel_shows_neither_its_address_nor_its_secret() -> None:
    draft = ChannelDraft("a", ChannelKind.WEBHOOK, "https://hooks.example/services/canary", SECRET)
    draft.check(EgressPolicy(()))
    assert draft.redacted == "https://hooks.example/…"
    assert "canary" not in repr(draft.serialize())
    opened = OpenChannel.deserialize(draft.serialize().reveal())
    assert (opened.url, opened.secret and opened.secret.reveal()) == (draft.url, SECRET.reveal())


def test_a_message_is_signed_and_the_same_in_every_attempt() -> None:
    report = {"campaign_id": "c1", "status": "partial", "sites": [a_site(status="partial")]}
    findings = find_findings(report, AlertRules())
    message = make_campaign_message(report, findings)
    body = webhook_body(message, "d1")
    assert body == webhook_body(make_campaign_message(report, findings), "d1")
    told = json.loads(body)
    assert (told["delivery_id"], told["event"], told["about"]["campaign_id"]) == ("d1", "campaign_ended", "c1")
    assert told["about"]["findings"] == [{"site": "a.test", "rule": "status", "message": "a.test is partial"}]
    expected = hmac.new(b"key", b"17.d1." + body, hashlib.sha256).hexdigest()
    assert sign("key", "17", "d1", body) == f"v1={expected}"
    assert "a.test is partial" in json.loads(slack_body(message))["text"]
    assert make_test_message("x").event == "test"


def test_percentiles_are_at_most_a_tenth_too_high() -> None:
    histogram = LatencyHistogram()
    for milliseconds in range(1, 1001):
        histogram.add(milliseconds)
    told = histogram.document()
    assert told["pages"] == 1000
    for percent in (50, 90, 95, 99):
        assert 10 * percent <= told[f"p{percent}_ms"] <= 11.1 * percent
    assert LatencyHistogram().document() == {}


def test_errors_are_counted_by_class_and_rules_are_no_errors() -> None:
    reasons = {"network:dns": 2, "network:refused": 1, "bad_response:http_500": 4, "too_deep": 9, "policy:robots": 1}
    assert count_errors(reasons) == {"bad_response": 4, "network": 3}


def test_the_text_says_what_to_look_at() -> None:
    report = {
        "campaign_id": "c1",
        "status": "partial",
        "created_at": "2026-01-01T00:00:00Z",
        "ended_at": None,
        "done": 3,
        "total": 4,
        "failed": 1,
        "error_rate": 0.25,
        "cost": 0.5,
        "errors": {"timeout": 1},
        "look_at": ["a.test is partial"],
        "sites": [a_site(latency={"p50_ms": 10.0, "p95_ms": 20.0})],
    }
    text = render_text(report)
    for told in ("3 of 4 pages, 1 failed (25.0%)", "timeout 1", "  - a.test is partial", "p95 20 ms", "cost 0.5"):
        assert told in text
