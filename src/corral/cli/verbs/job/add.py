"""`corral job add`."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from corral.cli import exits, render, shapes
from corral.cli.job_draft import draft_job, parse_fields, parse_key, parse_patterns, parse_quality, proxy_of
from corral.cli.options import (
    FieldOptions,
    MaxAttempts,
    NoRobots,
    NoVerifyTls,
    PriorityName,
    ProxyOption,
    QualityOption,
    ReportOptions,
    TimeoutS,
)
from corral.cli.running import finish
from corral.cli.verbs.job.page_options import PageOptions, with_pages
from corral.domain.jobs.job import Job, OnTrouble, Strategy
from corral.settings import Settings, load_settings
from corral.wiring.roles import open_client

# Former names of options.
ALIASES = {"--items": "--item-links", "--next": "--next-page", "--site": "--whole-site"}


@dataclass(frozen=True, kw_only=True)
class AddOptions:
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to collect from.")]
    wanted: FieldOptions
    pages: PageOptions
    frequency: Annotated[
        str, typer.Option(help="on_demand, hourly, daily, weekly, monthly, or a cron expression (UTC).")
    ] = "on_demand"
    strategy: Annotated[Strategy | None, typer.Option("--strategy", help="How to get the page (auto).")] = None
    priority: Annotated[
        PriorityName | None, typer.Option("--priority", help="Runs with a higher priority start first.")
    ] = None
    max_attempts: MaxAttempts = None
    timeout: TimeoutS = None
    no_robots: NoRobots = False
    no_verify_tls: NoVerifyTls = False
    requires_auth: Annotated[bool, typer.Option("--requires-auth", help="The page needs a login.")] = False
    proxy: ProxyOption = None
    on_captcha: Annotated[
        OnTrouble, typer.Option("--on-captcha", help="wait holds a run at a captcha until a person resumes it.")
    ] = OnTrouble.FAIL
    on_missing: Annotated[
        OnTrouble, typer.Option("--on-missing", help="wait holds a run with a missing field until a person resumes it.")
    ] = OnTrouble.FAIL
    quality: QualityOption = None
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Add the job even if its target cannot be resolved or answers 5xx.")
    ] = False
    report: ReportOptions


def add(options: AddOptions) -> None:
    """Add a job. Its target is requested once and rejected if it cannot be resolved or answers 5xx.

    \b
    corral job add https://example.com/news --fields title,author --frequency hourly
    corral job add https://example.com/shop --css price=.price --item-links "h2 > a" --next-page a.next
    """

    settings = load_settings()
    chosen = _pick_chosen(options)
    page = None if options.pages.item_links else options.url
    job = draft_job(
        settings,
        options.url,
        parse_fields(options.wanted, page, takes_patterns=options.pages.whole_site),
        frequency=options.frequency,
        verify_tls=not options.no_verify_tls,
        requires_auth=options.requires_auth,
        on_captcha=options.on_captcha,
        on_missing=options.on_missing,
        record_key=parse_key(options.wanted),
        quality=parse_quality(options.quality),
        proxy=proxy_of(settings, options.proxy, dry_run=options.report.dry_run),
        **chosen,
    )
    patterns = parse_patterns(options.wanted) if options.pages.whole_site else []
    job = with_pages(job, options.pages, patterns)
    finish(_add(settings, job, set(chosen), checks=not options.no_check, report=options.report))


def _pick_chosen(options: AddOptions) -> dict[str, Any]:
    """Return the values that were typed; the defaults of the installation apply to the others."""
    chosen = {
        "strategy": options.strategy,
        "priority": None if options.priority is None else options.priority.value_of,
        "timeout_s": options.timeout,
        "max_attempts": options.max_attempts,
        "respect_robots": False if options.no_robots else None,
    }
    return {name: value for name, value in chosen.items() if value is not None}


async def _add(settings: Settings, job: Job, chosen: set[str], *, checks: bool, report: ReportOptions) -> int:

    if report.dry_run:
        if report.as_json:
            render.print_json({"would": "add a job", "job": shapes.draft_shape(job)})
        else:
            print(f"would add a job for {job.target_url} ({job.frequency}, {job.strategy}); nothing was written")
        return exits.DONE

    async with open_client(settings) as app:
        job = (await app.store.jobs.defaults()).over(job, chosen)
        stored, _ = await app.jobs.create(job, probes=checks)
    if report.as_json:
        render.print_json(shapes.job_shape(stored))
    else:
        print(stored.job.id)
    return exits.DONE
