"""`corral site scrape`: scrape many sites at once, each within its own limits."""

import asyncio
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions
from corral.cli.progress.campaign import show_campaign
from corral.cli.running import Stop, finish, first_of
from corral.cli.serving.finish import finish_serving
from corral.cli.stores import read_store
from corral.domain.campaigns.campaign import campaign_progress
from corral.domain.errors import BadInput
from corral.domain.net.url import parse_target
from corral.domain.runs.run import RunAction, RunState
from corral.domain.site_config.book import SiteBook
from corral.domain.site_config.site_key import site_key_of
from corral.engine.usecases.campaigns import CampaignOrder
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_campaign_node, open_client
from corral.wiring.sites.books import read_book

_SHOW_EVERY_S = 0.5
_ALERTS_S = 60.0
_CODES = {"completed": exits.DONE, "partial": exits.PARTIAL}


@dataclass(frozen=True, kw_only=True)
class ScrapeSitesOptions:
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL|SITE]...", help="Pages, or sites with URLs in their configuration."),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help='URLs by site, as JSON: {"example.com": ["https://…"]}.'),
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="Every site with URLs in its configuration.")] = False
    after: Annotated[
        list[str] | None,
        typer.Option("--after", metavar="SITE=OTHER", help="Start SITE when OTHER has ended; repeatable."),
    ] = None
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Only queue the sites; `corral up` or a worker executes them.")
    ] = False
    report: ReportOptions


def scrape(options: ScrapeSitesOptions) -> None:
    """Scrape many sites at once, each within its own limits.

    Pages are grouped by their site. Concurrency, delay, memory, strategy, proxy and budget come from the configuration
    of each site; `corral site show SITE` prints it. Ctrl-C pauses the sites; `corral run resume` continues one.
    Exit code: 0 every site completed, 1 all failed, 3 some pages or sites failed or were left out, 130 interrupted.

    \b
    corral site scrape https://example.com/a https://example.org/b
    corral site scrape --all --after shop.example=login.example
    corral site scrape --file sites.json --json
    """
    settings = load_settings()
    if options.report.dry_run or options.no_wait:
        finish(_queue(settings, options))
    finish_serving(_execute(settings, options))


async def _queue(settings: Settings, options: ScrapeSitesOptions) -> int:
    report = options.report
    if report.dry_run:
        async with read_store(settings) as store:
            order = make_order(options, await read_book(settings, store))
        plan = {"sites": dict(order.sites), "depends_on": dict(order.depends_on)}
        render.print_plan(f"scrape {len(order.sites)} sites", plan, as_json=report.as_json)
        return exits.DONE
    async with open_client(settings) as app:
        campaign, _ = await app.sites.campaigns.start(make_order(options, await app.sites.books.read()))
    if report.as_json:
        render.print_json(campaign_progress(campaign))
    else:
        print(f"campaign {campaign.id}: {len(campaign.sites)} sites are queued")
    return exits.DONE


async def _execute(settings: Settings, options: ScrapeSitesOptions) -> int:
    configure_logging("error")
    stop = Stop()
    stop.listen()
    async with read_store(settings) as store:
        order = make_order(options, await read_book(settings, store))
    node_settings = settings.model_copy(
        update={"max_crawls": max(settings.max_crawls, len(order.sites)), "queue_feed": False}
    )
    async with open_campaign_node(node_settings) as (app, source):
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        campaign, _ = await app.sites.campaigns.start(order)
        source.choose(each.run_id for each in campaign.sites)
        app.node.wake()
        has_ended = await first_of(follow(app, campaign.id, is_quiet=options.report.as_json), stop)
        if has_ended:
            await first_of(_wait_for_alerts(app, campaign.id), stop)
        else:
            await _pause(app, campaign.id)
        progress = campaign_progress(await app.store.campaigns.get(campaign.id))
    if options.report.as_json:
        render.print_json(progress)
    if not has_ended:
        exits.complain(
            f"interrupted; the sites of campaign {campaign.id} are paused", "`corral run resume` continues one"
        )
        return exits.INTERRUPTED
    return _CODES.get(progress["status"], exits.FAILED)


async def _wait_for_alerts(app: App, campaign_id: str) -> None:
    """Let this command deliver the alerts that the campaign raised; what it cannot deliver in time stays queued."""
    report = (await app.store.campaigns.get(campaign_id)).report or {}
    until = time.monotonic() + _ALERTS_S
    for run_id in report.get("alerts", ()):
        while not (await app.store.runs.get(run_id)).state.is_terminal and time.monotonic() < until:
            await app.pulse.wait(_SHOW_EVERY_S)


async def _pause(app: App, campaign_id: str) -> None:
    for site in (await app.store.campaigns.get(campaign_id)).sites:
        if site.run is not None and site.run.state in (RunState.QUEUED, RunState.RUNNING):
            await app.submitter.apply_action(site.run_id, RunAction.PAUSE)


async def follow(app: App, campaign_id: str, *, is_quiet: bool = False) -> None:
    """Show the campaign until it has ended and its report is written."""
    with show_campaign(is_quiet=is_quiet) as view:
        while True:
            campaign = await app.store.campaigns.get(campaign_id)
            view.update(campaign_progress(campaign))
            if campaign.ended_at is not None:
                return
            await asyncio.sleep(_SHOW_EVERY_S)


def make_order(options: ScrapeSitesOptions, book: SiteBook) -> CampaignOrder:
    sites = _read_file(options.file) if options.file is not None else {}
    # URLs that the user typed or keeps in a file may be private; a configuration may come from HTTP.
    trusted = [parse_target(url, field="file").host for urls in sites.values() for url in urls]
    if options.everything:
        sites |= {site: list(urls) for site in book.sites if (urls := book.find(site).urls)}
    for text in options.targets or ():
        if "://" in text:
            target = parse_target(text, field="URL")
            trusted.append(target.host)
            sites.setdefault(site_key_of(target), []).append(text)
        else:
            sites[text] = list(book.find(text).urls)
    if not sites:
        raise BadInput("no site is given", field="targets", hint="give URLs, sites, --file FILE or --all")
    return CampaignOrder.of(sites, _parse_after(options.after or []), tuple(dict.fromkeys(trusted)))


def _parse_after(pairs: list[str]) -> dict[str, list[str]]:
    dependencies: dict[str, list[str]] = {}
    for pair in pairs:
        site, equals, other = pair.partition("=")
        if not equals or not site or not other:
            raise BadInput(f"{pair[:80]!r} is not SITE=OTHER", field="after", hint="--after shop.example=login.example")
        dependencies.setdefault(site, []).append(other)
    return dependencies


def _read_file(path: Path) -> dict[str, list[str]]:
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror})", field="file") from None
    except ValueError:
        raise BadInput(f"{path} is not JSON", field="file", hint='{"example.com": ["https://example.com/"]}') from None
    is_valid = isinstance(document, dict) and all(
        isinstance(urls, list) and all(isinstance(url, str) for url in urls) for urls in document.values()
    )
    if not is_valid:
        raise BadInput(
            f"{path} does not map sites to lists of URLs", field="file", hint='{"example.com": ["https://…"]}'
        )
    return {str(site): list(urls) for site, urls in document.items()}
