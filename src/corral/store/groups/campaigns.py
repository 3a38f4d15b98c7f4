"""Campaigns, and the channels of their alerts."""

from collections.abc import Mapping, Sequence
from typing import Any

from corral.domain.alerts.channel import AlertChannel
from corral.domain.campaigns.campaign import Campaign, NewSite
from corral.domain.campaigns.raised_alerts import RaisedAlerts
from corral.domain.crawl.crawl import Counts
from corral.domain.runs.idempotency import IdempotencyKey
from corral.domain.runs.run import Run
from corral.store.database import Database
from corral.store.queries import alert_channels, campaigns


class SqlCampaignStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add(
        self, campaign_id: str, sites: Sequence[NewSite], key: IdempotencyKey | None = None
    ) -> tuple[str, bool]:
        return await self._db.write(lambda tx: campaigns.add(tx, campaign_id, sites, key))

    async def get(self, campaign_id: str) -> Campaign:
        return await self._db.read(lambda tx: campaigns.get(tx, campaign_id))

    async def list_open(self) -> list[str]:
        return await self._db.read(campaigns.list_open)

    async def list_open_sites(self) -> list[tuple[str, Counts]]:
        return await self._db.read(campaigns.list_open_sites)

    async def newest(self, before: str | None, limit: int) -> list[Campaign]:
        return await self._db.read_slow(lambda tx: campaigns.newest(tx, before, limit))

    async def find_by_run(self, run_id: str) -> str | None:
        return await self._db.read(lambda tx: campaigns.find_by_run(tx, run_id))

    async def release_ready(self, campaign_id: str) -> list[Run]:
        return await self._db.write(lambda tx: campaigns.release_ready(tx, campaign_id))

    async def end(self, campaign_id: str, report: Mapping[str, Any], alerts: Sequence[campaigns.AddedRun] = ()) -> bool:
        return await self._db.write(lambda tx: campaigns.end(tx, campaign_id, report, alerts))

    async def raise_alerts(self, campaign_id: str, raised: RaisedAlerts, alerts: Sequence[campaigns.AddedRun]) -> bool:
        return await self._db.write(lambda tx: campaigns.raise_alerts(tx, campaign_id, raised, alerts))

    async def forget(self, older_than_s: float) -> int:
        return await self._db.write(lambda tx: campaigns.forget(tx, older_than_s))


class SqlAlertStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def channels(self) -> list[AlertChannel]:
        return await self._db.read(alert_channels.list_all)

    async def get(self, name: str) -> AlertChannel:
        return await self._db.read(lambda tx: alert_channels.get(tx, name))

    async def put(self, channel: AlertChannel) -> None:
        await self._db.write(lambda tx: alert_channels.put(tx, channel))

    async def delete(self, name: str) -> None:
        await self._db.write(lambda tx: alert_channels.delete(tx, name))

    async def reseal(self, name: str, old: str, sealed: str) -> bool:
        return await self._db.write(lambda tx: alert_channels.reseal(tx, name, old, sealed))
