"""`corral site pace`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions
from corral.cli.running import finish
from corral.cli.writable_store import open_writable_store
from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import SitePace, host_key_of
from corral.domain.net.url import parse_target
from corral.settings import Settings, load_settings
from corral.views.host_limits import pace_read


@dataclass(frozen=True, kw_only=True)
class PaceOptions:
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, optionally with a port, or one of its URLs.")]
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", min=1, max=1000, help="Concurrent requests; overrides the value of a crawl."),
    ] = None
    delay: Annotated[
        float | None,
        typer.Option("--delay", min=0, max=3600, help="Seconds between two requests, with a jitter of half."),
    ] = None
    reset: Annotated[bool, typer.Option("--reset", help="Return to the settings.")] = False
    report: ReportOptions


def pace(options: PaceOptions) -> None:
    """Set the request rate of a site. Running nodes apply it within two seconds.

    Omitted values default to APP_HOST_CONCURRENCY and APP_HOST_DELAY_SECONDS.

    \b
    corral site pace example.com --concurrency 2 --delay 1.5
    corral site pace example.com --reset
    """

    wanted = SitePace(options.concurrency, options.delay)
    if options.reset == (wanted.concurrency is not None or wanted.delay_s is not None):
        hint = "give --concurrency, --delay or both; or --reset alone"
        raise BadInput("no pace is given, or --reset together with one", field="pace", hint=hint)
    url = options.host if "://" in options.host else f"http://{options.host}"
    host_key = host_key_of(parse_target(url, field="host"))
    finish(_pace(load_settings(), host_key, wanted, options.report))


async def _pace(settings: Settings, host_key: str, wanted: SitePace, report: ReportOptions) -> int:

    if report.dry_run:
        render.print_plan(
            f"set the pace of {host_key}", {"host": host_key, "pace": pace_read(wanted)}, as_json=report.as_json
        )
        return exits.DONE
    async with open_writable_store(settings) as store:
        await store.hosts.set_pace(host_key, wanted)
    if report.as_json:
        render.print_json({"host": host_key, "pace": pace_read(wanted)})
        return exits.DONE
    at_once = "concurrency from the settings" if wanted.concurrency is None else f"{wanted.concurrency} at once"
    between = "delay from the settings" if wanted.delay_s is None else f"{wanted.delay_s:g} s apart"
    print(f"{host_key}: {at_once}, {between}")
    return exits.DONE
