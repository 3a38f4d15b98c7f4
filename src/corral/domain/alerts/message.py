"""The message of an alert, which is the same in every attempt to deliver it."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TEST = "test"
CAMPAIGN = "campaign_ended"
THRESHOLD = "threshold_exceeded"
_MAX_LINES = 50


@dataclass(frozen=True, slots=True)
class AlertMessage:
    event: str  # `threshold_exceeded`, `campaign_ended` or `test`
    subject: str
    lines: tuple[str, ...]
    about: Mapping[str, Any]  # for programs: the ids and the findings

    def document(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "subject": self.subject,
            "lines": list(self.lines),
            "about": dict(self.about),
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> "AlertMessage":
        return AlertMessage(
            str(document.get("event", "")),
            str(document.get("subject", "")),
            tuple(document.get("lines") or ()),
            dict(document.get("about") or {}),
        )

    @property
    def text(self) -> str:
        return "\n".join([self.subject, *(f"- {line}" for line in self.lines)])


def make_test_message(channel: str) -> AlertMessage:
    return AlertMessage(TEST, f"Corral: a test of the alert channel {channel}", ("Nothing is wrong.",), {})


def make_campaign_message(report: Mapping[str, Any], findings: Sequence[Any]) -> AlertMessage:
    """Return the message about a campaign that has ended; `findings` are those of the rules of the channel."""
    return _make_message(CAMPAIGN, f"Corral: campaign {report['campaign_id']} is {report['status']}", report, findings)


def make_threshold_message(report: Mapping[str, Any], findings: Sequence[Any]) -> AlertMessage:
    """Return the message about a campaign that is still running."""
    subject = f"Corral: campaign {report['campaign_id']} needs attention while it runs"
    return _make_message(THRESHOLD, subject, report, findings)


def _make_message(event: str, subject: str, report: Mapping[str, Any], findings: Sequence[Any]) -> AlertMessage:
    lines = [each.message for each in findings]
    more = [f"and {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
    about = {
        "campaign_id": report["campaign_id"],
        "status": report["status"],
        "findings": [{"site": each.site, "rule": each.rule, "message": each.message} for each in findings],
    }
    return AlertMessage(event, subject, (*lines[:_MAX_LINES], *more), about)


def webhook_body(message: AlertMessage, delivery_id: str) -> bytes:
    document = {"delivery_id": delivery_id, **message.document()}
    return json.dumps(document, sort_keys=True, ensure_ascii=False).encode()


def slack_body(message: AlertMessage) -> bytes:
    return json.dumps({"text": message.text}, ensure_ascii=False).encode()


def sign(secret: str, timestamp: str, delivery_id: str, body: bytes) -> str:
    """Return the signature of a webhook: HMAC-SHA256 of the time, the delivery id and the body, separated by dots."""
    signed = f"{timestamp}.{delivery_id}.".encode() + body
    return "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
