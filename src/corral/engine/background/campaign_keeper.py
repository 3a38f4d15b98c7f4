"""Follow open campaigns on every node: start sites whose dependencies have ended, and close ended campaigns."""

import functools
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import structlog

from corral.domain.campaigns.campaign import Campaign, campaign_progress
from corral.domain.campaigns.raised_alerts import RaisedAlerts
from corral.domain.errors import CampaignNotFound
from corral.domain.ports.campaigns import CampaignStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.queues import Waker
from corral.domain.runs.run import NewRun
from corral.engine.repeat import repeat_step

log = structlog.get_logger()

_EVERY_S = 1.0
_CLEAN_EVERY = 3600
_RETENTION_S = 90 * 86_400.0

Mirror = Callable[[dict[str, Any]], Awaitable[None]]
MakeReport = Callable[[Campaign], Awaitable[dict[str, Any]]]


class MakeAlerts(Protocol):
    async def make_last_alerts(self, report: Mapping[str, Any], raised: RaisedAlerts) -> list[NewRun]: ...

    async def make_early_alerts(
        self, read_report: Callable[[], Awaitable[Mapping[str, Any]]], raised: RaisedAlerts
    ) -> tuple[list[NewRun], RaisedAlerts]: ...


async def mirror_nowhere(_: dict[str, Any]) -> None:
    return None


class CampaignKeeper:
    """Two nodes may follow one campaign: guarded writes ensure that only one of them takes effect."""

    def __init__(
        self,
        store: CampaignStore,
        wake: Waker,
        make_report: MakeReport,
        alerts: MakeAlerts,
        mirror: Mirror = mirror_nowhere,
    ) -> None:
        self._store = store
        self._wake = wake
        self._make_report = make_report
        self._alerts = alerts
        self._mirror = mirror
        self.take_alerts: Callable[[list[str]], None] = lambda _: None  # for a node that executes only chosen runs

    async def run(self) -> None:
        counts = itertools.count()

        async def step() -> None:
            is_cleaning = next(counts) % _CLEAN_EVERY == 0
            await self.follow()
            if is_cleaning:
                await self._store.forget(_RETENTION_S)

        await repeat_step(step, _EVERY_S, lambda error: log.warning("campaigns_not_followed", reason=error.message))

    async def follow(self) -> None:
        for campaign_id in await self._store.list_open():
            try:
                await self._follow(campaign_id)
            except CampaignNotFound:
                continue

    async def _follow(self, campaign_id: str) -> None:
        campaign = await self._store.get(campaign_id)
        if any(not site.is_released for site in campaign.sites):
            resumed = await self._store.release_ready(campaign_id)
            if resumed:
                self._wake(*resumed)
        await self._mirror(campaign_progress(campaign))
        if campaign.has_ended:
            await self._end(campaign)
        else:
            await self._raise_alerts(campaign)

    async def _raise_alerts(self, campaign: Campaign) -> None:
        """Raise alerts for thresholds that the campaign has crossed while it is active."""
        alerts, raised = await self._alerts.make_early_alerts(
            functools.partial(self._make_report, campaign), campaign.raised
        )
        if alerts and await self._store.raise_alerts(campaign.id, raised, _draft(campaign, alerts)):
            self.take_alerts([run.id for run in alerts])
            self._wake(*alerts)

    async def _end(self, campaign: Campaign) -> None:
        report = await self._make_report(campaign)
        alerts = await self._alerts.make_last_alerts(report, campaign.raised)
        report["alerts"] = [*campaign.raised.runs, *(run.id for run in alerts)]
        if await self._store.end(campaign.id, report, _draft(campaign, alerts)) and alerts:
            self.take_alerts([run.id for run in alerts])
            self._wake(*alerts)


def _draft(campaign: Campaign, alerts: Sequence[NewRun]) -> list[tuple[NewRun, Sequence[EventDraft]]]:
    return [(run, [EventDraft(EventKind.CREATED, {"campaign": campaign.id})]) for run in alerts]
