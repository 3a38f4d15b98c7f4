"""`corral site report`: the report of a campaign."""

import sys
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.site.watch import find_campaign
from corral.domain.campaigns.report import render_text
from corral.settings import Settings, load_settings
from corral.wiring.options import prices_of
from corral.wiring.sites.parts import report_campaign


def report(
    campaign: Annotated[
        str | None, typer.Argument(metavar="[CAMPAIGN]", help="The id of a campaign; default: the newest one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the report of a campaign, and what to look at.

    Status, errors by class, latency percentiles, proxies and breakers of each site. It is stored when the campaign has
    ended, and outlives the runs.

    \b
    corral site report
    corral site report 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --json
    """
    wanted = None if campaign is None else check_id(campaign, "campaign")
    finish(_report(load_settings(), wanted, as_json=as_json))


async def _report(settings: Settings, wanted: str | None, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        document = await report_campaign(store, prices_of(settings), await find_campaign(store, wanted))
    if as_json:
        render.print_json(document)
    else:
        for line in render_text(document).splitlines():
            sys.stdout.write(render.printable(line, 2000) + "\n")
    return exits.DONE
