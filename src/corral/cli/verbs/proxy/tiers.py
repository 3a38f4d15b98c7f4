"""`corral proxy tiers`."""

import time
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, Limit
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.settings import Settings, load_settings
from corral.views.proxies import site_key, tiers_view


def tiers(
    site: Annotated[str | None, typer.Argument(metavar="[SITE]", help="A host, such as example.com.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show which tier each site needs: direct, datacentre or residential.

    A policy `tiered` begins with the cheapest tier that the site does not refuse. Evidence fades, and a refused tier
    is tried again.

    \b
    corral proxy tiers
    corral proxy tiers example.com --json
    """
    finish(_tiers(load_settings(), site, limit, as_json=as_json))


async def _tiers(settings: Settings, site: str | None, limit: int, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        records_by_site = await store.proxies.tiers(None if site is None else site_key(site), limit)
    sites = [tiers_view(name, records, time.time()) for name, records in records_by_site.items()]
    if as_json:
        render.print_json(sites)
        return exits.DONE
    rows = [(each["site"], each["begins_with"], *(_describe(tier) for tier in each["tiers"])) for each in sites]
    columns = ("site", "begins with", "direct", "datacentre", "residential")
    render.print_table(columns, rows, nothing="no site was fetched with a policy `tiered` or `pool` yet")
    return exits.DONE


def _describe(tier: dict[str, Any]) -> str:
    counts = f"{tier['good']:g} good, {tier['refused']:g} refused" if tier["good"] or tier["refused"] else ""
    return f"{counts}; again at {tier['tried_again_at']:%H:%M}" if tier["is_refused"] else counts
