"""Deliver alerts: webhooks, signed or in the format of Slack, through the egress, and mail through a mail server."""

import smtplib
import time
from dataclasses import replace
from typing import Any

from corral.domain.alerts.channel import ChannelKind, OpenChannel
from corral.domain.alerts.message import AlertMessage, sign, slack_body, webhook_body
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.alert import AlertPayload
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.egress.mail import Mailer, MailRefused
from corral.fetch.faults import fault
from corral.fetch.sessions import SessionKeys
from corral.secrets.vault import SealBroken

_MAX_ANSWER_BYTES = 64 * 1024
_RETRYABLE = frozenset({408, 425, 429})


class AlertDelivery:
    def __init__(self, egress: Egress, keys: SessionKeys, mailer: Mailer) -> None:
        self._egress = egress
        self._keys = keys
        self._mailer = mailer

    async def send(self, task: Task) -> Outcome:
        payload = task.payload.read(AlertPayload)
        try:
            channel = OpenChannel.deserialize(self._keys.open_text(payload.sealed, payload.bound))
            kind = ChannelKind(payload.channel_kind)
        except (SealBroken, ValueError) as problem:
            return fault("policy:alert_channel", f"the alert channel {payload.channel} cannot be opened: {problem}")
        message = AlertMessage.of(payload.message)
        stats = {"channel": payload.channel, "delivery_id": task.run_id}
        if kind is ChannelKind.EMAIL:
            return await self._send_mail(channel, message, task.run_id, stats)
        return await self._post(kind, channel, message, task, stats)

    async def _post(
        self, kind: ChannelKind, channel: OpenChannel, message: AlertMessage, task: Task, stats: dict[str, Any]
    ) -> Outcome:
        headers = {"content-type": "application/json", "x-corral-delivery": task.run_id}
        if kind is ChannelKind.SLACK or channel.secret is None:
            body = slack_body(message)
        else:
            body = webhook_body(message, task.run_id)
            # The time of this attempt, so that a receiver can refuse a recorded message that is sent again later.
            headers["x-corral-timestamp"] = timestamp = str(int(time.time()))
            headers["x-corral-signature"] = sign(channel.secret.reveal(), timestamp, task.run_id, body)
        request = FetchRequest(
            channel.url, task.timeout_s, headers, body=body, max_redirects=0, max_bytes=_MAX_ANSWER_BYTES, truncate=True
        )
        answer = await self._egress.fetch(request, FetchContext())
        if isinstance(answer, Deferred):
            return answer
        if isinstance(answer, Failed):
            # Its message may quote the address, which is a secret.
            return Failed(answer.code, "the alert channel did not take the message", answer.detail, stats=stats)
        stats["http_status"] = answer.status
        if 200 <= answer.status < 300:
            return Fetched(stats)
        reason = f"the alert channel answered {answer.status}"
        if answer.status in _RETRYABLE or answer.status >= 500:
            retry_after = answer.header("retry-after")
            return Failed(FailureCode.NETWORK, reason, f"http_{answer.status}", retry_after=retry_after, stats=stats)
        return replace(fault("policy:alert_refused", reason), stats=stats)

    async def _send_mail(
        self, channel: OpenChannel, message: AlertMessage, delivery_id: str, stats: dict[str, Any]
    ) -> Outcome:
        if not self._mailer.is_configured:
            return fault("policy:smtp", "no mail server is set; see APP_SMTP_URL and APP_SMTP_FROM")
        text = "\n".join([*message.lines, "", f"delivery {delivery_id}"])
        try:
            await self._mailer.send(channel.to, message.subject, text, delivery_id)
        except MailRefused as error:
            return fault("policy:mail_refused", f"the mail server refused the message ({error})")
        except (OSError, smtplib.SMTPException) as error:
            reason = f"the mail server did not take the message ({type(error).__name__})"
            return Failed(FailureCode.NETWORK, reason, "smtp", stats=stats)
        return Fetched(stats)
