"""Channels of alerts, as the API and the command line show them: never with their address or secret."""

from typing import Any

from corral.domain.alerts.channel import AlertChannel


def channel_read(channel: AlertChannel) -> dict[str, Any]:
    return {
        "name": channel.name,
        "kind": channel.kind.value,
        "leads_to": channel.redacted,
        "rules": channel.rules.document(),
    }
