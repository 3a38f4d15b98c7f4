"""Send mail through the server that the settings name."""

import asyncio
import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from urllib.parse import unquote, urlsplit

_TIMEOUT_S = 20.0
_PORTS = {"smtp": 25, "smtps": 465}


class MailRefused(Exception):
    """The server rejected the message permanently; do not retry."""


class Mailer:
    def __init__(self, url: str, sender: str) -> None:
        self._url = url
        self._sender = sender

    @property
    def is_configured(self) -> bool:
        return bool(self._url and self._sender)

    async def send(self, to: Sequence[str], subject: str, text: str, message_id: str) -> None:
        """Send one message; raise OSError or SMTPException if the server cannot accept it now."""
        message = EmailMessage()
        message["From"], message["To"] = self._sender, ", ".join(to)
        message["Subject"] = " ".join(subject.split())
        message["Message-ID"] = f"<{message_id}@{self._sender.rpartition('@')[2]}>"
        message.set_content(text)
        await asyncio.to_thread(self._deliver, message)

    def _deliver(self, message: EmailMessage) -> None:
        parts = urlsplit(self._url)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        context = ssl.create_default_context()
        is_tls = parts.scheme == "smtps"
        with (
            smtplib.SMTP_SSL(host, port, timeout=_TIMEOUT_S, context=context)
            if is_tls
            else smtplib.SMTP(host, port, timeout=_TIMEOUT_S)
        ) as server:
            server.ehlo()
            if not is_tls and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
            if parts.username and parts.password:
                server.login(unquote(parts.username), unquote(parts.password))
            try:
                server.send_message(message)
            except (smtplib.SMTPRecipientsRefused, smtplib.SMTPSenderRefused) as error:
                raise MailRefused(type(error).__name__) from None
