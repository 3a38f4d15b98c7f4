"""`corral cost`: what a run, a job or a site has cost."""

from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.errors import JobNotFound, SiteNotFound
from corral.domain.ids import is_id
from corral.domain.net.url import parse_target
from corral.engine.usecases.costs import Costs
from corral.settings import Settings, load_settings
from corral.wiring.options import prices_of


def cost(
    target: Annotated[str, typer.Argument(metavar="RUN|JOB|HOST", help="The id of a run or a job, or a host.")],
    as_json: AsJson = False,
) -> None:
    """Show what a run, a job or a site has cost.

    That is requests, bytes, time and money, and each of them per record. Prices come from the
    settings APP_PRICE_…; without them the cost in money is 0.

    \b
    corral cost example.com
    corral cost 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --json
    """
    finish(_cost(load_settings(), target, as_json=as_json))


async def _cost(settings: Settings, target: str, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        costs = Costs(store, prices_of(settings))
        if is_id(target):
            try:
                document = await costs.of_job(target)
            except JobNotFound:
                document = await costs.of_run(target)
        else:
            host = parse_target(target if "://" in target else f"http://{target}", field="target").host
            statistics = await store.sites.statistics(host)
            if statistics is None:
                raise SiteNotFound(host)
            document = costs.of_site(statistics)
    if as_json:
        render.print_json(document)
    else:
        _print(document)
    return exits.DONE


def _print(document: dict[str, Any]) -> None:
    per_record = document["per_record"] or {}
    names = ("requests", "bytes", "seconds", "browser_seconds", "cpu_seconds", "proxy_cost", "cost")
    rows = [(name, f"{document[name]:g}", f"{per_record[name]:g}" if per_record else "") for name in names]
    print(f"{document['records']} records")
    render.print_table(("", "total", "per record"), rows)
