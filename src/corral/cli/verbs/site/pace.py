"""`corral site pace`."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun
from corral.cli.running import finish
from corral.cli.writable_store import open_writable_store
from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import SitePace, host_key_of
from corral.domain.net.url import parse_target
from corral.settings import Settings, load_settings
from corral.views.host_limits import pace_read


def pace(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, optionally with a port, or one of its URLs.")],
    *,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", min=1, max=1000, help="Concurrent requests; overrides the value of a crawl."),
    ] = None,
    delay: Annotated[
        float | None,
        typer.Option("--delay", min=0, max=3600, help="Seconds between two requests, with a jitter of half."),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Return to the settings.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Set the request rate of a site. Running nodes apply it within two seconds.

    Omitted values default to APP_HOST_CONCURRENCY and APP_HOST_DELAY_SECONDS.

    \b
    corral site pace example.com --concurrency 2 --delay 1.5
    corral site pace example.com --reset
    """

    if reset == (concurrency is not None or delay is not None):
        hint = "give --concurrency, --delay or both; or --reset alone"
        raise BadInput("this says nothing about the pace, or two things at once", field="pace", hint=hint)
    host_key = host_key_of(parse_target(host if "://" in host else f"http://{host}", field="host"))
    finish(_pace(load_settings(), host_key, SitePace(concurrency, delay), dry_run=dry_run, as_json=as_json))


async def _pace(settings: Settings, host_key: str, said: SitePace, *, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        render.print_plan(f"set the pace of {host_key}", {"host": host_key, "pace": pace_read(said)}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        await store.hosts.set_pace(host_key, said)
    if as_json:
        render.print_json({"host": host_key, "pace": pace_read(said)})
        return exits.DONE
    at_once = "as many as the settings say" if said.concurrency is None else str(said.concurrency)
    between = "as far apart as the settings say" if said.delay_s is None else f"{said.delay_s:g} s apart"
    print(f"{host_key}: {at_once} at once, {between}")
    return exits.DONE
