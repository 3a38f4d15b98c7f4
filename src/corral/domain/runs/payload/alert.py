"""Options of a run that delivers an alert."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from corral.domain.runs.payload.common import CommonPayload, common_options


@dataclass(frozen=True)
class AlertPayload(CommonPayload):
    channel: str = ""
    channel_kind: str = ""
    sealed: str = ""  # the address of the channel; only the vault opens it
    bound: str = ""
    message: dict[str, Any] = field(default_factory=dict)  # see domain.alerts.message

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(
            **common_options(document),
            channel=str(document.get("channel", "")),
            channel_kind=str(document.get("channel_kind", "")),
            sealed=str(document.get("sealed", "")),
            bound=str(document.get("bound", "")),
            message=dict(document.get("message") or {}),
        )

    def document(self) -> dict[str, Any]:
        return {
            "channel": self.channel,
            "channel_kind": self.channel_kind,
            "sealed": self.sealed,
            "bound": self.bound,
            "message": self.message,
            "secret_kid": self.sealed.partition(".")[0],
        }
