"""`corral site watch`: one live view of all sites of a campaign."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, check_id
from corral.cli.progress.campaign import COLUMNS, describe, show_campaign, site_cells
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.campaigns.campaign import Campaign, campaign_progress
from corral.domain.errors import CampaignNotFound
from corral.settings import Settings, load_settings
from corral.store.store import Store

_POLL_S = 0.5
_MAX_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class WatchOptions:
    campaign: Annotated[
        str | None, typer.Argument(metavar="[CAMPAIGN]", help="The id of a campaign; default: the newest one.")
    ] = None
    once: Annotated[bool, typer.Option("--once", help="Print the state now and end.")] = False
    listed: Annotated[bool, typer.Option("--list", help="List the newest campaigns.")] = False
    as_json: AsJson = False


def watch(options: WatchOptions) -> None:
    """Watch the sites of a campaign until all of them have ended.

    One line per site: pages, error rate, health and what the site waits for. --json prints the state once.
    `corral run cancel JOB` stops one site and leaves the others alone.

    \b
    corral site watch
    corral site watch --list
    corral site watch 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --once
    """
    wanted = None if options.campaign is None else check_id(options.campaign, "campaign")
    finish(_watch(load_settings(), wanted, options))


async def _watch(settings: Settings, wanted: str | None, options: WatchOptions) -> int:
    async with read_store(settings) as store:
        if options.listed:
            return _print_list(await store.campaigns.newest(None, _MAX_LISTED), as_json=options.as_json)
        campaign = await find_campaign(store, wanted)
        if options.once or options.as_json:
            _print_once(campaign, as_json=options.as_json)
            return exits.DONE
        with show_campaign() as view:
            while True:
                campaign = await store.campaigns.get(campaign.id)
                view.update(campaign_progress(campaign))
                if campaign.has_ended:
                    return exits.DONE
                await asyncio.sleep(_POLL_S)


async def find_campaign(store: Store, wanted: str | None) -> Campaign:
    """Return the campaign with this id, or the newest one."""
    if wanted is not None:
        return await store.campaigns.get(wanted)
    newest = await store.campaigns.newest(None, 1)
    if not newest:
        raise CampaignNotFound("yet")
    return newest[0]


def _print_once(campaign: Campaign, *, as_json: bool) -> None:
    progress = campaign_progress(campaign)
    if as_json:
        render.print_json(progress)
        return
    print(f"campaign {campaign.id}: {describe(progress)}")
    render.print_table(COLUMNS, [site_cells(each) for each in progress["sites"]])


def _print_list(campaigns: list[Campaign], *, as_json: bool) -> int:
    documents = [campaign_progress(each) for each in campaigns]
    if as_json:
        render.print_json(documents)
        return exits.DONE
    rows = [
        (each["campaign_id"], each["status"], len(each["sites"]), each["done"], each["failed"], each["created_at"])
        for each in documents
    ]
    nothing = "no campaign yet; `corral site scrape` starts one"
    render.print_table(("campaign", "status", "sites", "done", "failed", "started"), rows, nothing=nothing)
    return exits.DONE
