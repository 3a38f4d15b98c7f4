"""The parts of a process that work on sites: configurations and campaigns."""

import functools
from dataclasses import dataclass
from typing import Any

from corral.domain.campaigns.campaign import Campaign
from corral.domain.campaigns.report import make_report
from corral.domain.cost.spent import Prices
from corral.domain.net.address import EgressPolicy
from corral.domain.net.proxy import ProxyPolicy
from corral.domain.secret import Secret
from corral.engine.background.campaign_keeper import CampaignKeeper, MakeReport, Mirror, mirror_nowhere
from corral.engine.usecases.alerts import Alerts
from corral.engine.usecases.campaigns import Campaigns
from corral.engine.usecases.costs import Costs
from corral.engine.usecases.jobs import seal_proxy
from corral.settings import Settings, Transport
from corral.store.store import Store
from corral.wiring.app import App
from corral.wiring.options import prices_of
from corral.wiring.proxies.config import usual_policy
from corral.wiring.redis import broker_url, progress_url
from corral.wiring.sites.books import SiteBooks
from corral.wiring.vault import vault_of


@dataclass(frozen=True, slots=True)
class SiteParts:
    books: SiteBooks
    campaigns: Campaigns
    keeper: CampaignKeeper  # runs if there is a node
    costs: Costs
    alerts: Alerts
    make_report: MakeReport


def make_site_parts(app: App, books: SiteBooks) -> SiteParts:
    egress = EgressPolicy(app.settings.egress_allow)
    vault = vault_of(app.settings)

    def seal(text: Secret[str], bound: str) -> str:
        return vault.keys_to_seal().seal_text(text, bound)

    def make_proxy(text: str) -> ProxyPolicy:
        return seal_proxy(text, egress, seal)

    prices, policy_of = prices_of(app.settings), usual_policy(app.settings)
    campaigns = Campaigns(
        app.store.campaigns, egress, app.wake, books.read, make_proxy, prices=prices, usual_policy=policy_of
    )
    alerts = Alerts(app.store.alerts, app.store.runs, egress, seal, app.wake)
    report = functools.partial(report_campaign, app.store, prices_of(app.settings))
    keeper = CampaignKeeper(app.store.campaigns, app.wake, report, alerts, _make_mirror(app.settings))
    return SiteParts(books, campaigns, keeper, Costs(app.store, prices_of(app.settings)), alerts, report)


def _make_mirror(settings: Settings) -> Mirror:
    url = mirror_url(settings)
    if url is None:
        return mirror_nowhere
    from corral.transport.progress_mirror import ProgressMirror  # noqa: PLC0415 - only where it is used

    return ProgressMirror(url).write


def mirror_url(settings: Settings) -> str | None:
    """Return the URL of the Redis to which progress is copied; None if this installation has none."""
    if "redis_url" in settings.model_fields_set:
        return progress_url(settings)
    return broker_url(settings) if settings.transport is Transport.CELERY else None


async def report_campaign(store: Store, prices: Prices, campaign: Campaign) -> dict[str, Any]:
    """Return the stored report of an ended campaign, else a report on its current state."""
    if campaign.report is not None:
        return dict(campaign.report)
    return make_report(campaign, await store.hosts.list_watched(), prices)
