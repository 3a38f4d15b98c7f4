"""A campaign and its sites, as read from the store, and their progress."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from corral.domain.campaigns.raised_alerts import RaisedAlerts
from corral.domain.campaigns.site_work import progress
from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import Counts
from corral.domain.crawl.item import DiscoveredLink
from corral.domain.runs.event import EventDraft
from corral.domain.runs.run import NewRun, Run, RunState

WAITING = "waiting"  # the status of a site whose dependencies have not ended
RUNNING = "running"


class NewSite(NamedTuple):
    """A site of a campaign about to be written, with its run."""

    site: str
    run: NewRun
    drafts: Sequence[EventDraft]
    seeds: Sequence[DiscoveredLink]
    waits_for: tuple[str, ...] = ()


class CampaignSite(NamedTuple):
    """A site of a campaign. `run` is None once retention has deleted it."""

    site: str
    run_id: str
    waits_for: tuple[str, ...]
    is_released: bool  # its dependencies have ended
    run: Run | None
    counts: Counts
    spent: Spent
    latency: Mapping[str, Any] = {}

    @property
    def has_ended(self) -> bool:
        return self.run is None or self.run.state.is_terminal


class Campaign(NamedTuple):
    id: str
    created_at: datetime
    ended_at: datetime | None
    report: Mapping[str, Any] | None  # written when it ended
    sites: tuple[CampaignSite, ...]
    raised: RaisedAlerts = RaisedAlerts()

    @property
    def has_ended(self) -> bool:
        return all(each.has_ended for each in self.sites)


def find_ready(sites: Sequence[CampaignSite]) -> list[CampaignSite]:
    """Return the sites that may start now: not released yet, and everything they wait for has ended."""
    ended = {each.site for each in sites if each.has_ended}
    return [each for each in sites if not each.is_released and ended.issuperset(each.waits_for)]


def site_progress(site: CampaignSite) -> dict[str, Any]:
    """Return the progress of one site: that of its run, and the sites it waits for."""
    if site.run is None:
        return {"job_id": site.run_id, "site": site.site, "status": "deleted", "waits_for": []}
    progress_fields = progress(site.run, site.counts)
    if not site.is_released and not site.has_ended:
        progress_fields["status"] = WAITING
    elif site.run.state is RunState.HELD:
        progress_fields["status"] = "paused"
    return {
        **progress_fields,
        "site": site.site,
        "bytes": site.spent.size,
        "waits_for": [] if site.is_released else list(site.waits_for),
    }


def campaign_progress(campaign: Campaign) -> dict[str, Any]:
    """Return the aggregated progress: one entry per site, and the sums."""
    sites = [site_progress(each) for each in campaign.sites]
    sums = {
        name: sum(each.get(name, 0) for each in sites) for name in ("total", "done", "failed", "skipped", "pending")
    }
    tried = sums["done"] + sums["failed"]
    ended = sums["total"] - sums["pending"]
    return {
        "campaign_id": campaign.id,
        "status": campaign_status(campaign),
        **sums,
        "percent": round(100.0 * ended / sums["total"], 1) if sums["total"] else 100.0,
        "error_rate": round(sums["failed"] / tried, 4) if tried else 0.0,
        "by_status": dict(Counter(each["status"] for each in sites)),
        "created_at": _format_time(campaign.created_at),
        "ended_at": _format_time(campaign.ended_at),
        "sites": sites,
    }


def campaign_status(campaign: Campaign) -> str:
    """Return `running` until every site has ended; then the state that describes all of them."""
    if not campaign.has_ended:
        return RUNNING
    states = {each.run.state for each in campaign.sites if each.run is not None}
    if states <= {RunState.COMPLETED}:
        return RunState.COMPLETED.value
    if states <= {RunState.FAILED}:
        return RunState.FAILED.value
    return RunState.CANCELLED.value if states <= {RunState.CANCELLED} else RunState.PARTIAL.value


def _format_time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
