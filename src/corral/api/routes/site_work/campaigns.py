"""Campaigns: many sites scraped together, with one aggregated view."""

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse, Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Key, Limit, replay_header
from corral.api.routing import make_router
from corral.domain.campaigns.campaign import campaign_progress
from corral.domain.campaigns.report import render_text
from corral.domain.errors import BadInput
from corral.domain.net.url import MAX_URL_CHARS
from corral.domain.site_config.values import MAX_URLS
from corral.engine.usecases.campaigns import MAX_SITES, CampaignOrder
from corral.wiring.app import App

router = make_router("sites")

_Text = Annotated[str, Field(max_length=MAX_URL_CHARS)]


class CampaignCreate(BaseModel):
    """Sites without URLs take those of their configuration; without `sites`, every site with URLs is scraped."""

    model_config = ConfigDict(extra="forbid")

    sites: dict[Annotated[str, Field(max_length=200)], Annotated[list[_Text], Field(max_length=MAX_URLS)]] | None = (
        Field(None, max_length=MAX_SITES, description="URLs by site")
    )
    depends_on: dict[str, Annotated[list[_Text], Field(max_length=MAX_SITES)]] | None = Field(
        None, max_length=MAX_SITES, description="sites that end before a site starts; default: its configuration"
    )


class SiteProgressRead(BaseModel):
    model_config = ConfigDict(extra="allow")

    site: str
    job_id: str = Field(description="the run of the site; it is cancelled, paused and retried like any other")
    status: str = Field(description="`waiting` until the sites it depends on have ended, then the state of the run")


class CampaignRead(BaseModel):
    model_config = ConfigDict(extra="allow")

    campaign_id: str
    status: str
    total: int
    done: int
    failed: int
    skipped: int
    pending: int
    percent: float
    error_rate: float
    by_status: dict[str, int]
    created_at: str
    ended_at: str | None
    sites: list[SiteProgressRead]


@router.post("/sites/campaigns", response_model=CampaignRead)
async def start_campaign(corral: Corral, key: Key, body: CampaignCreate | None = None) -> Response:
    """Start one run per site, each with the limits of its configuration."""
    request = body or CampaignCreate.model_validate({})
    order = CampaignOrder.of(await _choose_urls(corral, request.sites), request.depends_on)
    campaign, replayed = await corral.sites.campaigns.start(order, key)
    return render.answer(campaign_progress(campaign), headers=replay_header(replayed))


async def _choose_urls(corral: App, sites: dict[str, list[str]] | None) -> dict[str, list[str]]:
    if sites is not None and all(sites.values()):
        return sites
    book = await corral.sites.books.read()
    named = book.sites if sites is None else list(sites)
    chosen = {site: (sites or {}).get(site) or list(book.find(site).urls) for site in named}
    if sites is None:
        chosen = {site: urls for site, urls in chosen.items() if urls}
    if not chosen:
        raise BadInput("no configured site has URLs", field="sites", hint='send {"sites": {"site": ["https://…"]}}')
    return chosen


@router.get("/sites/campaigns", response_model=list[CampaignRead])
async def list_campaigns(corral: Corral, limit: Limit = 50, cursor: Cursor = None) -> Response:
    found = await corral.store.campaigns.newest(render.cursor_id(cursor), limit)
    campaigns = [campaign_progress(each) for each in found]
    return render.page(campaigns, found[-1].id if found else None, limit)


@router.get("/sites/campaigns/{campaign_id}", response_model=CampaignRead)
async def read_campaign(
    campaign_id: Id,
    corral: Corral,
    site: Annotated[str | None, Query(max_length=200, description="only this site")] = None,
) -> Response:
    campaign: dict[str, Any] = campaign_progress(await corral.store.campaigns.get(str(campaign_id)))
    if site is not None:
        campaign["sites"] = [each for each in campaign["sites"] if each["site"] == site]
    return render.answer(campaign)


class CampaignReportRead(BaseModel):
    model_config = ConfigDict(extra="allow")

    campaign_id: str
    status: str
    errors: dict[str, int] = Field(description="failed pages by the code of their failure")
    cost: float
    look_at: list[str] = Field(description="what a person should look at")
    sites: list[dict[str, Any]]
    alerts: list[str] = Field(default=[], description="the runs that deliver the alerts of this report")


@router.get("/sites/campaigns/{campaign_id}/report", response_model=CampaignReportRead)
async def read_report(
    campaign_id: Id, corral: Corral, format_: Annotated[Literal["json", "text"], Query(alias="format")] = "json"
) -> Response:
    """Status, errors by class, latency percentiles, proxies and breakers of each site, and what to look at."""
    report = await corral.sites.make_report(await corral.store.campaigns.get(str(campaign_id)))
    return render.answer(report) if format_ == "json" else PlainTextResponse(render_text(report))
