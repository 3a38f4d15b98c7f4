"""The options of `corral crawl`."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli.files import is_archive
from corral.cli.job_draft import crawl_fields
from corral.cli.options import (
    Delay,
    FieldOptions,
    KeepParams,
    NetworkOptions,
    NoRobots,
    QualityOption,
    ReportOptions,
    UserAgent,
)
from corral.cli.verbs.crawl.login import LoginOptions
from corral.domain.crawl.option_values import AUTO


class CrawlStrategy(StrEnum):
    AUTO = "auto"
    HTTP = "http"
    BROWSER = "browser"


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """How far a crawl goes, and how fast."""

    depth: Annotated[int, typer.Option("--depth", min=1, max=100, help="How many links away from URL.")] = 1
    max_pages: Annotated[int | None, typer.Option("--max-pages", min=1, help="How many pages at most (1000).")] = None
    max_mb: Annotated[float | None, typer.Option("--max-mb", min=0.01, help="How many megabytes at most.")] = None
    max_per_host: Annotated[
        int | None, typer.Option("--max-per-host", min=1, help="How many pages of one host at most.")
    ] = None
    max_time: Annotated[
        float | None, typer.Option("--max-time", metavar="MINUTES", min=0.02, help="Stop after this many minutes.")
    ] = None
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, max=256, help="Pages at once.")] = 10
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, max=64, help="Worker processes on this machine, each with its own hosts."),
    ] = None
    retries: Annotated[int, typer.Option("--retries", min=1, max=5, help="Tries for each page.")] = 3

    def to_plan(self) -> dict[str, Any]:
        return {
            **({"asked_pages": False} if self.max_pages is None else {"max_pages": self.max_pages}),
            "max_depth": self.depth,
            "max_bytes": None if self.max_mb is None else round(self.max_mb * 1_000_000),
            "max_per_host": self.max_per_host,
            "max_seconds": None if self.max_time is None else self.max_time * 60,
            "concurrency": self.concurrency,
            "workers": self.workers or AUTO,
            "retry_attempts": self.retries,
        }


@dataclass(frozen=True, kw_only=True)
class ScopeOptions:
    """Which URLs belong to a crawl."""

    scope: Annotated[str, typer.Option("--scope", help="site (its subdomains, too), host, path (below URL), any.")] = (
        "site"
    )
    include: Annotated[
        list[str] | None, typer.Option("--include", metavar="PATTERN", help="Follow only these, such as '/blog/*'.")
    ] = None
    exclude: Annotated[list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Never follow these.")] = (
        None
    )
    allow_domain: Annotated[
        list[str] | None, typer.Option("--allow-domain", metavar="DOMAIN", help="Also crawl this domain.")
    ] = None

    def to_plan(self) -> dict[str, Any]:
        scope = {"mode": self.scope, "allowed_domains": self.allow_domain or []}
        return {"scope": {**scope, "include": self.include or [], "exclude": self.exclude or []}}


@dataclass(frozen=True, kw_only=True)
class ContentOptions:
    """What a crawl stores of each page."""

    keep_pages: Annotated[bool, typer.Option("--keep-pages", help="Archive responses for `corral export` as WARC.")] = (
        False
    )
    save_files: Annotated[
        bool, typer.Option("--save-files", help="Save PDFs and other files, each with a record of its path.")
    ] = False
    links: Annotated[bool, typer.Option("--links", help="Add the links of a page to its record (outlinks).")] = False

    def to_plan(self) -> dict[str, Any]:
        return {"keep_pages": self.keep_pages, "save_files": self.save_files, "links": self.links}


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """When pages are rendered in a browser."""

    strategy: Annotated[
        CrawlStrategy,
        typer.Option("--strategy", help="auto renders pages in a browser that are empty without scripts."),
    ] = CrawlStrategy.AUTO
    max_browser_pages: Annotated[
        int, typer.Option("--max-browser-pages", min=0, help="How many pages to render at most with --strategy auto.")
    ] = 200
    max_scrolls: Annotated[
        int, typer.Option("--max-scrolls", min=0, help="How often to scroll a rendered page, or press its `load more`.")
    ] = 50

    def to_plan(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy.value,
            "browser_pages": self.max_browser_pages,
            "max_scrolls": self.max_scrolls,
        }


@dataclass(frozen=True, kw_only=True)
class LinkOptions:
    """Which discovered pages are fetched and recorded, and in which order."""

    follow_nofollow: Annotated[bool, typer.Option("--follow-nofollow", help="Follow links marked nofollow, too.")] = (
        False
    )
    ignore_noindex: Annotated[bool, typer.Option("--ignore-noindex", help="Collect pages marked noindex, too.")] = False
    no_canonical: Annotated[
        bool, typer.Option("--no-canonical", help="Ignore rel=canonical; record every page under its own URL.")
    ] = False
    no_trap_detection: Annotated[
        bool, typer.Option("--no-trap-detection", help="Also fetch what looks like a trap: calendars, endless lists.")
    ] = False
    keep_param: KeepParams = None
    sitemaps: Annotated[
        bool, typer.Option("--sitemaps", help="Also crawl the pages listed in the site's sitemaps.")
    ] = False
    order: Annotated[
        str | None, typer.Option("--order", help="breadth: the nearest to URL first; best: the highest score first.")
    ] = None
    keyword: Annotated[
        list[str] | None,
        typer.Option("--keyword", metavar="WORD", help="Prefer links that contain it; implies --order best."),
    ] = None

    def to_plan(self) -> dict[str, Any]:
        return {
            "follow_nofollow": self.follow_nofollow,
            "obey_noindex": not self.ignore_noindex,
            "use_canonical": not self.no_canonical,
            "avoid_traps": not self.no_trap_detection,
            "keep_params": self.keep_param or [],
            "use_sitemaps": self.sitemaps,
            "order": self.order or ("best" if self.keyword else "breadth"),
            "keywords": self.keyword or [],
        }


@dataclass(frozen=True, kw_only=True)
class CrawlOptions:
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to begin.")]
    limits: LimitOptions
    urls: ScopeOptions
    wanted: FieldOptions
    no_robots: NoRobots = False
    content: ContentOptions
    render: RenderOptions
    login: LoginOptions
    user_agent: UserAgent = None
    delay: Delay = None
    network: NetworkOptions
    discovery: LinkOptions
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="RUN",
            help="Report changes since this crawl, or the `last` one; carry unchanged pages over.",
        ),
    ] = None
    all_or_nothing: Annotated[
        bool, typer.Option("--all-or-nothing", help="Fail the crawl if any page fails or the time limit is hit.")
    ] = False
    quality: QualityOption = None
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write records: .jsonl .json .csv .parquet .xlsx; .warc.gz archives pages.",
        ),
    ] = None
    keep: Annotated[bool, typer.Option("--keep", help="Do not delete it after APP_CRAWL_RETENTION_HOURS.")] = False
    restart: Annotated[
        bool, typer.Option("--restart", help="Start a new crawl instead of continuing an interrupted one.")
    ] = False
    report: ReportOptions

    def to_plan(self) -> dict[str, Any]:
        """Return the document that `CrawlPlan.of` checks."""
        plan = {
            "start_urls": [self.url],
            "respect_robots": not self.no_robots,
            "user_agent": self.user_agent,
            "delay_s": self.delay,
            "since": self.since,
            "partial_results_ok": not self.all_or_nothing,
        }
        for part in (self.limits, self.urls, self.content, self.render, self.discovery):
            plan |= part.to_plan()
        plan |= crawl_fields(self.wanted)
        if is_archive(self.output):
            plan["keep_pages"] = True
        return plan
