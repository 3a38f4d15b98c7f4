"""The store of campaigns, and of the channels of their alerts. Every method is one transaction."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from corral.domain.alerts.channel import AlertChannel
from corral.domain.campaigns.campaign import Campaign, NewSite
from corral.domain.campaigns.raised_alerts import RaisedAlerts
from corral.domain.runs.event import EventDraft
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import NewRun, Run


class CampaignStore(Protocol):
    """Sites that are scraped together."""

    async def add(
        self, campaign_id: str, sites: Sequence[NewSite], key: IdempotencyKey | None = None
    ) -> tuple[str, bool]:
        """Write a campaign with the runs of its sites. With a key used before, return the id from then and True."""
        ...

    async def get(self, campaign_id: str) -> Campaign: ...

    async def list_open(self) -> list[str]: ...

    async def release_ready(self, campaign_id: str) -> list[Run]:
        """Resume the runs of sites whose dependencies have ended."""
        ...

    async def end(
        self,
        campaign_id: str,
        report: Mapping[str, Any],
        alerts: Sequence[tuple[NewRun, Sequence[EventDraft]]] = (),
    ) -> bool:
        """Write the report of an ended campaign, and the runs of its alerts; return False if another node has."""
        ...

    async def raise_alerts(
        self, campaign_id: str, raised: RaisedAlerts, alerts: Sequence[tuple[NewRun, Sequence[EventDraft]]]
    ) -> bool:
        """Write the runs of alerts of a running campaign; return False if another node was first, or it has ended."""
        ...

    async def forget(self, older_than_s: float) -> int:
        """Delete campaigns that ended longer ago than this, with their reports."""
        ...


class AlertStore(Protocol):
    """The channels of alerts."""

    async def channels(self) -> list[AlertChannel]: ...

    async def get(self, name: str) -> AlertChannel: ...

    async def put(self, channel: AlertChannel) -> None: ...

    async def delete(self, name: str) -> None: ...

    async def reseal(self, name: str, old: str, sealed: str) -> bool:
        """Replace the seal of a channel; return False if it was changed or deleted meanwhile."""
        ...
