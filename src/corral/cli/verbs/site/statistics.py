"""`corral site stats`: crawl statistics by site."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, Limit
from corral.cli.render import Cell
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.crawl.site_statistics import SiteStatistics
from corral.domain.errors import SiteNotFound
from corral.domain.net.url import parse_target
from corral.settings import Settings, load_settings
from corral.views.site_statistics import site_statistics_read

_COLUMNS = ("host…", "done", "failed", "skipped?", "errors", "bytes", "mean", "seen?", "failed for…")


def stats(
    host: Annotated[
        str | None, typer.Argument(metavar="[HOST]", help="A host, or one of its URLs (default: the latest hosts).")
    ] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show crawl statistics by site.

    That is: pages done and failed (with the errors), bytes, and the time per page.

    \b
    corral site stats
    corral site stats example.com --json | jq .failed
    """

    name = None if host is None else parse_target(host if "://" in host else f"http://{host}", field="host").host
    finish(_stats(load_settings(), name, limit, as_json=as_json))


async def _stats(settings: Settings, host: str | None, limit: int, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        site = None if host is None else await store.sites.statistics(host)
        sites = [site] if site is not None else await store.sites.latest_statistics(limit) if host is None else []
    if host is not None and site is None:
        raise SiteNotFound(host)
    if as_json:
        documents = [site_statistics_read(each) for each in sites]
        render.print_json(documents if host is None else documents[0])
    else:
        print_statistics(sites)
    return exits.DONE


def print_statistics(statistics: list[SiteStatistics]) -> None:

    render.print_table(_COLUMNS, [_row(each) for each in statistics], nothing="no site has been crawled yet")


def _row(site: SiteStatistics) -> tuple[Cell, ...]:

    return (
        site.host,
        site.done,
        site.failed.total(),
        site.skipped.total(),
        "-" if site.error_rate is None else f"{site.error_rate:.1%}",
        _bytes(site.size),
        "-" if site.mean_ms is None else f"{site.mean_ms:.0f} ms",
        render.ago(datetime.fromtimestamp(site.seen_at / 1000, UTC)),
        _kinds(site.failed),
    )


def _kinds(failed: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(failed.items(), key=lambda each: (-each[1], each[0])))


def _bytes(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
