"""A channel that alerts are sent to: a signed webhook, a Slack-compatible webhook, or mail."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.url import parse_target
from corral.domain.secret import Secret

MIN_SECRET_CHARS = 16
MAX_RECIPIENTS = 50
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAIL = re.compile(r"[^\s@<>,;\"\\]{1,64}@[A-Za-z0-9.-]{1,255}")


class ChannelKind(StrEnum):
    WEBHOOK = "webhook"
    SLACK = "slack"
    EMAIL = "email"


@dataclass(frozen=True, slots=True)
class AlertRules:
    """When a report raises an alert."""

    error_rate: float = 0.2  # of the pages of a site, from 0 to 1
    p95_seconds: float | None = None  # time of a page
    statuses: tuple[str, ...] = ("failed", "partial")  # of a site
    breakers: bool = True  # a circuit breaker is open

    def document(self) -> dict[str, Any]:
        return {
            "error_rate": self.error_rate,
            "p95_seconds": self.p95_seconds,
            "statuses": list(self.statuses),
            "breakers": self.breakers,
        }

    @staticmethod
    def of(value: Mapping[str, Any] | None) -> "AlertRules":
        supplied = dict(value or {})
        defaults = AlertRules().document()
        strange = sorted(set(supplied) - set(defaults))
        if strange:
            raise BadInput(f"{strange[0][:80]!r} is not a rule", field="rules", hint=f"rules: {', '.join(defaults)}")
        merged = {**defaults, **{name: each for name, each in supplied.items() if each is not None}}
        rate, seconds = merged["error_rate"], merged["p95_seconds"]
        if not _is_number(rate) or not 0 <= rate <= 1:
            raise BadInput("error_rate must be a number from 0 to 1", field="rules.error_rate")
        if seconds is not None and (not _is_number(seconds) or seconds <= 0):
            raise BadInput("p95_seconds must be a number above 0", field="rules.p95_seconds")
        statuses = merged["statuses"]
        allowed = ("completed", "partial", "failed", "cancelled")
        if not isinstance(statuses, list | tuple) or not all(each in allowed for each in statuses):
            raise BadInput(f"statuses must be a list of {', '.join(allowed)}", field="rules.statuses")
        if not isinstance(merged["breakers"], bool):
            raise BadInput("breakers must be true or false", field="rules.breakers")
        return AlertRules(float(rate), seconds, tuple(statuses), merged["breakers"])


@dataclass(frozen=True, slots=True)
class AlertChannel:
    """A channel as stored. Its address is sealed, because the address of a Slack webhook is a secret."""

    name: str
    kind: ChannelKind
    rules: AlertRules
    redacted: str  # its address, without secrets
    sealed: str

    @property
    def bound(self) -> str:
        """Return the context of the seal: a seal that is copied to another channel does not open."""
        return f"alert|{self.kind.value}|{self.name}"

    @property
    def kid(self) -> str:
        return self.sealed.partition(".")[0]


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """A channel as a person writes it."""

    name: str
    kind: ChannelKind
    url: str = ""
    secret: Secret[str] | None = None
    to: tuple[str, ...] = ()
    rules: AlertRules = AlertRules()

    def check(self, policy: EgressPolicy) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadInput("a channel needs a name", field="name", hint="letters, digits, dots, hyphens; at most 64")
        if self.kind is ChannelKind.EMAIL:
            if not 1 <= len(self.to) <= MAX_RECIPIENTS or not all(_MAIL.fullmatch(each) for each in self.to):
                raise BadInput("an email channel needs addresses", field="to", hint='["operations@example.com"]')
            return
        check_literal(parse_target(self.url, field="url"), policy, field="url")
        has_secret = self.secret is not None and len(self.secret.reveal()) >= MIN_SECRET_CHARS
        if self.kind is ChannelKind.WEBHOOK and not has_secret:
            raise BadInput(
                "a webhook needs a secret that signs its messages",
                field="secret",
                hint=f"at least {MIN_SECRET_CHARS} characters; a Slack-compatible webhook needs none",
            )

    @property
    def redacted(self) -> str:
        return ", ".join(self.to) if self.kind is ChannelKind.EMAIL else f"{parse_target(self.url).origin}/…"

    def serialize(self) -> Secret[str]:
        secret = None if self.secret is None else self.secret.reveal()
        return Secret(json.dumps({"url": self.url, "secret": secret, "to": list(self.to)}))


@dataclass(frozen=True, slots=True)
class OpenChannel:
    """The decrypted address of a channel, as a worker uses it. It is never stored."""

    url: str
    secret: Secret[str] | None
    to: tuple[str, ...]

    @staticmethod
    def deserialize(text: str) -> "OpenChannel":
        cell = json.loads(text)
        secret = cell.get("secret")
        return OpenChannel(str(cell["url"]), None if secret is None else Secret(secret), tuple(cell["to"]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
